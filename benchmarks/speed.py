"""Speed of attn and JoeyNMT 2.3.0 on a CPU: training and translation, alternating in one run.

    python benchmarks/speed.py --data multi30k/tok --peer-python peer/bin/python --work /tmp/speed \
        --only training --model gru-bahdanau --rounds 3 --steps 20
    python benchmarks/speed.py --data multi30k/tok --peer-python peer/bin/python --work /tmp/speed \
        --only translation --model transformer-tiny --bundle runs/en-de

`--data` holds train*, val* and test_2016_flickr* in .en and .de; joeynmt_peer.py says how the
peer's Python is made. `--model` is one of joeynmt_models.py. `--bundle` is a run folder of this
model with joint pieces. Seconds are those of the processor, so a busy machine changes them less.

Training: 8,000 joint pieces (the same for both), batches of 4,096 tokens; updates are timed from
the end of the warm-up, batching included. A batch is 4,096 positions in both, padding included.
attn batches sentences of similar length and JoeyNMT does not, so a step of attn holds more real
tokens; the table shows how many. Tokens per second are real target tokens, end marks counted.
JoeyNMT also drops attention weights of a Transformer, which our preset does not: one row has attn
do so too. "malloc" is JoeyNMT under the malloc settings that `attn train` makes for itself.

Translation: test_2016_flickr with the same weights in both, beam 5, length penalty 1, at most
`--limit` tokens; JoeyNMT in batches of 64 sentences, attn in batches of 64 on average, and in its
own. The script fails if lines, beam or limits of the programs differ.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from joeynmt_models import SHARED
from processor_time import measure

HERE = Path(__file__).resolve().parent
MALLOC = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
    "MALLOC_TOP_PAD_": str(2**26),
}
Figures = dict[str, Any]


class Row(NamedTuple):
    """One line of a table: a program and its settings."""

    name: str
    command: list[str]
    environment: dict[str, str] = {}


class Bench(NamedTuple):
    """What every measurement needs."""

    data: Path
    bundle: Path | None
    model: str
    lines: int
    limit: int
    peer_python: str
    work: Path
    rounds: int
    steps: int
    warm_up: int
    threads: int

    def ours(self, *arguments: object) -> list[str]:
        """Return a command of attn_worker.py."""
        return [sys.executable, str(HERE / "attn_worker.py"), *map(str, arguments)]

    def peer(self, *arguments: object) -> list[str]:
        """Return a command of joeynmt_peer.py."""
        return [self.peer_python, str(HERE / "joeynmt_peer.py"), *map(str, arguments)]

    def run(self, row: Row) -> Figures:
        """Run a command in a process of its own; return its figures and its processor seconds."""
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(self.threads))
        own = {**threads, "OMP_WAIT_POLICY": "passive", **row.environment}
        done = measure(row.command, {**os.environ, **own})
        figures: Figures = json.loads(done.output.splitlines()[-1])
        return {**figures, "process_seconds": done.seconds, "process_wall": done.wall}

    def alternate(self, rows: list[Row], show: Callable[[Figures], str]) -> list[list[Figures]]:
        """Every row once a round, so that a busy minute of the machine meets them all."""
        found: list[list[Figures]] = [[] for _ in rows]
        for number in range(1, self.rounds + 1):
            for row, figures in zip(rows, found, strict=True):
                figures.append(self.run(row))
                print(f"    round {number}  {row.name:<36} {show(figures[-1])}", flush=True)
        return found


def training(bench: Bench) -> None:
    """Print the training table."""
    ours, peer = bench.work / "ours", bench.work / "peer-train"
    made = bench.run(Row("", bench.ours("prepare", "--work", ours, "--data", bench.data)))
    model = ("--model", bench.model)
    prepared = ("prepare", "--work", peer, "--data", bench.data, "--spm", made["spm"], *model)
    bench.run(Row("", bench.peer(*prepared)))
    train = bench.ours("train", "--work", ours, "--data", bench.data, *model)
    steps = ["--steps", str(bench.steps), "--warm-up", str(bench.warm_up)]
    train += steps
    joey = bench.peer("train", "--work", peer, *steps)
    rows = [
        Row("JoeyNMT fp32", joey),
        Row("JoeyNMT fp32, malloc", joey, MALLOC),
        Row("attn fp32", train),
        Row("attn bf16", [*train, "--precision", "bf16"]),
    ]
    print(f"\n{bench.model}, training, {made['pieces']} pieces, {bench.threads} threads\n")
    found = bench.alternate(rows, lambda f: f"{f['target_tokens_per_second']:8.0f} tokens/s")
    columns: dict[str, Callable[[Figures], float]] = {
        "target tokens/s": lambda f: f["target_tokens_per_second"],
        "sentences/s": lambda f: f["sentences"] / f["seconds"],
        "s/step": lambda f: f["seconds"] / f["steps"],
        "real target tokens/step": lambda f: f["target_tokens"] / f["steps"],
        "padded": lambda f: f["padded_target_tokens"] / f["steps"],
    }
    table(rows, found, columns, faster="target tokens/s")


def translation(bench: Bench) -> None:
    """Print the translation table."""
    if bench.bundle is None:
        sys.exit("speed.py: translation needs --bundle")
    peer = bench.work / "peer-translate"
    spm = bench.bundle / "tokenizer.model"
    given = ("--data", bench.data, "--spm", spm, "--model", bench.model)
    bench.run(Row("", bench.peer("prepare", "--work", peer, *given)))
    same = bench.run(
        Row("", bench.peer("import-weights", "--work", peer, "--bundle", bench.bundle))
    )
    source, reference = (_first(bench, side) for side in ("en", "de"))
    texts = ["--limit", bench.limit, "--input", source, "--output"]
    joey = bench.peer("translate", "--work", peer, *texts)
    ours = bench.ours("translate", "--bundle", same["bundle"], *texts)
    out = [bench.work / f"{name}.de" for name in ("joey", "joey-malloc", "attn-64", "attn")]
    rows = [
        Row("JoeyNMT, batch 64", [*joey, str(out[0])]),
        Row("JoeyNMT, batch 64, malloc", [*joey, str(out[1])], MALLOC),
        Row("attn, batch 64", [*ours, str(out[2]), "--batch", "64"]),
        Row("attn, its own batches", [*ours, str(out[3])]),
    ]
    print(f"\n{bench.model}, translation, {bench.threads} threads, the same weights\n")
    found = bench.alternate(rows, lambda f: f"{f['seconds']:8.1f} s")
    print(f"\nall: {only(figures['searched'] for row in found for figures in row)}")
    for path, figures in zip(out, found, strict=True):
        figures[:] = [{**f, "bleu": bleu(path, reference, bench.bundle)} for f in figures]
    columns: dict[str, Callable[[Figures], float]] = {
        "decoding s": lambda f: f["seconds"],
        "wall s": lambda f: f["wall"],
        "whole process s": lambda f: f["process_seconds"],
        "whole process, wall s": lambda f: f["process_wall"],
        "sentences/s": lambda f: f["sentences"] / f["seconds"],
        "output tokens": lambda f: f["output_tokens"],
        "BLEU": lambda f: f["bleu"],
    }
    table(rows, found, columns, faster="sentences/s")
    lines = [path.read_text("utf-8").split("\n") for path in (out[0], out[2])]
    equal = sum(a == b for a, b in zip(*lines, strict=True)) - 1
    print(f"\n{equal} of {len(lines[0]) - 1} translations are the same in both, batch 64")


def only(values: Iterable[str]) -> str:
    """Return the one value of all rows; exit with an error if the rows differ."""
    different = sorted(set(values))
    if len(different) > 1:
        sys.exit(f"speed.py: the programs did different work: {'; '.join(different)}")
    return different[0]


def _first(bench: Bench, side: str) -> Path:
    """Write the first lines of one side of the test set; return the file."""
    (whole,) = bench.data.glob(f"test_2016_flickr*.{side}")
    lines = whole.read_text("utf-8").split("\n")[: bench.lines]
    path = bench.work / f"test.{side}"
    path.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    return path


def bleu(output: Path, reference: Path, bundle: Path) -> float:
    """sacreBLEU with the tokenizer of the run's own dev scores."""
    import sacrebleu

    sys.path.insert(0, str(HERE.parent))
    from attncli.training.settings.toml import from_toml

    settings = from_toml((bundle / "config.toml").read_text("utf-8"), "config.toml")
    texts = [path.read_text("utf-8").rstrip("\n").split("\n") for path in (output, reference)]
    tokenizer = settings["train"]["bleu_tokenizer"]
    return float(sacrebleu.corpus_bleu(texts[0], [texts[1]], tokenize=tokenizer, force=True).score)


def table(
    rows: list[Row],
    found: list[list[Figures]],
    columns: dict[str, Callable[[Figures], float]],
    *,
    faster: str,
) -> None:
    """Print medians over the rounds as Markdown, and each row's speed over the first two rows'."""
    ratios = "x JoeyNMT | x JoeyNMT, malloc"
    print(f"\n| median of {len(found[0])} | {' | '.join(columns)} | {ratios} |")
    print(f"|---{'|---:' * (len(columns) + 2)}|")
    first, second = (statistics.median(map(columns[faster], figures)) for figures in found[:2])
    for row, figures in zip(rows, found, strict=True):
        medians = {name: statistics.median(map(of, figures)) for name, of in columns.items()}
        cells = [f"{value:,.{0 if value >= 1000 else 2}f}" for value in medians.values()]
        cells += [f"{medians[faster] / speed:.2f}" for speed in (first, second)]
        print(f"| {row.name} | {' | '.join(cells)} |")


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--bundle", type=Path)
    parser.add_argument("--model", choices=SHARED, default="transformer-tiny")
    parser.add_argument(
        "--lines", type=int, default=1000, help="lines of the test set to translate"
    )
    parser.add_argument("--limit", type=int, default=60, help="longest output in tokens")
    parser.add_argument("--peer-python", required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=5, help="updates before the timed ones")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=("training", "translation"))
    given = vars(parser.parse_args())
    only = given.pop("only")
    bench = Bench(**given)
    bench.work.mkdir(parents=True, exist_ok=True)
    for job in (training, translation):
        if only in (None, job.__name__):
            job(bench)


if __name__ == "__main__":
    main()

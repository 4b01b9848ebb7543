"""Word alignment on English-French Hansards: a table of attn and eflomal.

    pip install eflomal          # it compiles C; any environment, --eflomal says where it is
    python benchmarks/alignment.py --tatoeba DIR --gold DIR/enfr.dev --work WORK

Both train on Tatoeba's English-French pairs and on the gold sentences without their links
(unsupervised, the usual way to run eflomal). All text is lower-cased and tokenised like the gold
(`hansard_text.py`). attn also trains on joined pairs, because the Hansards have longer sentences
than Tatoeba. The models are trained with `attn train` where
WORK has none (an hour on a core each) and none is given with --model and --reverse-model.

Nothing is chosen on gold. Rows "plain" use the default settings, rows "alone" the head that each
model chooses on training pairs (`attn train` does so at its end). AER in percent.
"""

from __future__ import annotations

import argparse
import dataclasses
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hansard_text import Data, Pair, prepare

from attncli.data.alignments import PairLinks, read_links
from attncli.render.rows import columns
from attncli.scoring.sequences import score_alignments
from models.core.types import Link
from models.core.use_config import AlignConfig

if TYPE_CHECKING:
    from models.engines.translator import Translator

Found = list[frozenset[Link]]

SPEED_PAIRS = 10_000
CHOOSING = 400  # pairs of training on which a head is chosen
UNSAID = ("units", "symmetrise", "flavour")  # of the settings that are chosen
METHODS = ("intersection", "grow-diag", "grow-diag-final-and", "union")
TRANSLATOR = "everyday"  # of `attn align train`
SEEDS = (1, 2, 3)
ALIGNER = ("--threads", "1")
RECIPE = (
    "tokenizer.size=8000",
    "model.dropout=0.1",
    "train.steps=5000",
    "train.warmup=1000",
    "train.ema=0.999",
    "train.metric=loss",
    "train.evaluate_every=500",
    "train.patience=0",
)


def main() -> None:
    """Parse; prepare and train what is not there; align; write the table."""
    options = parsed()
    data = Data(options.work / "data")
    if not data.file("eflomal", "fr").exists():
        prepare(options.tatoeba, options.gold, data)
    if options.prepare:
        return
    pairs = data.pairs("gold")
    lengths = [(len(source.split()), len(target.split())) for source, target in pairs]
    gold = read_links(options.gold.with_name(options.gold.name + ".gold"), lengths)
    print(f"gold {gold.note}\n")
    found = {"diagonal": diagonals(lengths)}
    if eflomal := shutil.which(options.eflomal):
        found |= by_eflomal(eflomal, data, options.work, len(pairs))
    else:
        print(f"{options.eflomal} is not there: its rows are left out")
    found |= by_aligner(data, options.work, pairs)
    if options.aligner_only:
        print(table(found, gold.rows))
        print(spread(found, gold.rows))
        translation(options.tatoeba, options.work)
        return
    models = [options.model or train(data, "en", "fr", options.work)]
    models += [options.reverse_model or train(data, "fr", "en", options.work)]
    training = data.pairs("train")[:CHOOSING]
    found |= by_attention(models[0], models[1], pairs, training)
    print(table(found, gold.rows))
    print(speed(models[0], data, options.work))


def parsed() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tatoeba", type=Path, required=True, help="folder of eng-fra.*.tsv")
    parser.add_argument("--gold", type=Path, required=True, help="path before .src-tgt and .gold")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--model", type=Path, help="English to French")
    parser.add_argument("--reverse-model", type=Path, help="French to English")
    parser.add_argument("--eflomal", default="eflomal-align", help="its command")
    parser.add_argument(
        "--aligner-only", action="store_true", help="only eflomal and `attn align train`"
    )
    parser.add_argument("--prepare", action="store_true", help="write the texts and stop")
    return parser.parse_args()


def train(data: Data, source: str, target: str, work: Path) -> Path:
    """Return the model in the work folder; train it, or continue its training, if needed."""
    folder = work / f"{source}-{target}"
    arguments = ["train", *(str(data.file("train", side)) for side in (source, target))]
    arguments += ["--dev", *(str(data.file("dev", side)) for side in (source, target))]
    arguments += ["-o", str(folder), "--preset", "transformer-tiny"]
    attn(*arguments, *(word for setting in RECIPE for word in ("-s", setting)))
    return folder


def diagonals(lengths: Sequence[tuple[int, int]]) -> Found:
    """Link each target word with the source word at the same relative position (the floor)."""
    from models.alignment import diagonal

    return [frozenset(diagonal(source, target)) for source, target in lengths]


def by_eflomal(command: str, data: Data, work: Path, count: int) -> dict[str, Found]:
    """Return the links of eflomal for the last pairs of what it has read."""
    files = [work / "eflomal.forward", work / "eflomal.reverse"]
    texts = ["-s", data.file("eflomal", "en"), "-t", data.file("eflomal", "fr")]
    start = time.perf_counter()
    command_line = [command, *texts, "-f", files[0], "-r", files[1], "--overwrite"]
    subprocess.run(list(map(str, command_line)), check=True, stdout=subprocess.DEVNULL)
    print(f"eflomal: {time.perf_counter() - start:.0f} s for both directions")
    forward, reverse = (
        [row.sure for row in read_links(file, index="0").rows[-count:]] for file in files
    )
    return directions("eflomal", forward, reverse)


def by_aligner(data: Data, work: Path, pairs: list[Pair]) -> dict[str, Found]:
    """Return the links of `attn align train` with `everyday`: its parts and its bundle, by seed.

    It reads the same texts as eflomal; the gold sentences are the last ones. Nothing is chosen on
    gold. The stages before the seed matters are computed once.
    """
    from models import load
    from models.alignment import align

    found: dict[str, Found] = {}
    texts = [str(data.file("eflomal", side)) for side in ("en", "fr")]
    stages = work / "aligner-1" / "alignment"
    for seed in SEEDS:
        folder = work / f"aligner-{seed}"
        if not (folder / "alignment").exists() and stages.exists():
            shutil.copytree(stages, folder / "alignment")
        options = [
            "--languages",
            "en-fr",
            "--start-from",
            TRANSLATOR,
            "--seed",
            str(seed),
            *ALIGNER,
        ]
        attn("align", "train", *texts, *options, "-o", str(folder))
        trained = load(folder, "translate")
        for name, share in (("statistical", 1.0), ("attention", 0.0), ("bundle", 0.5)):
            config = dataclasses.replace(trained.alignment, statistical=share)
            if share < 1 or seed == SEEDS[0]:
                links = [one.links for one in align(trained, pairs, config=config)]
                found[f"seed {seed}: {name}"] = links
    rows = read_links(stages / "statistical" / "links", index="0").rows[-len(pairs) :]
    return {"statistical links": [row.sure for row in rows]} | found


def by_attention(
    model: Path, reverse: Path, pairs: list[Pair], training: list[Pair]
) -> dict[str, Found]:
    """Return the links of both models: plain, and with the head that each chooses."""
    from models import load
    from models.alignment import AlignConfig, choose_head

    there, back = load(model, "translate"), load(reverse, "translate")
    plain = AlignConfig()
    found = in_both("attn, plain", there, back, pairs, plain, plain)
    turned = [(b, a) for a, b in training]
    own = choose_head(there, training), choose_head(back, turned)
    return found | in_both("attn, alone", there, back, pairs, *own)


def in_both(
    name: str,
    there: Translator,
    back: Translator,
    pairs: list[Pair],
    ours: AlignConfig,
    other: AlignConfig,
) -> dict[str, Found]:
    """Return the links of both models by settings of each, alone and together."""
    from models.alignment import align

    print(f"{name}: {said(ours)}; reverse: {said(other)}")
    forward = [one.links for one in align(there, pairs, config=ours)]
    turned = [(b, a) for a, b in pairs]
    backward = [seen(one.links, turn=True) for one in align(back, turned, config=other)]
    return directions(name, forward, backward)


def said(config: AlignConfig) -> dict[str, object]:
    """Return the settings that a choice selected."""
    return {k: v for k, v in dataclasses.asdict(config).items() if k not in UNSAID}


def seen(links: frozenset[Link], turn: bool) -> frozenset[Link]:
    """Links, or the same from the other side."""
    return frozenset((i, j) for j, i in links) if turn else links


def directions(name: str, forward: Found, reverse: Found) -> dict[str, Found]:
    """Rows of both directions alone and together."""
    rows = {f"{name}: forward": forward, f"{name}: reverse": reverse}
    return rows | {f"{name}: {method}": both(forward, reverse, method) for method in METHODS}


def both(forward: Found, reverse: Found, method: str) -> Found:
    """Return the links of both directions symmetrised, as Moses does it."""
    from models.alignment import symmetrise

    return [symmetrise(a, b, method) for a, b in zip(forward, reverse, strict=True)]


def table(found: dict[str, Found], gold: Sequence[PairLinks]) -> str:
    """Print a row for each aligner, in percent."""
    rows = [["", "AER", "precision", "recall", "F", "links"]]
    for name, links in found.items():
        scores = score_alignments(links, gold)
        shares = scores.error_rate, scores.precision, scores.recall, scores.f
        rows.append([name, *(f"{100 * share:.2f}" for share in shares), f"{scores.links:,}"])
    return columns(rows)


def spread(found: dict[str, Found], gold: Sequence[PairLinks]) -> str:
    """Return mean and range of the bundles' error rate over the seeds, in percent."""
    rates = [
        100 * score_alignments(found[name], gold).error_rate
        for name in (f"seed {seed}: bundle" for seed in SEEDS)
    ]
    mean = sum(rates) / len(rates)
    return f"bundle, {len(rates)} seeds: AER {mean:.2f} ({min(rates):.2f} to {max(rates):.2f})\n"


def translation(tatoeba: Path, work: Path) -> None:
    """Compare the outputs of the translator and of the bundle made from it; print their scores."""
    test, sources = tatoeba / "eng-fra.test.tsv", work / "test.en"
    rows = test.read_text("utf-8").splitlines()
    sources.write_text("".join(f"{row.partition(chr(9))[0]}\n" for row in rows), "utf-8")
    models = {"translator": TRANSLATOR, "bundle": str(work / "aligner-1")}
    outputs = {name: work / f"test.{name}.fr" for name in models}
    for name, model in models.items():
        options = ["-m", model, "--to", "fr", "-i", str(sources), "-o", str(outputs[name])]
        attn("translate", *options, *ALIGNER)
    texts = [path.read_text("utf-8").splitlines() for path in outputs.values()]
    same = sum(a == b for a, b in zip(*texts, strict=True))
    print(f"outputs of the bundle that equal those of the translator: {same:,} of {len(rows):,}")
    translator = ["-m", TRANSLATOR, "--to", "fr", "--hypotheses", str(outputs["bundle"])]
    attn("evaluate", *translator, *ALIGNER, str(test))


def speed(model: Path, data: Data, work: Path) -> str:
    """Pairs a second and memory of `attn align` over files, by number of threads."""
    sides = []
    for language in ("en", "fr"):
        side = work / f"speed.{language}"
        lines = data.file("pairs", language).read_text("utf-8").splitlines()[:SPEED_PAIRS]
        side.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        sides.append(str(side))
    rows = [["threads", "seconds", "pairs/s", "processor s", "peak MB so far"]]
    for threads in (1, 2):
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        output = ["-o", str(work / "speed.txt"), "--threads", str(threads)]
        attn("align", "-m", str(model), *output, *sides)
        seconds = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        counts = [f"{SPEED_PAIRS / seconds:,.0f}", f"{busy:.1f}", f"{after.ru_maxrss / 1024:,.0f}"]
        rows.append([str(threads), f"{seconds:.1f}", *counts])
    return f"attn align, {SPEED_PAIRS:,} pairs of Tatoeba, loading included\n\n{columns(rows)}"


def attn(*arguments: str) -> None:
    """Run the command line as a user would."""
    print("$ attn", *arguments, flush=True)
    subprocess.run([sys.executable, "-m", "attncli", *arguments], check=True)


if __name__ == "__main__":
    main()

"""Scores and soft, local and hard attention on letters and phonemes (CMUdict), with their noise.

    python benchmarks/phonemes.py --data DIR/pairs --work WORK
    python benchmarks/phonemes.py --data DIR/pairs --work WORK --words 100000 --updates 4000

`attn models compare` trains every variant with every seed; `attn evaluate` scores the test words. A
row has the mean phoneme and word error rate over the seeds, and the deviation of one seed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import fmean, stdev

VARIANTS = (  # Luong et al. 2015, sections 3.1 and 3.2; Xu et al. 2015, section 4.1
    *("none", "dot", "general", "additive", "location_aware"),
    *("general+local_m", "general+local_p", "general+hard"),
)
SETTINGS = (  # the two sides have nothing in common
    *("tokenizer.joint=false", "tokenizer.kind=char", "tokenizer.target_kind=word"),
    *("train.metric=loss", "train.patience=0", "train.schedule=linear", "train.average=0"),
)
ATTN = (sys.executable, "-m", "attncli")


def main() -> None:
    """Train the variants and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder pairs/")
    parser.add_argument("--work", type=Path, required=True, help="folder to write to")
    parser.add_argument("--words", type=int, default=3000, help="words to train on (3000)")
    parser.add_argument("--updates", type=int, default=250, help="updates of a run (250)")
    parser.add_argument("--seeds", type=int, default=2, help="runs of a variant, from 2 on (2)")
    options = parser.parse_args()
    recipe = Path(__file__).parents[1] / "recipes/sequences.py"
    subprocess.run(
        [sys.executable, recipe, "g2p", "--data", options.data, "--work", options.work]
        + ["--data-only"],
        check=True,
    )
    parts = {"words": ("train", options.words), "held": ("test", 500)}
    for name, (part, count) in parts.items():
        rows = (options.work / f"{part}.tsv").read_text("utf-8").splitlines(keepends=True)
        chosen = rows[:: max(1, len(rows) // count)][:count]
        (options.work / f"{name}.tsv").write_text("".join(chosen), "utf-8")
    limits = (f"train.steps={options.updates}", f"train.evaluate_every={options.updates}")
    command = [*ATTN, "models", "compare", *VARIANTS, "-p", "rnnsearch-nano", "--threads", "1"]
    command += ["--seeds", str(options.seeds), "-o", str(options.work / "compare")]
    command += ["--train", str(options.work / "words.tsv")]
    command += [part for setting in (*SETTINGS, *limits) for part in ("-s", setting)]
    command += ["-s", "train.batch_tokens=1024", "-s", "train.lr=0.005"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print("| | PER % | WER % |\n|---|---:|---:|")
    for variant, found in rates(options).items():
        columns = zip(*found, strict=True)
        cells = [f"{fmean(one):.1f} ± {stdev(one):.1f}" for one in columns]
        print(f"| {variant} | {' | '.join(cells)} |")


def rates(options: argparse.Namespace) -> dict[str, list[tuple[float, float]]]:
    """Return the phoneme and the word error rate of every seed of each variant."""
    runs = options.work / "compare"
    folders = [(one, path) for one in VARIANTS for path in sorted((runs / one).glob("seed-*"))]
    command = [*ATTN, "evaluate", "-q", "--json", "--threads", "1", "-s", "scores.tokenize=none"]
    command += [word for _, path in folders for word in ("-m", str(path))]
    command.append(str(options.work / "held.tsv"))
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, list[tuple[float, float]]] = {one: [] for one in VARIANTS}
    for (variant, _), system in zip(folders, json.loads(done.stdout)["systems"], strict=True):
        scores = system["scores"]
        found[variant].append((scores["error rate"]["score"], 100 - scores["exact"]["score"]))
    return found


if __name__ == "__main__":
    main()

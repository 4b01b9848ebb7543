"""BLEU of trained models on joined lines, which are longer than those that they were trained on.

    python benchmarks/joined_lines.py --test test.en test.de RUN...

A line has the next N sentences of the test set, N up to 6, on both sides, and is not split at
sentence ends. A model that does not depend on absolute positions keeps its BLEU. The row states the
BLEU of each N and, in brackets, its share of the BLEU of single sentences. The sentences of all
columns are the same.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import sacrebleu

from models import load_translator

JOINED = (1, 2, 3, 4, 6)


def main() -> None:
    """Print a row for each model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--test", nargs=2, type=Path, required=True, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--limit", type=int, default=600, help="sentences (a multiple of 12)")
    options = parser.parse_args()
    source, target = (lines(path)[: options.limit] for path in options.test)
    columns = [f"{number} sentences" for number in JOINED]
    print(f"| model | {' | '.join(columns)} |\n|---|{'---:|' * len(JOINED)}")
    for model in options.models:
        scores = [bleu(model, joined(source, n), joined(target, n)) for n in JOINED]
        cells = [f"{score:.1f} ({score / scores[0]:.0%})" for score in scores]
        print(f"| {model} | {' | '.join(cells)} |", flush=True)


def lines(path: Path) -> list[str]:
    """Return the lines of a file."""
    return path.read_text("utf-8").splitlines()


def joined(sentences: list[str], number: int) -> list[str]:
    """Return lines of so many sentences."""
    starts = range(0, len(sentences), number)
    return [" ".join(sentences[start : start + number]) for start in starts]


def bleu(model: Path, source: list[str], target: list[str]) -> float:
    """Return the BLEU of a model that reads whole lines."""
    outputs = [found.text for found in load_translator(model).translate(source)]
    return float(sacrebleu.corpus_bleu(outputs, [target]).score)


if __name__ == "__main__":
    main()

"""Comprehensiveness and sufficiency of each method of `attn explain`, over sentences of a file.

    python benchmarks/explain.py DIR/tatoeba/eng-deu.test.tsv --to de --sentences 100

The model translates each sentence and explains its own translation. Figures are means over all
words of all outputs; `+-` is half of the 95 % interval over sentences. Sentences are the first
column of the file; those of 4 to 12 words are used, so that a word can be left out of each.
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path

import torch

from attncli.render.rows import columns
from models import load
from models.alignment.weights import encoded_translation
from models.explain import ExplainOptions
from models.explain.explanation import (
    RANDOM,
    Explanation,
    Measure,
    Relevances,
    explain_pair,
)
from models.storage.installed import chosen_model

LENGTHS = range(4, 13)  # words of a sentence
REFERENCE = "erasure"


def main() -> None:
    """Print a row for each method."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path, help="a sentence per line, before the first tab")
    parser.add_argument("-m", "--model", help="default: the shipped translator")
    parser.add_argument("--to", default="", help="target language of a multilingual model")
    parser.add_argument("--sentences", type=int, default=50, help="number of sentences")
    given = parser.parse_args()
    rows = given.file.read_text("utf-8").splitlines()
    lines = (row.partition("\t")[0] for row in rows)
    chosen = list(islice((x for x in lines if len(x.split()) in LENGTHS), given.sentences))
    translator = load(chosen_model(given.model, "translate"), "translate")
    translator = translator.for_direction(given.to)
    found = [
        explain_pair(translator, encoded_translation(translator, one), ExplainOptions())
        for one in translator.translate(chosen)
    ]
    words = sum(len(one.target) for one in found)
    print(f"{len(found)} sentences, {words} words")
    print(columns([HEAD, *table(found)]), end="")


HEAD = ("method", "comprehensiveness", "+-", "sufficiency", "+-", f"correlation with {REFERENCE}")


def table(found: list[Explanation]) -> list[list[str]]:
    """Return a row of figures for each method, and for random orders."""
    rows = []
    for number, row in enumerate(found[0].rows):
        measures = [one.rows[number].measures for one in found]
        correlations = [one.correlation(one.rows[number], reference(one)) for one in found]
        mean = float(torch.tensor(correlations).nanmean())
        rows.append([row.method, *figures(measures), f"{mean:.2f}"])
    return [*rows, [RANDOM, *figures([one.control for one in found]), ""]]


def reference(found: Explanation) -> Relevances:
    """Return the relevances by erasure."""
    return next(row for row in found.rows if row.method == REFERENCE)


def figures(measures: list[tuple[Measure, ...]]) -> list[str]:
    """Return mean and half interval of comprehensiveness and sufficiency."""
    cells = []
    for same in zip(*measures, strict=True):
        each = torch.stack([measure.values.mean() for measure in same])
        every = torch.cat([measure.values for measure in same])
        half = 1.96 * float(each.std()) / len(each) ** 0.5
        cells += [f"{float(every.mean()):.3f}", f"{half:.3f}"]
    return cells


if __name__ == "__main__":
    main()

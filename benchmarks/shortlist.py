"""Search with and without a lexical shortlist, alternating in one run.

    attn models shortlist runs/tiny train.en train.de
    python benchmarks/shortlist.py --bundles runs/tiny --test test.en test.de --lines 400

Every round translates the lines twice by torch: one thread, the model's search, batches of 64
sentences on average. Prints the median of the processor seconds (user and system) from lines to
lines once the model is loaded, BLEU, the lines that differ, and the mean size of the lists.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from attncli.data.corpus import read_pairs
from attncli.jobs.loading import OpenOptions, open_translator
from models.inference.shortlist import ShortlistBackend
from models.inference.translator import Translator

BATCH = 64  # sentences, on average


class Run(NamedTuple):
    """Translations of all lines."""

    seconds: float  # of the processor
    texts: list[str]


def translated(translator: Translator, texts: list[str], shortlist: bool, batch: int) -> Run:
    """Translate texts with or without the shortlist. batch: tokens."""
    search = replace(translator.search, shortlist=shortlist)
    before = time.process_time()
    found = translator.translate(texts, search=search, max_batch_tokens=batch)
    return Run(time.process_time() - before, [one.text for one in found])


@torch.inference_mode()
def mean_size(translator: Translator, texts: list[str]) -> float:
    """Return the mean number of tokens in the list of a text."""
    backend = ShortlistBackend(translator.model, translator.shortlists[translator.to])
    ids = (torch.tensor([translator.encode(text)]) for text in texts)
    return statistics.mean(backend.tokens(each).shape[1] for each in ids)


def bleu(outputs: list[str], references: list[tuple[str, ...]]) -> float:
    """Return the BLEU of outputs, in percent."""
    from sacrebleu.metrics.bleu import BLEU

    most = max(map(len, references))
    columns = [[one[n] if n < len(one) else None for one in references] for n in range(most)]
    return float(BLEU().corpus_score(outputs, columns).score)


def row(name: str, translator: Translator, given: argparse.Namespace) -> str:
    """Measure a model; return its row of the table."""
    pairs = list(read_pairs(given.test))[: given.lines or None]
    texts = [pair.source for pair in pairs]
    lengths = sum(map(translator.source_length, texts))
    batch = round(given.batch * lengths / len(texts))
    sides: tuple[list[Run], list[Run]] = [], []
    for _ in range(given.rounds):
        for side, shortlist in zip(sides, (False, True), strict=True):
            side.append(translated(translator, texts, shortlist, batch))
    seconds = [statistics.median(one.seconds for one in side) for side in sides]
    scores = [bleu(side[0].texts, [pair.references for pair in pairs]) for side in sides]
    differ = sum(a != b for a, b in zip(sides[0][0].texts, sides[1][0].texts, strict=True))
    cells = (
        name,
        f"{seconds[0]:.2f}",
        f"{seconds[1]:.2f}",
        f"{seconds[0] / seconds[1]:.2f}",
        *(f"{score:.2f}" for score in scores),
        f"{100 * differ / len(texts):.1f} %",
        f"{mean_size(translator, texts):,.0f} of {len(translator.tokenizer.target):,}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bundles", type=Path, nargs="+", required=True)
    parser.add_argument("--test", type=Path, nargs="+", required=True, help="source, references")
    parser.add_argument("--to", default="", help="target language of a multilingual model")
    parser.add_argument("--lines", type=int, default=0, help="lines that are translated; 0: all")
    parser.add_argument("--batch", type=int, default=BATCH, help="sentences, on average")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(
        f"| median of {given.rounds} | whole, s | shortlist, s | ratio | BLEU, whole | shortlist "
        "| lines differ | tokens |\n|---|---:|---:|---:|---:|---:|---:|---:|"
    )
    for bundle in given.bundles:
        options = OpenOptions(device="cpu", threads=1, to=given.to)
        print(row(bundle.name, open_translator(bundle, options), given), flush=True)


if __name__ == "__main__":
    main()

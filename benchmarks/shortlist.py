"""Search with and without a lexical shortlist, alternating in one run.

    attn models shortlist runs/tiny train.en train.de
    python benchmarks/shortlist.py --bundles runs/tiny --test test.en test.de --lines 400

Every round translates the lines twice by torch and, if it can, once by CTranslate2, which uses no
shortlist: one thread, the model's search, batches of 64 sentences on average. Prints the median of
the processor seconds (user and system) from lines to lines once the model is loaded, BLEU, the
lines that differ, and the mean size of the lists.
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

from attncli.data.text.corpus import CorpusPair, read_pairs, reference_columns
from attncli.jobs.loading import OpenOptions, open_translator
from attncli.tasks.translate.engine import EngineOptions, open_text_model
from models.inference.ctranslate2.engines import unsuitable
from models.inference.search.shortlist import ShortlistBackend
from models.inference.text_translator import TextTranslator
from models.inference.translator import Translator

BATCH = 64  # sentences, on average


class Run(NamedTuple):
    """Translations of all lines."""

    seconds: float  # of the processor
    texts: list[str]


def translated(translator: TextTranslator, texts: list[str], shortlist: bool, batch: int) -> Run:
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


def bleu(outputs: list[str], pairs: list[CorpusPair]) -> float:
    """Return the BLEU of outputs, in percent."""
    from sacrebleu.metrics.bleu import BLEU

    return float(BLEU().corpus_score(outputs, reference_columns(pairs)).score)


class Sides(NamedTuple):
    """Runs of each search."""

    whole: list[Run]  # by torch
    shortlist: list[Run]  # by torch
    ctranslate2: list[Run]  # whole vocabulary; none if it cannot run the model


def measured(bundle: Path, texts: list[str], given: argparse.Namespace) -> tuple[Translator, Sides]:
    """Translate texts by each search in turn; return the model and the runs."""
    options = OpenOptions(device="cpu", threads=1, to=given.to)
    translator = open_translator(bundle, options)
    searches: list[tuple[TextTranslator, bool]] = [(translator, False), (translator, True)]
    if not unsuitable(bundle):
        searches.append((open_text_model(bundle, options, EngineOptions("ctranslate2")), False))
    batch = round(BATCH * statistics.mean(map(translator.source_length, texts)))
    rounds = [
        [translated(model, texts, shortlist, batch) for model, shortlist in searches]
        for _ in range(given.rounds)
    ]
    sides = [list(side) for side in zip(*rounds, strict=True)]
    return translator, Sides(sides[0], sides[1], sides[2] if len(sides) > 2 else [])


def row(bundle: Path, given: argparse.Namespace) -> str:
    """Measure a model; return its row of the table."""
    pairs = list(read_pairs(given.test))[: given.lines or None]
    texts = [pair.source for pair in pairs]
    translator, sides = measured(bundle, texts, given)
    seconds = [statistics.median(run.seconds for run in side) for side in sides if side]
    outputs = sides.whole[0].texts, sides.shortlist[0].texts
    differ = sum(one != other for one, other in zip(*outputs, strict=True))
    cells = (
        bundle.name,
        *(f"{one:.2f}" for one in seconds),
        *[""] * (3 - len(seconds)),
        f"{seconds[0] / seconds[1]:.2f}",
        *(f"{bleu(side, pairs):.2f}" for side in outputs),
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
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(
        f"| median of {given.rounds} | whole, s | shortlist, s | CTranslate2, s | ratio "
        "| BLEU, whole | BLEU, shortlist | lines differ | tokens |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for bundle in given.bundles:
        print(row(bundle, given), flush=True)


if __name__ == "__main__":
    main()

"""Search with an output layer in bf16 beside fp32, in turn, in one process.

    python benchmarks/bf16_output.py --bundles runs/rnnsearch-small runs/luong-small \
        --test test_2016_flickr.en test_2016_flickr.de --lines 400 --rounds 3

One thread, beam 5, batches of 64 sentences on average. Prints the median of the processor seconds
in each precision, BLEU of each, the number of texts that differ, and the largest difference of a
score where the texts are equal.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import sacrebleu

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from attncli.jobs.loading import OpenOptions, open_translator
from models.base.types import Translation
from models.config.tables import SearchConfig
from models.inference.translator import Translator

BATCH = 64  # sentences, on average
SEARCH = SearchConfig(beam=5)


def run(translator: Translator, texts: list[str]) -> tuple[float, list[Translation]]:
    """Return the processor seconds and the translations of texts."""
    mean = sum(map(translator.source_length, texts)) / len(texts)
    started = time.process_time()
    found = translator.translate(texts, search=SEARCH, max_batch_tokens=round(BATCH * mean))
    return time.process_time() - started, found


def row(bundle: Path, texts: list[str], references: list[str], rounds: int) -> str:
    """Return a row of the table."""
    exact = open_translator(bundle, OpenOptions(device="cpu", threads=1))
    sides = exact, exact.with_bf16()
    for side in sides:
        run(side, texts[:BATCH])  # compiles kernels
    runs = [[run(side, texts) for side in sides] for _ in range(rounds)]
    seconds = [statistics.median(one[n][0] for one in runs) for n in (0, 1)]
    before, after = runs[-1][0][1], runs[-1][1][1]
    bleu = [
        sacrebleu.corpus_bleu([one.text for one in side], [references]).score
        for side in (before, after)
    ]
    pairs = list(zip(before, after, strict=True))
    scores = [(a.hypotheses[0].score, b.hypotheses[0].score) for a, b in pairs if a.text == b.text]
    most = max(abs(a - b) for a, b in scores)
    cells = f"{seconds[0]:.2f} | {seconds[1]:.2f} | {seconds[0] / seconds[1]:.2f}"
    quality = f"{bleu[0]:.2f} | {bleu[1]:.2f} | {len(pairs) - len(scores)} of {len(pairs)}"
    return f"| {bundle.name} | {cells} | {quality} | {most:.1e} |"


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bundles", type=Path, nargs="+", required=True)
    parser.add_argument("--test", type=Path, nargs=2, required=True, help="source and reference")
    parser.add_argument("--lines", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    texts, references = (
        path.read_text(encoding="utf-8").rstrip("\n").split("\n")[: given.lines]
        for path in given.test
    )
    print(
        f"| median of {given.rounds} | fp32, s | bf16, s | ratio | BLEU, fp32 | BLEU, bf16", end=""
    )
    print(" | texts differ | scores by |\n|---|---:|---:|---:|---:|---:|---:|---:|")
    for bundle in given.bundles:
        print(row(bundle, texts, references, given.rounds), flush=True)


if __name__ == "__main__":
    main()

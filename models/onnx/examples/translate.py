"""Translate with the graphs of this folder.

    python example.py 'A dog runs.'
    python example.py --to de 'A dog runs.'      a model of several languages

Besides the output, it prints the source token that each output token attends to most.
Needs onnxruntime, numpy and sentencepiece.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

import numpy
import sentencepiece
from greedy import CONFIG, FOLDER, GreedySearch

SPACE = "\u2581"  # SentencePiece's space mark
SOURCE, TARGET = (
    sentencepiece.SentencePieceProcessor(str(FOLDER / CONFIG["tokenizer"][side]))
    for side in ("source", "target")
)


def encode(text: str, language: str = "") -> list[int]:
    """Return the ids of a source text: target language if there are several, text, end mark."""
    text = text.strip()
    for pattern, replacement in CONFIG["normalise"]:
        text = re.sub(pattern, replacement, text)
    before = [CONFIG["languages"][language]] if language else []
    return [*before, *SOURCE.encode(text), CONFIG["tokens"]["end"]]


def padded(sources: Sequence[Sequence[int]]) -> dict[str, numpy.ndarray]:
    """Return the inputs of the encoder."""
    shape = len(sources), max(map(len, sources))
    ids = numpy.full(shape, CONFIG["tokens"]["pad"], numpy.int64)
    mask = numpy.zeros(shape, bool)
    for row, source in enumerate(sources):
        ids[row, : len(source)] = source
        mask[row, : len(source)] = True
    return {"ids": ids, "mask": mask}


def limit(source: Sequence[int]) -> int:
    """Return the greatest length of an output, end mark included."""
    most = CONFIG["max_output"]
    length = int(min(len(source) * most["ratio"], most["most"])) + most["extra"]
    return int(min(length, most["most"]))


def decode(ids: Sequence[int]) -> str:
    """Return the text of an output."""
    text: str = TARGET.decode(list(ids))
    return text.removeprefix(SPACE).replace(SPACE, " ")


def main() -> None:
    """Translate the texts of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--to", default="", choices=["", *CONFIG["languages"]])
    given = parser.parse_args()
    sources = [encode(text, given.to) for text in given.texts]
    outputs = GreedySearch()(padded(sources), [*map(limit, sources)])
    for source, output in zip(sources, outputs, strict=True):
        print(decode(output.ids))
        for number, weights in zip(output.ids, output.attention, strict=True):
            most = SOURCE.id_to_piece(source[weights.argmax()])
            print(f"  {TARGET.id_to_piece(number)}\t{most}\t{weights.max():.2f}")


if __name__ == "__main__":
    main()

"""Classify texts with the graph of this folder.

    python example.py 'Guten Morgen.'

Besides label and probability, it prints the weight of each token.
Needs onnxruntime, numpy and sentencepiece.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy
import onnxruntime
import sentencepiece

FOLDER = Path(__file__).parent
CONFIG = json.loads((FOLDER / "config.json").read_text(encoding="utf-8"))


def normalised(text: str) -> str:
    """Return a text with single plain spaces and straight apostrophes."""
    text = text.strip()
    for pattern, replacement in CONFIG["normalise"]:
        text = re.sub(pattern, replacement, text)
    return text


def main() -> None:
    """Classify the texts of the command line."""
    tokenizer = sentencepiece.SentencePieceProcessor(str(FOLDER / CONFIG["tokenizer"]["source"]))
    labels = (FOLDER / CONFIG["labels"]).read_text(encoding="utf-8").splitlines()
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(FOLDER / "model.onnx", providers=providers)
    for text in sys.argv[1:]:
        ids = numpy.array([tokenizer.encode(normalised(text))], numpy.int64)  # (1, S)
        given = {"ids": ids, "mask": numpy.ones(ids.shape, bool)}
        logits, attention = session.run(["logits", "attention"], given)
        powers = numpy.exp(logits[0] - logits[0].max())
        probabilities = powers / powers.sum()
        best = probabilities.argmax()
        print(f"{labels[best]}\t{probabilities[best]:.4f}")
        for number, weight in zip(ids[0].tolist(), attention[0], strict=True):
            print(f"  {tokenizer.id_to_piece(number)}\t{weight:.2f}")


if __name__ == "__main__":
    main()

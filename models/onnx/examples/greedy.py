"""Greedy search with the graphs of this folder: onnxruntime and numpy alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import onnxruntime

FOLDER = Path(__file__).parent
CONFIG = json.loads((FOLDER / "config.json").read_text(encoding="utf-8"))


class GreedyOutput(NamedTuple):
    """One output: token ids, and the attention to the source at each of them."""

    ids: list[int]  # without the end mark
    attention: list[numpy.ndarray]  # (S,) per token; empty if the model has no attention


class OnnxFile:
    """A graph as a function of named arrays."""

    def __init__(self, name: str) -> None:
        path = FOLDER / f"{name}.onnx"
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        self.outputs = [output.name for output in self.session.get_outputs()]

    def __call__(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs by name."""
        return dict(zip(self.outputs, self.session.run(None, inputs), strict=True))


class GreedySearch:
    """Search that takes the most probable token at each step."""

    def __init__(self) -> None:
        self.encoder, self.step = OnnxFile("encoder"), OnnxFile("decoder_step")

    def __call__(self, inputs: dict[str, Any], limits: Sequence[int]) -> list[GreedyOutput]:
        """Return the output of each input. limits: greatest lengths, end mark included."""
        encoded, marks = self.encoder(inputs), CONFIG["tokens"]
        memory = {name: encoded[name] for name in CONFIG["memory"]}
        state = {name: encoded[name] for name in CONFIG["state"]}
        outputs = [GreedyOutput([], []) for _ in limits]
        tokens = numpy.full(len(limits), marks["start"], numpy.int64)
        live = set(range(len(limits)))
        length = 0
        while live:
            length += 1
            found = self.step({"tokens": tokens, **memory, **state})
            state = {name: found[following] for name, following in CONFIG["state"].items()}
            found["logits"][:, CONFIG["never_output"]] = -numpy.inf
            tokens = found["logits"].argmax(1)  # (B,)
            live -= {row for row in live if tokens[row] == marks["end"] or length >= limits[row]}
            for row in live:
                outputs[row].ids.append(int(tokens[row]))
                if "attention" in found:
                    outputs[row].attention.append(found["attention"][row])
        return outputs

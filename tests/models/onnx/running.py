"""Graphs run by onnxruntime, beside the model that they were traced from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
import torch
from torch import Tensor

from models.families.encoder_decoder import EncoderDecoder
from models.onnx.graphs import MEMORY, NEXT, STATE, Graph
from models.onnx.inputs import GraphInputs
from models.text.tokenizer import START

Arrays = dict[str, numpy.ndarray]
CLOSE: dict[str, Any] = {"atol": 1e-4, "rtol": 1e-4}


def run(content: bytes | Graph, given: Arrays) -> Arrays:
    """Return the outputs of a graph by name; one that is not traced yet is computed by torch."""
    if isinstance(content, Graph):
        with torch.inference_mode(False), torch.enable_grad():  # as it is traced
            tensors = tuple(torch.from_numpy(given[name]) for name in content.inputs)
            found = content.outputs(tensors)
        return {name: tensor.detach().numpy() for name, tensor in found.items()}
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, given), strict=True))


def arrays(inputs: GraphInputs, given: tuple[Tensor, ...]) -> Arrays:
    """Return inputs by name."""
    pairs = zip(inputs.names, given, strict=True)
    return {name: tensor.numpy() for name, tensor in pairs}


@torch.inference_mode()
def check_steps(
    model: EncoderDecoder,
    inputs: GraphInputs,
    graphs: Mapping[str, bytes | Graph],
    given: tuple[Tensor, ...],
    tokens: Tensor,
) -> None:
    """Compare logits and attention of the graphs with those of torch; tokens (B, T) are read."""
    prepared, state = model.start(inputs.encode(model, *given))
    encoded = run(graphs["encoder"], arrays(inputs, given))
    memory, states = part(encoded, MEMORY), part(encoded, STATE)
    for column in tokens.unbind(1):
        expected = model.step(column, state, prepared, want_weights=True)
        found = run(graphs["decoder_step"], {"tokens": column.numpy(), **memory, **states})
        check(found, expected)
        state = expected.state
        states = {name: found[name.replace(STATE, NEXT, 1)] for name in states}


@torch.inference_mode()
def check_label(
    model: EncoderDecoder, inputs: GraphInputs, graph: bytes | Graph, given: tuple[Tensor, ...]
) -> None:
    """Compare logits and attention of the graph of a classifier with those of torch."""
    prepared, state = model.start(inputs.encode(model, *given))
    first = torch.full((len(given[0]),), START)
    expected = model.step(first, state, prepared, want_weights=True)
    check(run(graph, arrays(inputs, given)), expected)


def check(found: Arrays, expected: Any) -> None:
    """Compare outputs; a model without attention has none in its graph."""
    numpy.testing.assert_allclose(found["logits"], expected.logits.numpy(), **CLOSE)
    assert ("attention" in found) == (expected.weights is not None)
    if expected.weights is not None:
        numpy.testing.assert_allclose(found["attention"], expected.weights.numpy(), **CLOSE)


def part(encoded: Arrays, prefix: str) -> Arrays:
    """Return the tensors whose names begin with a prefix."""
    return {name: array for name, array in encoded.items() if name.startswith(f"{prefix}.")}

"""Tracing of a graph by torch, with sizes that may vary.

The example inputs are made twice with different sizes. An axis whose size differs is variable, and
the two sizes tell which one it is: batch, length or past.
"""

from __future__ import annotations

import importlib.util
import logging
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.base.errors import ConfigurationError, NotFoundError
from models.onnx.graphs import Graph, Sizes

FIRST, SECOND = Sizes(batch=2, length=5, past=3), Sizes(batch=3, length=7, past=5)
AXES = dict(zip(zip(FIRST, SECOND, strict=True), Sizes._fields, strict=True))
AXES[FIRST.past + 1, SECOND.past + 1] = "past + 1"
PACKAGES = ("onnx", "onnxscript")


class Port(NamedTuple):
    """An input or output of a graph."""

    name: str
    type: str  # as numpy names it
    shape: tuple[int | str, ...]  # a name for a size that varies


class Traced(NamedTuple):
    """A graph in the format of ONNX."""

    content: bytes
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


def check_packages() -> None:
    """Raise NotFoundError if a package that writes ONNX is missing."""
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            raise NotFoundError(
                f"no package {package}, which writes ONNX",
                "the extra attn[onnx]",
                "install it: pip install 'attn[onnx]'",
            )


def traced(graph: Graph) -> Traced:
    """Return a graph in the format of ONNX; inputs that it does not use are left out.

    Raises ConfigurationError if torch cannot trace it.
    """
    with torch.enable_grad(), _quiet():  # with gradients, all operations are plain ones
        given, larger = graph.example(FIRST), graph.example(SECOND)
        outputs, of_larger = graph.outputs(given), graph.outputs(larger)
        program = _program(graph, given, larger, list(outputs))
    inputs = program.model.graph.inputs
    for value in [value for value in inputs if not value.uses()]:
        inputs.remove(value)
    used = {value.name for value in inputs}
    return Traced(
        program.model_proto.SerializeToString(),
        tuple(port for port in ports(graph.inputs, given, larger) if port.name in used),
        ports(outputs, outputs.values(), of_larger.values()),
    )


def _program(
    graph: Graph, given: tuple[Tensor, ...], larger: tuple[Tensor, ...], outputs: list[str]
) -> Any:
    variable = tuple(axes(*pair) for pair in zip(given, larger, strict=True))
    try:
        return torch.onnx.export(
            graph.eval(),
            (given,),
            dynamo=True,
            input_names=list(graph.inputs),
            output_names=outputs,
            dynamic_shapes=(variable,),
            verbose=False,
        )
    except torch.onnx.OnnxExporterError as error:
        raise ConfigurationError(
            f"{type(graph).__name__} cannot be traced ({_cause(error)})",
            "a model whose operations are the same for inputs of every length",
        ) from error


def axes(one: Tensor, other: Tensor) -> dict[int, str]:
    """Return the axes whose sizes differ, with the name of the size that varies."""
    pairs = enumerate(zip(one.shape, other.shape, strict=True))
    return {
        axis: AXES.get(sizes, f"size_{sizes[0]}") for axis, sizes in pairs if sizes[0] != sizes[1]
    }


def ports(
    names: Iterable[str], given: Iterable[Tensor], larger: Iterable[Tensor]
) -> tuple[Port, ...]:
    """Return the descriptions of inputs or outputs."""
    found = []
    for name, one, two in zip(names, given, larger, strict=True):
        variable = axes(one, two)
        shape = tuple(variable.get(axis, size) for axis, size in enumerate(one.shape))
        found.append(Port(name, str(one.dtype).removeprefix("torch."), shape))
    return tuple(found)


def _cause(error: BaseException) -> str:
    """Return the first line of the error that caused another."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).strip().split("\n")[0]


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress torch's messages about the trace."""
    logging.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)

"""Parts of a model that become graphs: functions from tensors to named tensors.

encoder        inputs -> memory and first state
decoder_step   token, memory and state -> logits, attention weights and next state
model          inputs -> logits and attention weights; for models of one step, such as classifiers

They call `encode`, `start` and `step` of the model, so that every family has these graphs. A
decoder's state and its prepared memory are NamedTuples of tensors, of tuples and of further
NamedTuples. The name of a tensor is the path to it, as "memory.keys" or "state.layers.0.keys". A
part that is None or a flag is the same at every step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from models.base.types import DecodingStep
from models.families.encoder_decoder import EncoderDecoder
from models.onnx.inputs import GraphInputs
from models.text.tokenizer import START

MEMORY, STATE, NEXT = "memory", "state", "next"  # prefixes of the names of tensors


class Sizes(NamedTuple):
    """Sizes of example inputs; in a graph they are variable."""

    batch: int
    length: int
    past: int  # tokens read before a step


class Graph(nn.Module):
    """A part of a model as a function of a tuple of tensors."""

    inputs: tuple[str, ...]  # their names; those of the model, if the graph begins with it

    def __init__(self, model: EncoderDecoder, inputs: GraphInputs) -> None:
        super().__init__()
        self.model, self.reader, self.inputs = model, inputs, inputs.names

    def example(self, sizes: Sizes) -> tuple[Tensor, ...]:
        """Return inputs of these sizes."""
        return self.reader.example(self.model.config, sizes.batch, sizes.length)

    def outputs(self, given: tuple[Tensor, ...]) -> dict[str, Tensor]:
        """Return the outputs by name."""
        raise NotImplementedError

    def forward(self, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return the outputs in order."""
        return tuple(self.outputs(given).values())


class EncoderGraph(Graph):
    """Inputs of a model to the memory and the first state of its decoder.

    wanted: names of the outputs.
    """

    def __init__(self, model: EncoderDecoder, inputs: GraphInputs, wanted: Sequence[str]) -> None:
        super().__init__(model, inputs)
        self.wanted = wanted

    def outputs(self, given: tuple[Tensor, ...]) -> dict[str, Tensor]:
        """Return memory and state, named by their paths."""
        prepared, state = self.model.start(self.reader.encode(self.model, *given))
        found = named_tensors(prepared, MEMORY) | named_tensors(state, STATE)
        return {name: found[name] for name in self.wanted}


class StepGraph(Graph):
    """One step of a decoder."""

    def __init__(self, model: EncoderDecoder, inputs: GraphInputs) -> None:
        super().__init__(model, inputs)
        self.prepared, self.state = self._after(Sizes(batch=2, length=2, past=2))
        memory, state = named_tensors(self.prepared, MEMORY), named_tensors(self.state, STATE)
        self.inputs, self.parts = ("tokens", *memory, *state), len(memory)

    def example(self, sizes: Sizes) -> tuple[Tensor, ...]:
        """Return a token per row, memory, and the state after `past` tokens."""
        prepared, state = self._after(sizes)
        tensors = named_tensors(prepared, MEMORY) | named_tensors(state, STATE)
        tokens = torch.full((sizes.batch,), START)
        return tokens, *(tensor.contiguous() for tensor in tensors.values())

    def outputs(self, given: tuple[Tensor, ...]) -> dict[str, Tensor]:
        """Return logits (B, Y), attention (B, S) if there is any, and the next state."""
        tokens, *tensors = given
        memory, state = iter(tensors[: self.parts]), iter(tensors[self.parts :])
        prepared = with_tensors(self.prepared, memory)
        step = self.model.step(tokens, with_tensors(self.state, state), prepared, want_weights=True)
        return {**_predicted(step), **named_tensors(step.state, NEXT)}

    def _after(self, sizes: Sizes) -> tuple[Any, Any]:
        """Return memory and state after `past` tokens."""
        given = super().example(sizes)
        tokens = torch.full((sizes.batch,), START)
        prepared, state = self.model.start(self.reader.encode(self.model, *given))
        for _ in range(sizes.past):
            state = self.model.step(tokens, state, prepared).state
        return prepared, state


class WholeGraph(Graph):
    """A model of one step: its inputs to its only prediction."""

    def outputs(self, given: tuple[Tensor, ...]) -> dict[str, Tensor]:
        """Return logits (B, Y) and attention (B, S)."""
        prepared, state = self.model.start(self.reader.encode(self.model, *given))
        first = torch.full_like(given[0][:, 0], START)
        return _predicted(self.model.step(first, state, prepared, want_weights=True))


def _predicted(step: DecodingStep) -> dict[str, Tensor]:
    attention = {} if step.weights is None else {"attention": step.weights}
    return {"logits": step.logits, **attention}


def named_tensors(structure: Any, prefix: str) -> dict[str, Tensor]:
    """Return the tensors of a structure; their names begin with a prefix."""
    leaves, _ = pytree.tree_flatten_with_path(structure)
    places = ((pytree.keystr(path), leaf) for path, leaf in leaves)  # ".layers[0].keys"
    return {
        prefix + place.replace("[", ".").replace("]", ""): leaf
        for place, leaf in places
        if isinstance(leaf, Tensor)
    }


def with_tensors(structure: Any, tensors: Iterator[Tensor]) -> Any:
    """Return a copy of a structure whose tensors are replaced, in the order of `named_tensors`."""
    return pytree.tree_map_only(Tensor, lambda _: next(tensors), structure)

"""State of a Transformer in a beam search: slots that the hypotheses of a sentence share.

The hypotheses of a sentence have most of their prefixes in common. The key and the value of a token
are written once, and a bias says which slots each hypothesis sees. A selection of hypotheses copies
their biases only; a slot that none of them sees is free for a later token.

Slots are written in place, so each state can be continued once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from models.attention.few_queries import HIDDEN, KeyValue

BLOCK = 16  # slots that are allocated together


class LayerSlots(NamedTuple):
    """Slots of one layer, one of them for the next token of each hypothesis."""

    keys: Tensor  # (B, H, C, d)
    values: Tensor  # (B, H, C, d)
    bias: Tensor  # (B, H, K, C) added to the scores
    places: Tensor  # (B * H * K,) of the next tokens' slots among all B * H * C

    @property
    def seen(self) -> KeyValue:
        """Keys and values (B, H, C, d), with the bias."""
        return KeyValue(self.keys, self.values, self.bias)

    def extended(self, new: KeyValue) -> LayerSlots:
        """Write the keys and values (B, H, K, d) of the next tokens in place."""
        for slots, each in ((self.keys, new.keys), (self.values, new.values)):
            size = slots.shape[3]
            slots.view(-1, size).index_copy_(0, self.places, each.reshape(-1, size))
        return self


class Continuation:
    """Record that a state was continued, so that no second continuation changes its slots."""

    def __init__(self) -> None:
        self.begun = False

    def begin(self) -> None:
        """Raise RuntimeError if this is the second time."""
        if self.begun:
            raise RuntimeError("a state of a beam search was continued twice")
        self.begun = True


class BeamState(NamedTuple):
    """Keys and values of B sentences with K hypotheses each."""

    layers: tuple[KeyValue, ...]  # (B, H, C, d)
    bias: Tensor  # (B, K, C): 0 for the slots that a hypothesis sees, HIDDEN for the others
    length: int  # tokens of each hypothesis
    used: int  # upper limit of the slots of a sentence that any of its hypotheses sees
    continuation: Continuation

    @classmethod
    def empty(cls, layers: Sequence[KeyValue]) -> BeamState:
        """Return the state before the first token; keys and values give the sizes (B, H, _, d)."""
        slots = tuple(with_slots(KeyValue(k[:, :, :0], v[:, :, :0]), BLOCK) for k, v, _ in layers)
        bias = torch.full_like(slots[0].keys[:, :1, :, 0], HIDDEN)  # (B, 1, C)
        return cls(slots, bias, 0, 0, Continuation())

    @classmethod
    def joined(cls, parts: Sequence[BeamState]) -> BeamState:
        """Return the sentences of several states of one length, which have equally many slots."""
        slots = max(part.bias.shape[2] for part in parts)
        layers = zip(*(part.layers for part in parts), strict=True)
        biases = [pad(p.bias, (0, slots - p.bias.shape[2]), value=HIDDEN) for p in parts]
        return cls(
            tuple(map(KeyValue.joined, layers)),  # padded to equally many slots
            torch.cat(biases),
            parts[0].length,
            max(part.used for part in parts),
            Continuation(),
        )

    def select(self, rows: Tensor) -> BeamState:
        """Return some hypotheses: equally many of each sentence, those of a sentence adjacent."""
        sentences, beam, slots = self.bias.shape
        chosen = torch.unique_consecutive(rows // beam)
        selected = len(rows) // max(1, len(chosen))  # hypotheses of each sentence
        bias = self.bias.flatten(0, 1).index_select(0, rows).view(len(chosen), selected, slots)
        layers = self.layers
        if len(chosen) < sentences:
            layers = tuple(layer.select(chosen) for layer in layers)
        state = self._replace(layers=layers, bias=bias)
        return state if state.has_room else state._replace(used=most_seen(bias))

    @property
    def has_room(self) -> bool:
        """True if there are free slots for the next tokens, as far as `used` tells."""
        return self.used + self.bias.shape[1] <= self.bias.shape[2]

    def pasts(self) -> list[LayerSlots]:
        """Return the slots of each layer, with those for the next tokens; may be called once."""
        self.continuation.begin()
        beam = self.bias.shape[1]
        more = 0 if self.has_room else -(-beam // BLOCK) * BLOCK
        layers = [with_slots(layer, more) for layer in self.layers]
        bias = pad(self.bias, (0, more), value=HIDDEN) if more else self.bias
        sentences, heads, slots, _ = layers[0].keys.shape
        free = bias.amax(1).topk(beam, largest=False).indices  # (B, K), seen by no hypothesis
        bias = bias.scatter(2, free[:, :, None], 0.0)
        bias = bias[:, None].repeat(1, heads, 1, 1)  # torch.baddbmm needs every head's
        first = torch.arange(0, sentences * heads * slots, slots, device=bias.device)
        places = (first.view(sentences, heads, 1) + free[:, None]).flatten()
        return [LayerSlots(layer.keys, layer.values, bias, places) for layer in layers]

    def after(self, seen: Sequence[LayerSlots]) -> BeamState:
        """Return the state after the next tokens, which every layer has written."""
        layers = tuple(KeyValue(each.keys, each.values) for each in seen)
        bias, used = seen[0].bias[:, 0], self.used + self.bias.shape[1]
        return BeamState(layers, bias, self.length + 1, used, Continuation())


def with_slots(layer: KeyValue, more: int) -> KeyValue:
    """Return keys and values (B, H, C, d) followed by some free slots."""
    if not more:
        return layer
    return KeyValue(pad(layer.keys, (0, 0, 0, more)), pad(layer.values, (0, 0, 0, more)))


def most_seen(bias: Tensor) -> int:
    """Return the greatest number of slots that the hypotheses (B, K, C) of a sentence see."""
    return int((bias.amax(1) == 0).sum(1).max()) if len(bias) else 0

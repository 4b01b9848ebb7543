"""Keys and values of a growing prefix, in slots that are allocated some steps in advance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from models.attention.few_queries import KeyValue

BLOCK = 8  # slots that are allocated together


@dataclass
class Slots:
    """Allocated slots; several prefixes with the same beginning can share them."""

    keys: Tensor  # (R, H, C, d)
    values: Tensor  # (R, H, C, d)
    filled: int  # number of slots that some prefix uses

    def copied(self, count: int, capacity: int) -> Slots:
        """Return a copy of the first `count` slots with room for `capacity`."""
        rows, heads, _, size = self.keys.shape
        keys = self.keys.new_empty(rows, heads, capacity, size)
        values = torch.empty_like(keys)
        keys[:, :, :count] = self.keys[:, :, :count]
        values[:, :, :count] = self.values[:, :, :count]
        return Slots(keys, values, filled=count)


class Prefix(NamedTuple):
    """The first `length` slots; it never changes, although later slots are written beside it."""

    slots: Slots
    length: int

    @classmethod
    def of(cls, seen: KeyValue) -> Prefix:
        """Return a prefix of all the given slots."""
        length = seen.keys.shape[2]
        return cls(Slots(seen.keys, seen.values, length), length)

    @property
    def seen(self) -> KeyValue:
        """Keys and values (R, H, length, d)."""
        return KeyValue(
            self.slots.keys[:, :, : self.length], self.slots.values[:, :, : self.length]
        )

    def select(self, rows: Tensor) -> Prefix:
        """Return some hypotheses, in the given order."""
        keys, values = (p.index_select(0, rows) for p in (self.slots.keys, self.slots.values))
        return Prefix(Slots(keys, values, self.length), self.length)

    def extended(self, new: KeyValue) -> Prefix:
        """Return these slots followed by new ones.

        They are written in place if their slots are free. Two continuations of one prefix need
        different slots. With gradients, nothing is written in place.
        """
        if torch.is_grad_enabled():
            return Prefix.of(self.seen.followed_by(new))
        length, slots = self.length + new.keys.shape[2], self.slots
        if slots.filled > self.length or length > slots.keys.shape[2]:
            slots = slots.copied(self.length, -(-length // BLOCK) * BLOCK)
        slots.keys[:, :, self.length : length] = new.keys
        slots.values[:, :, self.length : length] = new.values
        slots.filled = length
        return Prefix(slots, length)

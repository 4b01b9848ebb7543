"""All-reduce of gradients in buckets, while the backward pass computes those of earlier layers.

    g = sum_r g_r        over all processes r, for one bucket of parameters after another

A backward pass completes the last layers first, so buckets are filled from the last parameter on.
All processes exchange the buckets in this order, whatever the order in which theirs are complete.
Source: Li et al. 2020, PyTorch Distributed: Experiences on Accelerating Data Parallel Training,
section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from attncli.training.distributed.world import Pending, World

BUCKET_BYTES = 4 << 20  # a bucket ends once it has as many; gradients have 4 bytes each


class OverlappedSum:
    """The sum of the gradients of some parameters over all processes, for one update."""

    def __init__(self, parameters: Sequence[Tensor], world: World) -> None:
        self.parameters, self.world = parameters, world
        self.starts = [0]  # of each parameter in the gradient, and the end
        for parameter in parameters:
            self.starts.append(self.starts[-1] + parameter.numel())
        self.gradient = torch.zeros(self.starts[-1], device=parameters[0].device)
        self.buckets = buckets_of(parameters)
        self.missing = [len(bucket) for bucket in self.buckets]  # gradients, in the last pass
        self.pending: list[Pending] = []  # of the buckets that are sent

    @contextmanager
    def last_backward(self) -> Iterator[None]:
        """Send each bucket inside this block as soon as its gradients are complete.

        The block contains the last backward pass of this process in the update.
        """
        hooks = [
            self.parameters[index].register_post_accumulate_grad_hook(self._hook(number))
            for number, bucket in enumerate(self.buckets)
            for index in bucket
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def total(self) -> Tensor:
        """Send the remaining buckets; return the sum of all gradients as one vector (N,).

        The gradients of the parameters are reset.
        """
        while len(self.pending) < len(self.buckets):
            self._send()
        for pending in self.pending:
            pending.wait()
        for parameter in self.parameters:
            parameter.grad = None
        return self.gradient

    def _hook(self, bucket: int) -> Callable[[Tensor], None]:
        def count(parameter: Tensor) -> None:
            self.missing[bucket] -= 1
            while len(self.pending) < len(self.buckets) and not self.missing[len(self.pending)]:
                self._send()

        return count

    def _send(self) -> None:
        bucket = self.buckets[len(self.pending)]
        for index in bucket:
            if (found := self.parameters[index].grad) is not None:
                self.gradient[self.starts[index] : self.starts[index + 1]] = found.flatten()
        values = self.gradient[self.starts[bucket[0]] : self.starts[bucket[-1] + 1]]
        self.pending.append(self.world.start_adding(values))


def buckets_of(parameters: Sequence[Tensor]) -> list[range]:
    """Return the numbers of the parameters of each bucket, which are consecutive; last first."""
    found, end, size = [], len(parameters), 0
    for index in reversed(range(len(parameters))):
        size += 4 * parameters[index].numel()
        if size >= BUCKET_BYTES or not index:
            found.append(range(index, end))
            end, size = index, 0
    return found

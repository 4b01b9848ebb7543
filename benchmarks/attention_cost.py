"""Time and memory of one forward and backward pass of each score, compared with PyTorch's SDPA.

    python benchmarks/attention_cost.py
    python benchmarks/attention_cost.py --batch 64 --queries 30 --slots 30 --size 512 --repeats 10

A pass prepares the keys, scores all queries at once, and computes the gradients of queries, values
and parameters. Memory is the peak of PyTorch's allocator above its level before the pass; on a CPU
it is summed from the profiler's records. Time is processor time on a CPU. The last line is the size
of one (B, T, S, H) tensor.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile

from models.attention.base import Attention
from models.config import AttentionConfig
from models.registry import names
from models.types import Memory

MEGABYTE = 2**20


class Cost(NamedTuple):
    """What one pass costs."""

    name: str
    parameters: int
    milliseconds: float
    megabytes: float


def main() -> None:
    """Measure and print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--batch", type=int, default=64)
    options.add_argument("--queries", type=int, default=30)
    options.add_argument("--slots", type=int, default=30)
    options.add_argument("--size", type=int, default=512)
    options.add_argument("--repeats", type=int, default=10)
    options.add_argument("--scores", nargs="*", default=names("score"))
    options.add_argument("--device", default="cpu")
    options.add_argument("--threads", type=int, default=1)
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    device = torch.device(given.device)
    torch.manual_seed(1)
    query = torch.randn(given.batch, given.queries, given.size, device=device, requires_grad=True)
    values = torch.randn(given.batch, given.slots, given.size, device=device, requires_grad=True)

    print(f"B {given.batch}, T {given.queries}, S {given.slots}, H {given.size}")
    print(f"{device}, {torch.get_num_threads()} threads, torch {torch.__version__}\n")
    print(f"{'score':<30}{'parameters':>12}{'ms':>10}{'MB':>10}")
    show(cost("torch sdpa (fused)", fused, nn.Identity(), query, values, given.repeats))
    for name in given.scores:
        attention = Attention(given.size, given.size, AttentionConfig(score=name)).to(device)
        show(cost(name, reading(attention), attention, query, values, given.repeats))
    elements = given.batch * given.queries * given.slots * given.size
    print(f"{'one (B, T, S, H) tensor':<30}{'':>12}{'':>10}{4 * elements / MEGABYTE:>10.1f}")


def fused(query: Tensor, values: Tensor) -> Tensor:
    """PyTorch's fused kernel, one head."""
    heads = query.unsqueeze(1), values.unsqueeze(1), values.unsqueeze(1)
    return scaled_dot_product_attention(*heads).squeeze(1)


def reading(attention: Attention) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the contexts (B, T, V) that an attention reads."""

    def read(query: Tensor, values: Tensor) -> Tensor:
        mask = values.new_ones(values.shape[:2], dtype=torch.bool)
        context: Tensor = attention(query, attention.prepare(Memory(values, mask))).context
        return context

    return read


def cost(
    name: str,
    read: Callable[[Tensor, Tensor], Tensor],
    owner: nn.Module,
    query: Tensor,
    values: Tensor,
    repeats: int,
) -> Cost:
    """Median time of several passes after two that do not count, and the peak of one."""
    inputs = [query, values, *owner.parameters()]

    def once() -> None:
        torch.autograd.grad(read(query, values).square().sum(), inputs, allow_unused=True)

    for _ in range(2):
        once()
    times = [timed(once, query.device) for _ in range(repeats)]
    parameters = sum(parameter.numel() for parameter in owner.parameters())
    peak = peak_bytes(once, query.device) / MEGABYTE
    return Cost(name, parameters, 1000 * statistics.median(times), peak)


def timed(work: Callable[[], None], device: torch.device) -> float:
    """Return the seconds of one call: processor time on a CPU, wall time on a GPU."""
    if device.type != "cuda":
        started = time.process_time()
        work()
        return time.process_time() - started
    torch.cuda.synchronize()
    started = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - started


def peak_bytes(work: Callable[[], None], device: torch.device) -> int:
    """Return the peak of allocated memory during one call, in bytes."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        return int(torch.cuda.max_memory_allocated()) - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        work()
    held = peak = 0
    assert record.profiler is not None
    for event in record.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    return peak


def show(found: Cost) -> None:
    """One line of the table."""
    print(f"{found.name:<30}{found.parameters:>12,}", end="")
    print(f"{found.milliseconds:>10.1f}{found.megabytes:>10.1f}", flush=True)


if __name__ == "__main__":
    main()

"""Time and memory of one forward and backward pass of each score, compared with PyTorch's SDPA.

    python benchmarks/attention_cost.py
    python benchmarks/attention_cost.py --batch 64 --queries 30 --slots 30 --size 512 --repeats 10

    git worktree add /tmp/before da1faa0
    python benchmarks/attention_cost.py --before /tmp/before --part score --scores additive ffn

A pass prepares the keys, scores all queries at once, and computes the gradients of queries, values
and parameters. Memory is the peak of PyTorch's allocator above its level before the pass; on a CPU
it is summed from the profiler's records. Time is processor time on a CPU. The last line is the size
of one (B, T, S, H) tensor. `--part score` measures the score alone: keys are prepared before, and
nothing is read.

`--before` compares with another revision. Every round runs both revisions, each in a process of its
own; the table has the lowest time of all passes of all rounds, because other programs can only make
a pass slower.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile

from models.attention.base import Attention
from models.attention.softmax import grouped
from models.base.registry import names
from models.base.types import Memory
from models.config import AttentionConfig

HERE = Path(__file__).resolve()
MEGABYTE = 2**20
Work = Callable[[Tensor, Tensor], Tensor]  # of queries (B, T, Q) and values (B, S, V)


class Cost(NamedTuple):
    """What one pass costs."""

    name: str
    parameters: int
    milliseconds: float
    megabytes: float


def main() -> None:
    """Parse the command line and measure."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--batch", type=int, default=64)
    options.add_argument("--queries", type=int, default=30)
    options.add_argument("--slots", type=int, default=30)
    options.add_argument("--size", type=int, default=512)
    options.add_argument("--repeats", type=int, default=10)
    options.add_argument("--scores", nargs="*", default=names("score"))
    options.add_argument("--device", default="cpu")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--part", choices=PARTS, default="pass")
    options.add_argument("--bf16", action="store_true", help="under autocast to bf16")
    options.add_argument("--time-only", action="store_true", help="print the lowest times alone")
    options.add_argument("--before", type=Path, help="working tree of another revision")
    options.add_argument("--rounds", type=int, default=5, help="with --before")
    given = options.parse_args()
    if given.before:
        compare(given)
    elif given.bf16:
        with torch.autocast(given.device, torch.bfloat16):
            measure(given)
    else:
        measure(given)


def measure(given: argparse.Namespace) -> None:
    """Measure and print the costs of this revision."""
    torch.set_num_threads(given.threads)
    device = torch.device(given.device)
    torch.manual_seed(1)
    query = torch.randn(given.batch, given.queries, given.size, device=device, requires_grad=True)
    values = torch.randn(given.batch, given.slots, given.size, device=device, requires_grad=True)

    if given.time_only:
        for name in given.scores:
            attention = Attention(given.size, given.size, AttentionConfig(score=name)).to(device)
            work = PARTS[given.part](attention, values)
            print(name, min(seconds(work, inputs_of(attention, query, values), given.repeats)))
        return
    print(f"B {given.batch}, T {given.queries}, S {given.slots}, H {given.size}")
    print(f"{device}, {torch.get_num_threads()} threads, torch {torch.__version__}\n")
    print(f"{'score':<30}{'parameters':>12}{'ms':>10}{'MB':>10}")
    show(cost("torch sdpa (fused)", fused, nn.Identity(), query, values, given.repeats))
    for name in given.scores:
        attention = Attention(given.size, given.size, AttentionConfig(score=name)).to(device)
        work = PARTS[given.part](attention, values)
        show(cost(name, work, attention, query, values, given.repeats))
    elements = given.batch * given.queries * given.slots * given.size
    print(f"{'one (B, T, S, H) tensor':<30}{'':>12}{'':>10}{4 * elements / MEGABYTE:>10.1f}")


def fused(query: Tensor, values: Tensor) -> Tensor:
    """PyTorch's fused kernel, one head."""
    heads = query.unsqueeze(1), values.unsqueeze(1), values.unsqueeze(1)
    return scaled_dot_product_attention(*heads).squeeze(1)


def reading(attention: Attention, _: Tensor) -> Work:
    """Return a function that returns the contexts (B, T, V) which an attention reads."""

    def read(query: Tensor, values: Tensor) -> Tensor:
        mask = values.new_ones(values.shape[:2], dtype=torch.bool)
        context: Tensor = attention(query, attention.prepare(Memory(values, mask))).context
        return context

    return read


def scoring(attention: Attention, values: Tensor) -> Work:
    """Return a function that returns the scores (B, T, S) of queries with keys prepared before."""
    keys = attention.score.prepare(values).detach().requires_grad_()
    mask = values.new_ones(values.shape[:2], dtype=torch.bool)
    memory = attention.prepare(Memory(values, mask))

    def score(query: Tensor, _: Tensor) -> Tensor:
        history = grouped(attention.begin(memory), query)
        past = (history,) if attention.score.needs_history else ()
        scores: Tensor = attention.score(query, keys, *past)
        return scores

    return score


def compare(given: argparse.Namespace) -> None:
    """Print the times of two revisions, measured alternately."""
    print(f"| {given.part} of | before, ms | after, ms | ratio |\n|---|---:|---:|---:|")
    for name in given.scores:
        sides: tuple[list[float], list[float]] = [], []
        both = ["--bf16"] if given.bf16 else []
        for _ in range(given.rounds):
            sides[0].append(milliseconds(given, name, given.before, both))
            sides[1].append(milliseconds(given, name, HERE.parents[1], both))
        old, new = map(min, sides)
        print(f"| {name} | {old:.2f} | {new:.2f} | {old / new:.2f} |", flush=True)


def milliseconds(given: argparse.Namespace, score: str, tree: Path, more: list[str]) -> float:
    """Return the time of a score in the program of a tree, measured in a process of its own."""
    names = ("batch", "queries", "slots", "size", "repeats", "threads", "part")
    options = [f"--{name}={getattr(given, name)}" for name in names]
    done = subprocess.run(
        [sys.executable, str(HERE), *options, *more, "--time-only", "--scores", score],
        env={**os.environ, "PYTHONPATH": str(tree.resolve())},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return 1000 * float(done.stdout.split()[-1])


def cost(
    name: str,
    read: Work,
    owner: nn.Module,
    query: Tensor,
    values: Tensor,
    repeats: int,
) -> Cost:
    """Median time of several passes after two that do not count, and the peak of one."""
    inputs = inputs_of(owner, query, values)
    median = statistics.median(seconds(read, inputs, repeats))
    parameters = sum(parameter.numel() for parameter in owner.parameters())
    peak = peak_bytes(lambda: once(read, inputs), query.device) / MEGABYTE
    return Cost(name, parameters, 1000 * median, peak)


def inputs_of(owner: nn.Module, query: Tensor, values: Tensor) -> list[Tensor]:
    """Return the tensors whose gradients a pass computes, queries and values first."""
    return [query, values, *owner.parameters()]


def seconds(read: Work, inputs: list[Tensor], repeats: int) -> list[float]:
    """Return the seconds of several passes after two that do not count."""
    for _ in range(2):
        once(read, inputs)
    device = inputs[0].device
    return [timed(lambda: once(read, inputs), device) for _ in range(repeats)]


def once(read: Work, inputs: list[Tensor]) -> None:
    """Compute one forward and backward pass."""
    torch.autograd.grad(read(*inputs[:2]).square().sum(), inputs, allow_unused=True)


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
    print(f"{found.milliseconds:>10.2f}{found.megabytes:>10.1f}", flush=True)


PARTS = {"pass": reading, "score": scoring}

if __name__ == "__main__":
    main()

"""Profile of training: share of the matrix peak that updates reach, and what the rest is.

    python benchmarks/profile_training.py
    python benchmarks/profile_training.py --presets transformer-small --precisions bf16 --updates 8

Generated data as in gpu.py, batches of 4,096 positions, the updates of `attn train`, one thread.

Peak: rate of a square matrix product of the same precision, measured before and after the updates;
for fp32 the faster of MKL and oneDNN. FLOPs are those of the matrix products that run, counted by
torch's FlopCounterMode: padding and all passes included. Model FLOPs (see gpu.py) are those of real
tokens alone. Rates are per processor second, so other programs change them less.

Kinds of operation: torch's profiler, time of each operation without the operations inside it, on
the same updates. "calls" are views, allocations and autograd's own work; "python" is what remains.
The profiler makes both look larger than they are.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from gpu import Generated, Sizes, new_model, update_flops
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from attncli.training.interfaces import UpdateBatches
from attncli.training.run.configuration import run_config
from attncli.training.storage.state import State
from attncli.training.updates import hardware
from attncli.training.updates.epoch import batches_of
from attncli.training.updates.stepper import Stepper
from models.catalogue.presets import model_config
from models.numerics.linear import prefers_onednn

PRESETS = (
    *("transformer-tiny", "transformer-small", "transformer-base"),
    *("rnnsearch-small", "show-attend-tell-soft-small"),
)
SIDE = 2048  # of the matrices of the peak
UNTIMED = 2  # updates
SCOPES = {  # kind: parts of names; an operation inside a scope belongs to it
    "loss": ("SlicedCrossEntropy",),
    "attention": ("RowSoftmax", "Energy"),
    "dropout": ("ByteDropout",),
    "optimiser": ("Optimizer", "_fused_adam", "_foreach_"),
}
KINDS = {  # kind: ends of names of single operations
    "products": ("::mm", "::addmm", "::addmm_", "::_linear_pointwise"),
    "attention": ("::bmm", "::baddbmm"),
    "normalise": ("::native_layer_norm", "::native_layer_norm_backward"),
    "copies": (
        *("::copy_", "::cat", "::fill_", "::zero_", "::index", "::index_put_", "::index_select"),
        *("::_index_put_impl_", "::gather", "::embedding_dense_backward"),
    ),
}
ORDER = (
    *("products", "attention", "loss", "dropout", "normalise", "elementwise", "copies"),
    *("optimiser", "calls", "python"),
)
ELEMENTWISE = (
    *("mul", "mul_", "add", "add_", "sub", "sub_", "div", "div_", "exp", "exp_", "sum", "amax"),
    *("sigmoid", "sigmoid_", "tanh", "sigmoid_backward", "tanh_backward", "threshold_backward"),
    *("clamp_min_", "relu_", "relu", "addcmul", "addcmul_", "lerp", "mean", "rsub", "neg", "where"),
    *("masked_fill_", "maximum", "eq", "bitwise_not", "max", "square", "pow", "select_backward"),
)


class Setup(NamedTuple):
    """A model, its data and the batches of the measured updates."""

    stepper: Stepper
    data: Generated
    batches: Sequence[np.ndarray]

    def update(self) -> None:
        """Make one update per batch."""
        for batch in self.batches:
            self.stepper.train_on(UpdateBatches(self.data, [batch]), 0.0)


class Rates(NamedTuple):
    """Figures of the measured updates."""

    seconds: float  # of the processor, per update
    flops: float  # per update
    model_flops: float
    peak: float  # FLOPs per second


def prepared(name: str, precision: str, settings: list[str], updates: int) -> Setup:
    """Build a preset's model with random weights, and choose its batches."""
    sizes = Sizes(longest=40)
    config = run_config(name, {}, settings).train
    model = new_model(model_config(name), sizes)
    data = Generated(model, sizes)
    plan = batches_of(data, config)
    stepper = Stepper(State(model, config), config, hardware.DTYPES[precision])
    Setup(stepper, data, plan[:UNTIMED]).update()
    return Setup(stepper, data, plan[UNTIMED : UNTIMED + updates])


def rates(setup: Setup, precision: str) -> Rates:
    """Measure time, FLOPs and peak."""
    peaks, count = [peak(precision)], len(setup.batches)
    started = time.process_time()
    setup.update()
    seconds = time.process_time() - started
    peaks.append(peak(precision))
    numbers = np.concatenate(setup.batches)
    sides = setup.data.source_lengths[numbers], setup.data.target_lengths[numbers]
    model_flops = update_flops(setup.stepper.state.model, *sides)
    mapping = {
        torch.ops.mkldnn._linear_pointwise: linear_flops,
        torch.ops.aten.addmm_: lambda out, a, b, **_: 2 * a[0] * a[1] * b[1],
    }
    with FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        setup.update()
    flops = counter.get_total_flops()
    return Rates(seconds / count, flops / count, model_flops / count, statistics.mean(peaks))


def linear_flops(x: Any, weight: Any, *_: Any, **__: Any) -> int:
    """Return the FLOPs of oneDNN's linear map from the shapes of input and weights."""
    return 2 * int(np.prod(x)) * int(weight[0])


def peak(precision: str) -> float:
    """Return the FLOPs per processor second of the faster square matrix product."""
    a, b = (torch.randn(SIDE, SIDE, dtype=hardware.DTYPES[precision]) for _ in range(2))
    products: list[Callable[[], Any]] = [lambda: a @ b]
    if precision == "fp32" and prefers_onednn():
        products.append(lambda: torch.ops.mkldnn._linear_pointwise(a, b, None, "none", [], ""))
    return max(2 * SIDE**3 / min(timed(product) for _ in range(5)) for product in products)


def timed(work: Callable[[], Any]) -> float:
    """Return the processor seconds of one call."""
    started = time.process_time()
    work()
    return time.process_time() - started


def shares(setup: Setup) -> dict[str, float]:
    """Return the share of the time of each kind of operation."""
    with profile(activities=[ProfilerActivity.CPU]) as record:
        began = time.perf_counter()
        setup.update()
        whole = time.perf_counter() - began
    found: dict[str, float] = defaultdict(float)
    for event in record.events() or ():
        found[kind(event)] += event.self_cpu_time_total / 1e6
    found["python"] = max(0.0, whole - sum(found.values()))
    return {name: found[name] / sum(found.values()) for name in ORDER}


def kind(event: Any) -> str:
    """Return the kind of an operation from its name and those of the operations around it."""
    if event.name.endswith(KINDS["products"]):
        return "products"
    around = event
    while around is not None:
        for name, parts in SCOPES.items():
            if any(part in around.name for part in parts):
                return name
        around = around.cpu_parent
    for name, ends in KINDS.items():
        if event.name.endswith(ends):
            return name
    return "elementwise" if event.name.removeprefix("aten::") in ELEMENTWISE else "calls"


def main() -> None:
    """Parse the command line, measure and print both tables row by row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--presets", nargs="+", default=PRESETS)
    parser.add_argument("--precisions", nargs="+", default=["fp32", "bf16"])
    parser.add_argument("--updates", type=int, default=4)
    parser.add_argument("--settings", nargs="*", default=[], help="train.NAME=VALUE")
    given = parser.parse_args()
    torch.set_num_threads(1)
    hardware.limit_kernel_caches()
    hardware.retain_freed_memory()
    columns = "s/update | GFLOP | of real tokens | GFLOP/s | peak | share | " + " | ".join(ORDER)
    print(f"| preset | precision | {columns} |")
    print(f"|---|---|{'---:|' * (6 + len(ORDER))}", flush=True)
    for name in given.presets:
        for precision in given.precisions:
            setup = prepared(name, precision, given.settings, given.updates)
            print(row(name, precision, rates(setup, precision), shares(setup)), flush=True)


def row(name: str, precision: str, found: Rates, parts: dict[str, float]) -> str:
    """Return a row of the table."""
    rate = found.flops / found.seconds
    cells = [f"{found.seconds:.2f}", f"{found.flops / 1e9:.0f}", f"{found.model_flops / 1e9:.0f}"]
    cells += [f"{rate / 1e9:.0f}", f"{found.peak / 1e9:.0f}", f"{rate / found.peak:.0%}"]
    cells += [f"{part:.0%}" for part in parts.values()]
    return f"| {name} | {precision} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()

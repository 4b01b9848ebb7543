"""benchmarks/gpu.py runs on a processor, and its FLOPs are those that torch counts."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

SCRIPT = Path(__file__).parents[2] / "benchmarks/gpu.py"
spec = importlib.util.spec_from_file_location("gpu_benchmark", SCRIPT)
assert spec and spec.loader
gpu = importlib.util.module_from_spec(spec)
sys.modules["gpu_benchmark"] = gpu
spec.loader.exec_module(gpu)


def test_the_tiny_measurement_prints_every_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--device", "cpu", "--tiny"])
    monkeypatch.setattr(gpu, "computes_bf16", lambda device: False)
    gpu.main()
    rows = capsys.readouterr().out.splitlines()
    for name in gpu.TINY_PRESETS:  # one row of equality, one of training, two of decoding
        assert sum(row.startswith(f"| {name} ") for row in rows) == 4
        by_other = sum(row.startswith(f"| {name}, CTranslate2, float32 ") for row in rows)
        assert by_other == 2 * (name == "transformer-nano")
        assert f"| {name} | {gpu.TINY.timed} | 0.0e+00 | yes |" in rows


def test_the_formula_counts_the_products_of_a_transformer() -> None:
    model = gpu.new_model(gpu.model_config("transformer-nano"), gpu.TINY).eval()
    ids = [[5] * 6 + [gpu.END]] * 3
    batch = gpu.pad_pairs(ids, ids, torch.device("cpu"))
    math = sdpa_kernel(SDPBackend.MATH)  # the fused kernel of a processor is not counted
    with math, FlopCounterMode(display=False) as counter:
        model.output(model.teacher_force(batch).features)
    lengths = np.array([7, 7, 7])
    assert gpu.update_flops(model, lengths, lengths) == 3 * counter.get_total_flops()

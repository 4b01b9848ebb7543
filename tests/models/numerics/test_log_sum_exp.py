"""Sums of exponentials by powers of two equal PyTorch's, far from zero as well."""

from __future__ import annotations

import pytest
import torch

from models.numerics.log_sum_exp import SLICE_ELEMENTS, log_sum_exp


@pytest.mark.parametrize("shift", [0.0, 300.0, -300.0])
def test_log_sum_exp_equals_pytorchs(shift: float) -> None:
    torch.manual_seed(1)
    logits = torch.randn(3, SLICE_ELEMENTS // 2) * 4 + shift  # several slices
    logits[1, 5:] = -torch.inf  # a shortlist may hide tokens
    expected = logits.double().logsumexp(-1)
    with torch.inference_mode():
        found = log_sum_exp(logits, logits.amax(1))
    torch.testing.assert_close(found.double(), expected, atol=1e-5, rtol=2e-7)


def test_log_sum_exp_has_a_gradient() -> None:
    logits = torch.randn(2, 5, requires_grad=True)
    log_sum_exp(logits, logits.amax(1)).sum().backward()
    torch.testing.assert_close(logits.grad, logits.softmax(-1))

"""R-Drop against the plain formula of Wu et al. 2021."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import kl_div, linear

from models import losses
from models.losses import divergence


@pytest.mark.parametrize("elements", [2**22, 40])  # one slice, and many
def test_divergence_and_gradients_equal_the_plain_formula(
    elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(losses, "SLICE_ELEMENTS", elements)
    torch.manual_seed(1)
    inputs = [torch.randn(*shape, requires_grad=True) for shape in ((9, 5), (9, 5), (11, 5), (11,))]
    first, second, weight, bias = inputs
    one, two = (linear(x, weight, bias).log_softmax(-1) for x in (first, second))
    plain = (
        kl_div(one, two, reduction="sum", log_target=True)
        + kl_div(two, one, reduction="sum", log_target=True)
    ) / 2
    found = divergence(*inputs)
    torch.testing.assert_close(found, plain)
    for ours, theirs in zip(
        torch.autograd.grad(found, inputs), torch.autograd.grad(plain, inputs), strict=True
    ):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)

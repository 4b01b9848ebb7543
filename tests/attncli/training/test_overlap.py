"""Gradients that are summed in buckets during the backward pass are those summed at its end."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from attncli.training.distributed import overlap
from attncli.training.distributed.meeting import Invitation, Meeting
from attncli.training.distributed.overlap import OverlappedSum, buckets_of
from attncli.training.distributed.rank import Rank
from attncli.training.distributed.world import ALONE, Alone, Pending, World
from tests.attncli.training import processes


def network() -> nn.ModuleList:
    """Return four layers, of which the third has no part in the loss."""
    torch.manual_seed(1)
    return nn.ModuleList(nn.Linear(6, 6) for _ in range(4))


def loss_of(layers: nn.ModuleList, scale: float) -> Tensor:
    x = torch.full((2, 6), scale)
    for number, layer in enumerate(layers):
        x = x if number == 2 else layer(x).tanh()
    return x.sum()


def gradient_of(scale: float) -> Tensor:
    """Return the gradient of two passes as one vector."""
    layers = network()
    for factor in (1, 2):
        loss_of(layers, factor * scale).backward()
    rows = [torch.zeros_like(p) if p.grad is None else p.grad for p in layers.parameters()]
    return torch.cat([row.flatten() for row in rows])


def overlapped(scale: float, world: World) -> Tensor:
    """Return the sum of the gradients of two passes over all processes."""
    layers = network()
    total = OverlappedSum(list(layers.parameters()), world)
    loss_of(layers, scale).backward()
    with total.last_backward():
        loss_of(layers, 2 * scale).backward()
    found = total.total()
    assert all(parameter.grad is None for parameter in layers.parameters())
    return found


def test_buckets_hold_every_parameter_once_from_the_last_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(overlap, "BUCKET_BYTES", 100)
    parameters = list(network().parameters())  # 36 and 6 numbers in turn
    buckets = buckets_of(parameters)
    assert [list(bucket) for bucket in buckets] == [[6, 7], [4, 5], [2, 3], [0, 1]]
    assert [list(bucket) for bucket in buckets_of(parameters[:1])] == [[0]]


@pytest.mark.parametrize("size", [1, 100, 10**6])
def test_one_process_has_its_own_gradient(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "BUCKET_BYTES", size)
    assert torch.equal(overlapped(0.3, ALONE), gradient_of(0.3))


def test_a_bucket_is_sent_before_the_backward_pass_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "BUCKET_BYTES", 1)
    layers, sent = network(), []

    class Noting(Alone):
        def start_adding(self, values: Tensor) -> Pending:
            sent.append(layers[0].weight.grad is None)  # the first layer comes last
            return ALONE

    total = OverlappedSum(list(layers.parameters()), Noting())
    with total.last_backward():
        loss_of(layers, 1.0).backward()
    during = len(sent)
    total.total()
    assert during == 2 and sent[:during] == [True] * during  # the unused layer comes third
    assert len(sent) == len(list(layers.parameters()))


def test_processes_receive_the_sum_also_if_one_has_no_backward_pass(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(overlap, "BUCKET_BYTES", 100)

    def work(number: int) -> None:
        invitation = Invitation("", "fp32", 1, 60.0)
        with Meeting(Rank(number, 3)) as meeting:
            if number:
                world: World | None = meeting.join(invitation)
            else:
                world = meeting.invite(invitation, lambda done, total: None, lambda: False)
            assert world
            if number == 2:
                found = OverlappedSum(list(network().parameters()), world).total()
            else:
                found = overlapped(number + 1.0, world)
        assert torch.allclose(found, gradient_of(1.0) + gradient_of(2.0), atol=1e-6)

    errors = tmp_path / "errors"
    assert processes.run(3, work, errors) == [0] * 3, errors.read_text()

"""Windows: the slots that a query can attend to."""

from __future__ import annotations

import torch
from torch import Tensor

from models.attention.base import Window, WindowOutput
from models.attention.config import LocalConfig
from models.attention.softmax import History
from models.core.numerics import Linear


class Global(Window):
    """Global: a query can attend to every real slot.

    Source: Luong, Pham, Manning 2015, section 3.1.
    """

    def forward(self, query: Tensor, mask: Tensor, history: History | None) -> WindowOutput:
        """Return all slots that a query can see."""
        return WindowOutput(mask)


class Local(Window):
    """A window around a centre."""

    def __init__(self, query_size: int, config: LocalConfig) -> None:
        super().__init__(query_size, config)
        self.reach = config.window_size  # slots on either side of the centre


class LocalMonotonic(Local):
    """Local, monotonic (local-m): a window that moves one slot per step.

    slots within D of p_t = t
    Source: Luong, Pham, Manning 2015, section 3.2.
    Steps and slots are counted from 0. A target longer than its source stays at the last slot.
    """

    needs_history = True

    def forward(self, query: Tensor, mask: Tensor, history: History | None) -> WindowOutput:
        """Return the slots (B, T, S) around the step's own."""
        assert history is not None
        last = mask.sum(2) - 1  # (B, 1 or T)
        # a target longer than its source would otherwise leave the window empty
        return WindowOutput(near(torch.minimum(history.step, last), mask, self.reach))


class LocalPredictive(Local):
    """Local, predictive (local-p): a window around a position predicted from the query.

    p_t = S sigmoid(v^T tanh(W s));  weights_i times exp(-(i - p_t)^2 / (2 sigma^2)), sigma = D / 2
    Source: Luong, Pham, Manning 2015, section 3.2, eq. 9 and 10.
    S is the number of slots that the query can see: the length of a sentence without padding, in a
    decoder's self-attention the length of the prefix. The Gaussian is applied after the normaliser
    without normalising again, so the weights of a query sum to at most 1.
    """

    def __init__(self, query_size: int, config: LocalConfig) -> None:
        super().__init__(query_size, config)
        self.hidden = Linear(query_size, query_size, bias=False)  # W
        self.place = Linear(query_size, 1, bias=False)  # v

    def forward(self, query: Tensor, mask: Tensor, history: History | None) -> WindowOutput:
        """Return the slots (B, T, S) around the predicted position, and a Gaussian."""
        # in float32: bf16 has 8 bits, which cannot tell neighbouring slots of a long source apart
        share = self.place(self.hidden(query).tanh()).float().sigmoid().squeeze(-1)  # (B, T)
        centre = share * mask.sum(2)
        distance = torch.arange(mask.shape[2], device=mask.device) - centre.unsqueeze(-1)
        sigma = self.reach / 2
        return WindowOutput(
            near(centre, mask, self.reach), (distance / sigma).square().mul(-0.5).exp()
        )


class LocalMedian(Local):
    """Window around the median of the last weights, which moves on with them.

    slots within D of p_t = min {i : sum_{j <= i} weights_{t-1, j} >= 1/2};  p_0 = 0
    Source: Chorowski, Bahdanau, Serdyuk, Cho, Bengio 2015, section 2.3.
    The paper searches with windows alone; here they hold in training too, so that both agree.
    """

    needs_history = True
    sequential = True

    def forward(self, query: Tensor, mask: Tensor, history: History | None) -> WindowOutput:
        """Return the slots (B, T, S) around the median."""
        assert history is not None
        # relative to the sum, because weights need not sum to 1 (a null slot takes a part)
        before = history.previous.float().cumsum(-1) < 0.5 * history.previous.sum(-1, keepdim=True)
        # the weights before the first step are uniform, and their median is no position that was
        # read
        centre = before.sum(-1) * (history.step > 0)  # (B, T)
        return WindowOutput(near(centre, mask, self.reach))


def near(centre: Tensor, mask: Tensor, reach: int) -> Tensor:
    """Return the slots of a mask, (B, T, S), within reach of centres (B, T)."""
    slots = torch.arange(mask.shape[2], device=mask.device)
    return ((slots - centre.unsqueeze(-1)).abs() <= reach) & mask

"""A row of numbers has the same memory alone and in a batch."""

import torch

from models import build


def test_a_row_alone_has_the_memory_that_it_has_in_a_batch() -> None:
    model = build("numbers-nano", vocabulary=50).eval()
    rows = torch.randn(4, 3)  # (B, S)
    mask = torch.ones_like(rows, dtype=torch.bool)
    together, alone = model.encode(rows, mask), model.encode(rows[2:3], mask[2:3])
    torch.testing.assert_close(together.values[2:3], alone.values)

"""The loss of an alignment layer, and the weights that it is trained towards."""

from __future__ import annotations

import torch

from attncli.align.alignment_layer import cross_entropy
from attncli.data.alignments import with_end_mark
from models.text.tokenizer import END
from tests.models.small import pairs


def test_the_cross_entropy_of_two_linked_rows_by_hand() -> None:
    weights = torch.tensor([[[0.5, 0.25, 0.25], [0.1, 0.1, 0.8], [0.0, 1.0, 0.0]]])
    targets = torch.tensor([[[0.0, 0.5, 0.5], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    torch.testing.assert_close(cross_entropy(weights, targets), -torch.tensor(0.25).log())


def test_a_token_without_links_is_linked_to_the_end_mark() -> None:
    batch = pairs([4, 7, 2], [5, 3, 6])
    weights = torch.zeros(*batch.target_out.shape, batch.source.shape[1])
    weights[0, :, 2], weights[1, 0, 5], weights[2, 3, :2] = 1, 1, 0.5
    weights *= batch.target_mask[:, :, None]
    found = with_end_mark(weights, batch)
    free = batch.target_mask & (weights.sum(-1) == 0) & (batch.target_out != END)
    assert free.any()
    last = batch.source_mask.sum(1) - 1
    for row, step in free.nonzero().tolist():
        assert found[row, step].nonzero().flatten().tolist() == [int(last[row])]
    assert torch.equal(found[~free], weights[~free])
    assert not with_end_mark(torch.zeros_like(weights), batch).any()

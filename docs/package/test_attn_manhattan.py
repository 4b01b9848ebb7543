"""The score equals its formula, and is found by its name."""

import pytest
import torch

from models.attention.base import Attention
from models.core.attention_config import AttentionConfig


def test_manhattan_is_its_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare with the differences of every pair."""
    monkeypatch.setenv("ATTN_PACKAGES", "attn-manhattan")
    score = Attention(4, 4, AttentionConfig.of(score="manhattan")).score
    query, keys = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    expected = -(query[:, :, None] - keys[:, None]).abs().sum(-1)
    torch.testing.assert_close(score(query, score.prepare(keys)), expected)

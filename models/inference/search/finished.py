"""Finished hypotheses of a batch as tensors, and their conversion to lists at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from models.config import SearchConfig
from models.inference.search.hypotheses import Finished, length_penalty


class FinishedBatch(NamedTuple):
    """Finished hypotheses of B sentences, K each; an empty place has the length 0."""

    scores: Tensor  # (B, K) by which they are sorted; -inf at empty places
    log_probs: Tensor  # (B, K)
    lengths: Tensor  # (B, K) in tokens, end mark included
    truncated: Tensor  # (B, K)
    ids: Tensor  # (B, K, t) start mark first, without the end mark; the rest is padding

    @classmethod
    def empty(cls, sentences: int, width: int, device: torch.device) -> FinishedBatch:
        """Return `width` empty places for each sentence."""
        scores = torch.full((sentences, width), -torch.inf, device=device)
        lengths = torch.zeros_like(scores, dtype=torch.long)
        return cls(scores, scores, lengths, lengths.bool(), lengths[:, :, None][..., :0])

    def with_others(self, others: FinishedBatch) -> FinishedBatch:
        """Return the best K of these and of others, whose ids are longer; best first."""
        longer = others.ids.shape[2] - self.ids.shape[2]
        padded = self._replace(ids=torch.nn.functional.pad(self.ids, (0, longer)))
        both = FinishedBatch(*(torch.cat(pair, 1) for pair in zip(padded, others, strict=True)))
        order = both.scores.sort(dim=1, descending=True, stable=True).indices
        order = order[:, : self.scores.shape[1]]
        ids = both.ids.gather(1, order[:, :, None].expand(-1, -1, both.ids.shape[2]))
        scores, log_probs, lengths, truncated = (part.gather(1, order) for part in both[:4])
        return FinishedBatch(scores, log_probs, lengths, truncated, ids)


Outputs = tuple[list[int], FinishedBatch]  # numbers of sentences, and their hypotheses


def in_order(parts: Sequence[Outputs], config: SearchConfig) -> list[list[Finished]]:
    """Return the best `config.nbest` hypotheses of sentences 0, 1, ..., best first.

    parts: of all sentences; they stay on the device until now.
    """
    found = {}
    for sentences, finished in parts:
        lists = (part.tolist() for part in finished[1:])
        for sentence, *hypotheses in zip(sentences, *lists, strict=True):
            each = [
                Finished(
                    ids=tuple(ids[1:length]),
                    log_prob=log_prob,
                    score=log_prob / length_penalty(length, config),
                    truncated=truncated,
                )
                for log_prob, length, truncated, ids in zip(*hypotheses, strict=True)
                if length
            ]
            found[sentence] = sorted(each, key=lambda one: -one.score)[: config.nbest]
    return [found[number] for number in range(len(found))]

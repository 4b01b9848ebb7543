"""Search without repeated n-grams of tokens, and a penalty on tokens that an output has already.

no_repeat n             a token that would complete an n-gram of the output again has probability 0
                                                                        Paulus et al. 2018, 2.5
repetition_penalty p    the logit z of a token of the output is z / p if it is positive, else z p
                                                                        Keskar et al. 2019, eq. 2

The probabilities of all tokens then sum to 1 again. CTranslate2 computes the same.
"""

from __future__ import annotations

import torch
from torch import Tensor

from models.config import SearchConfig
from models.inference.search.backend import Step
from models.text.tokenizer import END


def log_probs_of(step: Step, ids: Tensor, config: SearchConfig) -> Tensor:
    """Return the log-probabilities (R, Y) of the next token after ids (R, t), start mark first.

    The models of an ensemble have no common logits; the penalty applies to their log-probabilities.
    """
    before, size = ids[:, 1:], config.no_repeat
    if (not size and config.repetition_penalty == 1) or not before.shape[1]:
        return step.log_probs
    logits: Tensor | None = getattr(step, "logits", None)
    scores = step.log_probs if logits is None else logits
    if config.repetition_penalty != 1:
        own, penalty = scores.gather(1, before), config.repetition_penalty
        scores = scores.scatter(1, before, torch.where(own < 0, own * penalty, own / penalty))
    if 0 < size <= before.shape[1]:
        ngrams = before.unfold(1, size, 1)  # (R, N, n)
        begun = before[:, before.shape[1] - size + 1 :]  # (R, n - 1)
        repeats = (ngrams[..., :-1] == begun[:, None]).all(-1)  # (R, N)
        counts = torch.zeros_like(scores).scatter_add_(1, ngrams[..., -1], repeats.to(scores.dtype))
        counts[:, END] = 0
        scores = scores.masked_fill(counts > 0, -torch.inf)
    return scores.log_softmax(1)

"""Hypotheses of a search, and what a search asks of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from models.core.errors import ConfigurationError, InputError
from models.core.limits import OUTPUT_TOKENS
from models.core.settings import check_limits, merged
from models.core.use_config import SearchConfig

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class Finished(NamedTuple):
    """One finished hypothesis."""

    ids: tuple[int, ...]  # without the end mark
    log_prob: float  # natural logarithm, end mark included
    score: float
    truncated: bool = False  # the length limit ended it where the model preferred another token
    free: float | None = None  # mean log_prob of a token of the output without the phrases

    @property
    def mean(self) -> float:
        """Mean log-probability of a token, end mark included."""
        return self.log_prob / (len(self.ids) + 1)

    @classmethod
    def scored(
        cls, ids: Sequence[int], log_prob: float, config: SearchConfig, truncated: bool = False
    ) -> Finished:
        """Return a hypothesis with its score. ids: without the end mark."""
        score = log_prob / length_penalty(len(ids) + 1, config)
        return cls(tuple(ids), log_prob, score, truncated)


def length_penalty(length: int, config: SearchConfig) -> float:
    """Return lp of an output of `length` tokens, end mark included. Wu et al. 2016, eq. 14."""
    base = length if config.length_penalty_form == "power" else (5 + length) / 6
    return float(base**config.length_penalty)


def length_limit(source: int, config: SearchConfig) -> int:
    """Return the greatest output length for a source length; both in tokens, end marks included."""
    # min() before int(), which refuses the infinite product of a very large ratio
    most = int(min(source * config.max_ratio, OUTPUT_TOKENS)) + config.max_extra
    return min(most, OUTPUT_TOKENS)


def check_search(config: SearchConfig) -> None:
    """Raise ConfigurationError for settings outside their limits, and for a list that is too long.

    Greedy search has one output, and reranking chooses among as many as the beam.
    """
    check_limits(config, where="search")
    found = 1 if config.method == "greedy" else config.beam
    if config.rerank and found < max(config.nbest, 2):
        raise ConfigurationError(
            f"search.rerank={config.rerank} among {found}",
            "beam search or sampling, and search.beam of 2 or more, at least search.nbest",
        )
    if config.method == "greedy" and config.nbest > 1:
        raise ConfigurationError(
            f"search.nbest = {config.nbest} with greedy search", "1", "use beam search or sampling"
        )


def changed_search(saved: SearchConfig, given: Mapping[str, object]) -> SearchConfig:
    """Return saved settings with those that a user gives; a beam asks for beam search."""
    asked = {"method": "beam"} if "beam" in given else {}
    return merged(saved, {**asked, **given}, where="search")


def beam_width(config: SearchConfig) -> int:
    """Return the number of hypotheses that beam or greedy search keeps at each step."""
    return 1 if config.method == "greedy" else max(config.beam, config.nbest)


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
        import torch

        scores = torch.full((sentences, width), -torch.inf, device=device)
        lengths = torch.zeros_like(scores, dtype=torch.long)
        return cls(scores, scores, lengths, lengths.bool(), lengths[:, :, None][..., :0])

    def with_others(self, others: FinishedBatch) -> FinishedBatch:
        """Return the best K of these and of others, whose ids are longer; best first."""
        import torch

        longer = others.ids.shape[2] - self.ids.shape[2]
        padded = self._replace(ids=torch.nn.functional.pad(self.ids, (0, longer)))
        both = FinishedBatch(*(torch.cat(pair, 1) for pair in zip(padded, others, strict=True)))
        # stable: of equal scores, the hypothesis that ended first stays first on every device
        order = both.scores.sort(dim=1, descending=True, stable=True).indices
        order = order[:, : self.scores.shape[1]]
        ids = both.ids.gather(1, order[:, :, None].expand(-1, -1, both.ids.shape[2]))
        scores, log_probs, lengths, truncated = (part.gather(1, order) for part in both[:4])
        return FinishedBatch(scores, log_probs, lengths, truncated, ids)


Outputs = tuple[list[int], FinishedBatch]  # numbers of sentences, and their hypotheses


def in_order(parts: Sequence[Outputs], config: SearchConfig) -> list[list[Finished]]:
    """Return the best `config.nbest` hypotheses of sentences 0, 1, ..., best first.

    The first sample stays the first, so that asking for more never changes it. parts: of all
    sentences; they stay on the device until now. Raises InputError where there is no hypothesis.
    """
    found, given = {}, int(config.method == "sample")
    for sentences, finished in parts:
        lists = (part.tolist() for part in finished[1:])
        for sentence, *hypotheses in zip(sentences, *lists, strict=True):
            each = [
                Finished.scored(ids[1:length], log_prob, config, truncated)
                for log_prob, length, truncated, ids in zip(*hypotheses, strict=True)
                if length
            ]
            if not each:
                raise InputError(
                    "the numbers of the model are not finite", "other input or weights"
                )
            others = sorted(each[given:], key=lambda one: -one.score)
            found[sentence] = [*each[:given], *others][: config.nbest]
    return [found[number] for number in range(len(found))]


class Step(Protocol):
    """Result of a decoding step."""

    @property
    def log_probs(self) -> Tensor:
        """Log-probabilities (R, Y) of the next token; they may be changed in place."""

    @property
    def state(self) -> Any:
        """State of R rows; see `models.core.types.select`."""


class CombinedStep(NamedTuple):
    """Result of a decoding step of several models, or of a steered one."""

    log_probs: Tensor  # (R, Y)
    state: Any


class Backend(Protocol):
    """Model as search uses it: start once with a memory, then one step per output token.

    `EncoderDecoder` is the usual backend, `EnsembleBackend` averages the probabilities of several.
    """

    def start(self, memory: Any) -> tuple[Any, Any]:
        """Return the prepared memory of B sentences, and the state of B rows before any token.

        memory: encoded sources with a `mask` (B, S): a `Memory`, or `Memories` of several models.
        """

    def step(self, tokens: Tensor, state: Any, prepared: Any) -> Step:
        """Return log-probabilities and state after one more token per row, (R,).

        R is B times the number of hypotheses per sentence; rows of one sentence are adjacent.
        """

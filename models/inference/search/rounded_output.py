"""Search with an output layer in bf16, whose best candidates are computed again in fp32.

    logits in bf16 -> a few more candidates than needed -> their logits in fp32 -> the best of them

The order of the candidates and their logits are then those of fp32. The normaliser contains the
rounding errors of the other tokens, so scores differ from those of fp32 by less than TOLERANCE. A
candidate can be lost only if rounding moves it behind all spare ones.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from models.base.errors import ConfigurationError
from models.base.types import DecodingStep, Memory
from models.config.tables import SearchConfig
from models.families.encoder_decoder import EncoderDecoder, Output
from models.inference.search.top_tokens import TopTokens
from models.numerics.packed import PackedMap
from models.numerics.products import has_onednn

if TYPE_CHECKING:
    from models.base.types import ExactOf

SPARE = 6  # candidates of each sentence that are computed in fp32 besides those needed
TOLERANCE = 2e-2  # difference of a score from that in fp32; 2e-3 with trained models
ROWS, REPEATS = 320, 5  # hypotheses and rounds of a measurement


@dataclass(frozen=True)
class ExactLogits:
    """Logits in fp32 of some tokens after a step of R hypotheses."""

    features: Tensor  # (R, D)
    output: Output

    def __call__(self, rows: Tensor, tokens: Tensor) -> Tensor:
        """Return the logits (B, n) of tokens (B, n) after hypotheses `rows` (B, n)."""
        products = self.features[rows] * self.output.weight[tokens]  # (B, n, D)
        return products.sum(-1) + self.output.bias[tokens]


class RoundedBackend:
    """Model on a processor with an output layer in bf16, packed once."""

    def __init__(self, model: EncoderDecoder) -> None:
        self.model = model
        weight, bias = (
            part.detach().bfloat16() for part in (model.output.weight, model.output.bias)
        )
        self.packed, self.bias = torch.ops.mkldnn._reorder_linear_weight(weight), bias

    def encode(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of sources (B, S) with mask (B, S)."""
        return self.model.encode(source, mask)

    def start(self, memory: Memory) -> tuple[Any, Any]:
        """Return the prepared memory and the state before the first token."""
        return self.model.start(memory)

    def step(self, tokens: Tensor, state: Any, prepared: Any) -> DecodingStep:
        """Read one token per row, (R,); return the rounded logits of the next token."""
        advanced = self.model.decoder.advance(tokens[:, None], state, prepared)
        features = advanced.features[:, 0]
        exact = ExactLogits(features, self.model.output)
        return DecodingStep(self.logits(features), advanced.state, exact=exact)

    def logits(self, features: Tensor) -> Tensor:
        """Return the logits (R, Y) of features (R, D), computed in bf16."""
        logits: Tensor = torch.ops.mkldnn._linear_pointwise(
            features.bfloat16(), self.packed, self.bias, "none", [], ""
        )
        return logits.float()


def exact_best(
    best: TopTokens, log_probs: Tensor, log_total: Tensor, exact_logits: ExactOf, count: int
) -> TopTokens:
    """Return the best `count` continuations of each sentence by their logits in fp32.

    best: more of them, by rounded logits. log_probs, log_total (B, K): of the hypotheses.
    """
    rows, tokens = best.rows, best.tokens
    first = torch.arange(len(rows), device=rows.device)[:, None] * log_probs.shape[1]
    exact = exact_logits(first + rows, tokens)
    before, total = log_probs.gather(1, rows), log_total.gather(1, rows)
    more = (exact - total).exp() - (best.log_probs - before).exp()
    possible = best.log_probs > -torch.inf
    more = more.masked_fill(~possible, 0)
    corrected = log_total + torch.zeros_like(log_total).scatter_add(1, rows, more).log1p()
    sums = (before + exact - corrected.gather(1, rows)).masked_fill(~possible, -torch.inf)
    found, order = sums.topk(count)
    return TopTokens(found, rows.gather(1, order), tokens.gather(1, order))


def check_search(config: SearchConfig) -> None:
    """Raise ConfigurationError for a search that an output layer in bf16 does not support."""
    if config.shortlist or config.method == "sample":
        raise ConfigurationError(
            "an output layer in bf16 with samples or a shortlist",
            "beam search over the whole vocabulary",
            "leave out --precision bf16",
        )


def has_fast_bf16() -> bool:
    """Return True if this processor computes products of bf16 by oneDNN."""
    return has_onednn() and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


@torch.inference_mode()
def bf16_gain(model: EncoderDecoder) -> float:
    """Measure the speed of an output layer in bf16 relative to fp32, here and now."""
    output, backend = model.output, RoundedBackend(model)
    features = torch.randn(ROWS, output.weight.shape[1], generator=torch.Generator().manual_seed(1))
    exact, gains = PackedMap(output.weight, output.bias), []
    for _ in range(1 + REPEATS):  # the first compiles kernels
        started = time.perf_counter()
        exact(features)
        middle = time.perf_counter()
        backend.logits(features)
        gains.append((middle - started) / (time.perf_counter() - middle))
    return statistics.median(gains[1:])

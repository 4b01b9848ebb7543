"""Scores F(query, key): one class each, with its equation and source."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, softplus

from models.attention.base import Score
from models.attention.config import AdditiveConfig, LayerConfig
from models.attention.softmax import History
from models.core.attention_config import AttentionConfig
from models.core.errors import InputError
from models.core.numerics import Linear, additive_energy, feed_forward_energy

FIRST_SHARPNESS = 8.0  # weights of 20 slots can reach 0.99; none is below 1e-8
TYPICAL_LENGTH = 40  # L of the paper: the length that 97.5 % of the sentences do not exceed
FIRST_SCALE = math.log2(TYPICAL_LENGTH**2 - TYPICAL_LENGTH)  # g_0, eq. 4
POSITIONS = 512  # longest source in slots
FILTERS = 10  # of the convolution
WIDTH = 15  # of a filter, in slots


class Dot(Score):
    """Dot: the plain product of query and key.

    score(s, h) = s^T h
    Source: Luong, Pham, Manning 2015, section 3.1.
    Query and key must have equal sizes; use `general` where they differ. The two directions of a
    bidirectional encoder therefore have half of model.hidden each with this score.
    """

    needs_equal_sizes = is_product = True

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S)."""
        return query @ keys.mT


class ScaledDot(Dot):
    """Scaled dot: the product over the root of the key's size n.

    score(s, h) = s^T h / sqrt(n)
    Source: Vaswani et al. 2017, eq. 1.
    """

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S)."""
        return super().forward(query * keys.shape[-1] ** -0.5, keys)


class General(Score):
    """General: a learned matrix between query and key.

    score(s, h) = s^T W h
    Source: Luong, Pham, Manning 2015, section 3.1.
    W h is computed once per source.
    """

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, key_size, config)
        self.key = Linear(key_size, query_size, bias=False)  # W

    def prepare(self, values: Tensor) -> Tensor:
        """Compute W h of every slot (B, S, Q)."""
        return self.key(values)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S)."""
        return query @ keys.mT


class Cosine(Score):
    """Cosine (content-based): the angle between query and key, times a learned sharpness.

    score(s, h) = beta cos(k, h);  beta = softplus(b^T s + c)
    Source: Graves, Wayne, Danihelka 2014, eq. 5 and 6.
    k is s itself, or W s where query and key differ in size. Without the sharpness beta,
    scores are between -1 and 1, and a softmax over them is almost uniform.
    """

    is_product = True

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, key_size, config)
        same = query_size == key_size
        self.query = nn.Identity() if same else Linear(query_size, key_size, bias=False)  # W
        # without it, scores lie between -1 and 1, and their softmax is almost uniform
        self.sharpness = Linear(query_size, 1)  # b, c
        # small, so that the first sharpness is FIRST_SHARPNESS for every query
        nn.init.normal_(self.sharpness.weight, std=0.1 * query_size**-0.5)
        nn.init.constant_(self.sharpness.bias, math.log(math.expm1(FIRST_SHARPNESS)))

    def prepare(self, values: Tensor) -> Tensor:
        """Normalise every slot to length 1: (B, S, K)."""
        return normalize(values, dim=-1)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S)."""
        angles = normalize(self.query(query), dim=-1) @ keys.to(query.dtype).mT
        return angles * softplus(self.sharpness(query))


class QkNorm(Dot):
    """QK norm: normalised query and key, so that no product can saturate the softmax.

    score(s, h) = g (s / |s|)^T (h / |h|);  g is learned, one number for each head
    Source: Henry, Dachapally, Pawar, Chen 2020, eq. 3 and 4.
    Query and key must have equal sizes. Without g, scores would be between -1 and 1, and a softmax
    over them almost uniform; g begins at log2(L^2 - L) for sentences of L = 40 tokens.
    """

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, key_size, config)
        self.scale = nn.Parameter(torch.tensor(FIRST_SCALE))

    def prepare(self, values: Tensor) -> Tensor:
        """Normalise every slot to length 1: (B, S, K)."""
        return normalize(values, dim=-1)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S)."""
        return super().forward(self.scale * normalize(query, dim=-1), keys.to(query.dtype))


class Additive(Score):
    """Additive (Bahdanau): a hidden layer over query and key.

    score(s, h) = v^T tanh(W s + U h)
    Source: Bahdanau, Cho, Bengio 2015, A.1.2.
    U h is computed once per source.
    """

    def __init__(self, query_size: int, key_size: int, config: AdditiveConfig) -> None:
        super().__init__(query_size, key_size, config)
        size = config.size or query_size
        self.query = Linear(query_size, size, bias=False)  # W
        self.key = Linear(key_size, size)  # U
        self.energy = _uniform(size)  # v
        self.needs_history = config.coverage
        self.sequential = self.sequential or config.coverage
        # v^T tanh(W s + U h + C c) with coverage c, the sum of the slot's weights so far: Tu et al.
        # 2016, section 3, with a fertility of 1
        self.coverage = _uniform(size, 1) if config.coverage else None  # C

    def prepare(self, values: Tensor) -> Tensor:
        """Compute U h of every slot (B, S, A)."""
        return self.key(values)

    def forward(self, query: Tensor, keys: Tensor, history: History | None = None) -> Tensor:
        """Compute scores (B, T, S)."""
        if history is None or self.coverage is None:
            return additive_energy(self.query(query), keys, self.energy)
        total = history.total.unsqueeze(-1)  # (B, T, S, 1)
        return additive_energy(self.query(query), keys, self.energy, total, self.coverage)


def _uniform(*shape: int) -> nn.Parameter:
    bound = shape[0] ** -0.5
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound))


class Concat(Additive):
    """Concat (Luong): a hidden layer over query and key, side by side.

    score(s, h) = v^T tanh(W [s; h])
    Source: Luong, Pham, Manning 2015, section 3.1.
    W [s; h] = W_s s + W_h h, so that W_h h is computed once per source; there is no bias.
    """

    def __init__(self, query_size: int, key_size: int, config: AdditiveConfig) -> None:
        super().__init__(query_size, key_size, config)
        # the paper's W has no bias
        self.key = Linear(key_size, self.key.out_features, bias=False)


class FeedForwardScore(Score):
    """Feed-forward (general form): a network of two hidden layers over query and key.

    score(s, h) = v^T tanh(W_2 tanh(W_1 [s; h] + b_1) + b_2)
    Source: Bahdanau, Cho, Bengio 2015, section 3.1.
    With one hidden layer it is `concat` with a bias. W_1 is split over query and key, so that its
    key half is computed once per source; the second layer costs T * S products.
    """

    def __init__(self, query_size: int, key_size: int, config: LayerConfig) -> None:
        super().__init__(query_size, key_size, config)
        size = config.size or query_size
        self.query = Linear(query_size, size, bias=False)  # W_1, left half
        self.key = Linear(key_size, size)  # W_1, right half, and b_1
        self.layers = nn.ModuleList([Linear(size, size)])  # W_2, b_2
        self.energy = Linear(size, 1, bias=False)  # v

    def prepare(self, values: Tensor) -> Tensor:
        """Compute the keys' part of the first layer (B, S, A)."""
        return self.key(values)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S)."""
        weight, bias = self.layers.parameters()
        energy = self.energy.weight.squeeze(0)
        return feed_forward_energy(self.query(query), keys, energy, weight, bias)


class Location(Score):
    """Location (Luong): one logit per position, independent of the slot's content.

    score(s, h_i) = (W s)_i
    Source: Luong, Pham, Manning 2015, eq. 8.
    It does not use the keys. W has one row for each of 512 positions; a longer source raises
    InputError.
    """

    uses_keys = False

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, key_size, config)
        self.max_slots = POSITIONS
        self.logits = Linear(query_size, self.max_slots, bias=False)  # W

    def prepare(self, values: Tensor) -> Tensor:
        """Return keys without features (B, S, 0), which only carry the number of slots."""
        if values.shape[1] > self.logits.out_features:
            raise InputError(
                f"a source of {values.shape[1]} slots",
                f"at most {self.logits.out_features}, the positions of score 'location'",
                "shorten it",
            )
        # keys without features still have the axis of slots, from which the length is read
        return values[..., :0]

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S)."""
        return nn.functional.linear(query, self.logits.weight[: keys.shape[1]])


class LocationAware(Additive):
    """Location-aware (Chorowski): additive, with the previous weights convolved.

    score(s, h_i) = v^T tanh(W s + U h_i + M f_i + b);  f = F * weights_{t-1}
    Source: Chorowski, Bahdanau, Serdyuk, Cho, Bengio 2015.
    The previous weights are part of the decoder's state; before the first step they are uniform.
    """

    sequential = True

    def __init__(self, query_size: int, key_size: int, config: AdditiveConfig) -> None:
        super().__init__(query_size, key_size, config)
        self.needs_history = True
        self.convolution = nn.Conv1d(1, FILTERS, WIDTH, padding=WIDTH // 2, bias=False)  # F
        self.feature = Linear(FILTERS, self.energy.shape[0], bias=False)  # M

    def forward(self, query: Tensor, keys: Tensor, history: History | None = None) -> Tensor:
        """Compute scores (B, T, S)."""
        assert history is not None
        features = self.convolved(history.previous)
        matrix = self.feature.weight
        if self.coverage is not None:
            # one product for both features, because the tensor of all pairs is the largest one
            features = torch.cat([features, history.total.unsqueeze(-1)], -1)
            matrix = torch.cat([matrix, self.coverage], 1)
        return additive_energy(self.query(query), keys, self.energy, features, matrix)

    def convolved(self, weights: Tensor) -> Tensor:
        """Compute features (B, T, S, F) by convolving weights (B, T, S)."""
        signals = self.convolution(weights.flatten(0, 1).unsqueeze(1))  # (B * T, F, S)
        return signals.mT.unflatten(0, weights.shape[:2])

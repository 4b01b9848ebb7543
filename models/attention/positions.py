"""Positions of the tokens of a Transformer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.attention.layers import positions
from models.core.config import BlocksConfig
from models.core.errors import ConfigurationError
from models.core.numerics import normal_weights
from models.core.registry import find

REACH = 16  # k of the paper: farther distances share a vector
BASE = 10_000.0


class Position(nn.Module):
    """None: no positions. A decoder still sees the order, because each step sees one slot more.

    x_t = E y_t
    Source: Haviv, Ram, Press, Izsak, Levy 2022.
    """

    in_attention = False  # True: every self-attention has one; False: encoder and decoder have one
    turns = False  # True if it rotates queries and keys, whose product must then be the score

    def __init__(self, config: BlocksConfig) -> None:
        super().__init__()

    def added(self, x: Tensor, start: int) -> Tensor:
        """Return embeddings (R, T, D) of positions from `start`, with their positions."""
        return x

    def turned(self, x: Tensor, start: int) -> Tensor:
        """Return queries or keys (B, H, T, d) of positions from `start`."""
        return x

    def bias(self, query: Tensor, start: int, slots: int) -> Tensor | None:
        """Return an addition (B or 1, H, T, S) to the scores of queries (B, H, T, d); None: no."""
        return None


def position(config: BlocksConfig, *, in_attention: bool) -> Position:
    """Build the configured position for a place; one without effect if it belongs elsewhere."""
    kind: type[Position] = find("position", config.position)
    return kind(config) if kind.in_attention is in_attention else Position(config)


class Sinusoidal(Position):
    """Sinusoidal: sines and cosines of the position, added to the embedding.

    x_t = E y_t + [sin(t / 10000^(i / (D/2 - 1))); cos(..)]
    Source: Vaswani et al. 2017, section 3.5, with the rates of tensor2tensor.
    The first token has the position model.position_offset.
    """

    as_printed = False

    def __init__(self, config: BlocksConfig) -> None:
        super().__init__(config)
        self.offset = config.position_offset

    def added(self, x: Tensor, start: int) -> Tensor:
        """Return embeddings (R, T, D) of positions from `start`, with their positions."""
        code = positions(
            start + self.offset, x.shape[1], x.shape[2], x.device, as_printed=self.as_printed
        )
        return x + code


class Sinusoidal2017(Sinusoidal):
    """Sinusoidal with the rates that the paper prints, as Marian computes them.

    x_t = E y_t + [sin(t / 10000^(2i / D)); cos(..)]
    Source: Vaswani et al. 2017, section 3.5.
    """

    as_printed = True


class Learned(Position):
    """Learned: a vector for each position, added to the embedding.

    x_t = E y_t + P_min(t, N - 1)
    Source: Gehring, Auli, Grangier, Yarats, Dauphin 2017, section 3.1.
    N is model.max_source. Later positions share the last vector, which training rarely sees.
    """

    def __init__(self, config: BlocksConfig) -> None:
        super().__init__(config)
        size = config.embedding
        self.embedding = normal_weights(config.max_source, size, deviation=size**-0.5)  # P

    def added(self, x: Tensor, start: int) -> Tensor:
        """Return embeddings (R, T, D) of positions from `start`, with their positions."""
        places = torch.arange(start, start + x.shape[1], device=x.device)
        # an output can be longer than the longest source of the table
        return x + self.embedding[places.clamp_max(len(self.embedding) - 1)]


class Relative(Position):
    """Relative (Shaw): the score adds the query's product with a vector of the distance.

    score'(q_t, k_i) = score(q_t, k_i) + q_t^T a_(i - t) / sqrt(d);  |i - t| clipped at 16
    Source: Shaw, Uszkoreit, Vaswani 2018, eq. 4 and 5.
    Each layer has its vectors, which its heads share. The vectors of the values, eq. 3, are left
    out: the paper's table 3 finds no gain from them.
    """

    in_attention = True

    def __init__(self, config: BlocksConfig) -> None:
        super().__init__(config)
        size = config.embedding // config.heads
        self.embedding = normal_weights(2 * REACH + 1, size, deviation=size**-0.5)  # a

    def bias(self, query: Tensor, start: int, slots: int) -> Tensor:
        """Return an addition (B, H, T, S) to the scores of queries (B, H, T, d)."""
        steps = torch.arange(start, start + query.shape[2], device=query.device)
        distance = torch.arange(slots, device=query.device) - steps[:, None]  # (T, S)
        rows = distance.clamp(-REACH, REACH) + REACH
        each = query @ self.embedding.T * query.shape[-1] ** -0.5  # (B, H, T, 2 * REACH + 1)
        return each.gather(-1, rows.expand(*query.shape[:2], *rows.shape))


class Rotary(Position):
    """Rotary (RoPE): rotates queries and keys, so that a product depends on the distance.

    (R_t q)^T (R_i k) = q^T R_(i - t) k;  R_t turns features j and j + d/2 by t 10000^(-2j / d)
    Source: Su, Lu, Pan, Murtadha, Wen, Liu 2021, eq. 34; features are paired as in GPT-NeoX.
    The score must be a product of query and key: dot, scaled_dot, cosine or qk_norm.
    """

    in_attention = True
    turns = True

    def __init__(self, config: BlocksConfig) -> None:
        super().__init__(config)
        size = config.embedding // config.heads
        if size % 2:
            raise ConfigurationError(
                f"model.position=rotary with heads of {size} features", "an even number of features"
            )

    def turned(self, x: Tensor, start: int) -> Tensor:
        """Return queries or keys (B, H, T, d) of positions from `start`."""
        half = x.shape[-1] // 2
        rates = BASE ** (-torch.arange(half, device=x.device) / half)
        angles = torch.arange(start, start + x.shape[2], device=x.device)[:, None] * rates
        cosines, sines = angles.cos().to(x.dtype), angles.sin().to(x.dtype)  # (T, d / 2)
        first, second = x.chunk(2, -1)
        parts = (first * cosines - second * sines, second * cosines + first * sines)
        return torch.cat(parts, -1)


class Alibi(Position):
    """ALiBi: the score falls with the distance, at a fixed rate for each head.

    score'(q_t, k_i) = score(q_t, k_i) - m_h |t - i|;  m_h = 2^(-8 h / H),  h = 1 .. H
    Source: Press, Smith, Lewis 2022, section 3.
    An encoder uses the distance in both directions.
    """

    in_attention = True

    def bias(self, query: Tensor, start: int, slots: int) -> Tensor:
        """Return an addition (1, H, T, S) to the scores of queries (B, H, T, d)."""
        heads, device = query.shape[1], query.device
        rates = 2.0 ** (-8 * torch.arange(1, heads + 1, device=device) / heads)  # m
        steps = torch.arange(start, start + query.shape[2], device=device)
        distance = (torch.arange(slots, device=device) - steps[:, None]).abs()  # (T, S)
        return (-rates[:, None, None] * distance)[None]

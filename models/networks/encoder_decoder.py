"""Encoder-decoder: the encoder computes a memory; the decoder predicts tokens from it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from models.attention.base import Attention, is_monotonic
from models.attention.layers import ACTIVATIONS, Embedding, normalisation
from models.attention.reads import Hard, described, input_key
from models.core.config import NO_COPY, BlocksConfig, CopyConfig, ModelConfig
from models.core.errors import ConfigurationError
from models.core.numerics import Linear, linear, normal_weights
from models.core.registry import find
from models.core.types import Batch, DecodingStep, Memory, select
from models.networks.decoder import Decoder, DecoderOutput, Wanted
from models.networks.readers import CopyReader, TokenReader, WithReader
from models.text.tokenizer import START


class Output(nn.Module):
    """Features to logits: one matrix, which is that of a tied embedding if the sizes are equal.

    transform: settings of a Transformer with f(x W + b), normalised, before the matrix (Devlin et
    al. 2019).
    """

    def __init__(
        self,
        vocabulary: int,
        size: int,
        tied_to: Embedding | None,
        transform: BlocksConfig | None = None,
    ) -> None:
        super().__init__()
        own = normal_weights(vocabulary, size, deviation=size**-0.5)
        is_tied = tied_to is not None and tied_to.weight.shape == own.shape
        self.weight = tied_to.weight if tied_to is not None and is_tied else own
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.transform: Linear | None = None
        if transform:
            self.transform, self.norm = Linear(size, size), normalisation(transform)
            self.activation = ACTIVATIONS[transform.activation]

    def forward(self, features: Tensor) -> Tensor:
        """Compute logits (..., Y) of features (..., D)."""
        if self.transform is not None:
            features = self.norm(self.activation(self.transform(features)))
        return linear(features, self.weight, self.bias)


class EncoderDecoder(nn.Module):
    """A model of any family: `encode`, `start`, `step` for search; `teacher_force` for training."""

    def __init__(
        self, config: ModelConfig, encoder: nn.Module, decoder: Decoder[Any, Any], output: Output
    ) -> None:
        super().__init__()
        self.config: Any = config  # the Config of the family
        self.encoder = encoder
        self.decoder = decoder
        self.output = output
        self.copies = isinstance(config, CopyConfig) and config.copy != NO_COPY
        self.reader: CopyReader | None = None  # reads tokens that can be copied, after each step
        size = output.weight.shape[1]
        if getattr(encoder, "labels", None) is not None:
            self.reader = TokenReader(size)
        elif self.copies and isinstance(config, CopyConfig):
            values = getattr(encoder, "value_size", config.embedding)
            self.reader = find("copy", config.copy)(size, values)

    def encode(self, source: Tensor, mask: Tensor, images: Tensor | None = None) -> Memory:
        """Return the memory of source ids (B, S), features (B, S, V) or images, mask (B, S).

        images: those of rows of texts and an image, as features or pixels.
        """
        given = () if images is None else (images,)
        memory: Memory = self.encoder(source, mask, *given)
        if self.copies:
            memory = memory._replace(ids=source)
        # only such a model reads the key, and its computation reads the whole source
        if self.read_mode != "hard sample" or self.training:
            return memory
        return memory._replace(key=input_key(source, mask))

    def encode_batch(self, batch: Batch) -> Memory:
        """Return the memory of every target of a batch; encode a shared source once."""
        memory = self.encode(batch.source, batch.source_mask, batch.images)
        return memory if batch.rows is None else select(memory, batch.rows)

    def start(self, memory: Memory) -> tuple[Any, Any]:
        """Return the prepared memory and the decoder's state before the first token."""
        prepared = self.decoder.prepare(memory)
        state = self.decoder.start(prepared)
        if self.reader is None:
            return prepared, state
        tokens = self.reader.prepare(memory, self.output.weight)
        return WithReader(prepared, tokens), WithReader(state, self.reader.start(tokens))

    def step(
        self, tokens: Tensor, state: Any, prepared: Any, *, want_weights: bool = False
    ) -> DecodingStep:
        """Read one token per row, (R,); return the logits of the next token and the new state."""
        advanced = self._advance(tokens[:, None], state, prepared, Wanted(want_weights))
        logits = self.output(advanced.features[:, 0]).float()  # (R, Y)
        if advanced.copying is not None:
            logits = advanced.copying.mixed(logits[:, None])[:, 0]
        first = getattr(prepared, "first", None)
        if first is not None:
            # here and not in the search, so that every search and every engine begins with it
            logits = forced(logits, tokens, first)
        weights = None if advanced.weights is None else advanced.weights[:, 0]
        return DecodingStep(logits, advanced.state, weights)

    def _advance(self, tokens: Tensor, state: Any, prepared: Any, wanted: Wanted) -> DecoderOutput:
        """Advance the decoder by tokens (R, T); read the token memory if there is one."""
        reader = self.reader
        if reader is None:
            return self.decoder.advance(tokens, state, prepared, wanted)
        reads = wanted._replace(weights=wanted.weights or reader.needs_weights)
        advanced = self.decoder.advance(tokens, state.decoder, prepared.decoder, reads)
        features, copying, read = reader(
            advanced, tokens, state.reader, prepared.reader, self.output.weight
        )
        return advanced._replace(
            features=features,
            weights=advanced.weights if wanted.weights else None,
            state=WithReader(advanced.state, read),
            copying=copying,
        )

    def log_probs(self, forced: DecoderOutput) -> Tensor:
        """Return the log-probabilities (B, T, Y) of all tokens after teacher forcing."""
        logits = self.output(forced.features).float()
        return logits.log_softmax(-1) if forced.copying is None else forced.copying.mixed(logits)

    def target_log_probs(
        self, batch: Batch, memory: Memory | None = None, forced: DecoderOutput | None = None
    ) -> Tensor:
        """Return the log-probabilities (B, T) of the targets of a batch; see `teacher_force`.

        forced: its output, if it is already computed.
        """
        log_probs = self.log_probs(forced or self.teacher_force(batch, memory=memory))  # (B, T, Y)
        return log_probs.gather(-1, batch.target_out[..., None]).squeeze(-1)

    def forward(self, batch: Batch) -> Tensor:
        """Return the log-probabilities (B, T, Y) of all tokens at each target position of a batch.

        For training loops of one's own: `torch.compile`, `DistributedDataParallel` and hooks work
        with this call.
        """
        return self.log_probs(self.teacher_force(batch))

    def teacher_force(
        self,
        batch: Batch,
        *,
        memory: Memory | None = None,
        want_weights: bool = False,
        want_heads: Sequence[int] = (),
    ) -> DecoderOutput:
        """Compute features, and weights if wanted, for all target positions of a batch at once.

        memory: of every target; the default is to encode the batch. want_heads: decoder layers,
        counted from 0, whose weights are returned for every head.
        """
        memory = self.encode_batch(batch) if memory is None else memory
        prepared, state = self.start(memory)
        forced = self._advance(batch.target_in, state, prepared, Wanted(want_weights, want_heads))
        return forced._replace(state=None)

    @property
    def read_mode(self) -> str:
        """Read mode: "soft", "hard argmax", "hard sample" or "hard expected".

        Empty if the model has no attention.
        """
        return described(self.config.attention) if self.decoder.attends else ""

    @property
    def why_unsteered(self) -> str:
        """Why no look can steer the attention; "" if one can."""
        if not self.decoder.attends:
            return f"a model without attention ({self.config.family})"
        if not self.decoder.looks:
            return f"a model that writes no words ({self.config.family})"
        if is_monotonic(self.config.attention):
            kind = self.config.attention.normalise
            return f"{kind} attention, which never returns to a slot that it has passed"
        return ""

    def with_read_mode(self, decode: str, *, seed: int) -> EncoderDecoder:
        """Return this model with another read mode of its hard attention; weights are shared.

        decode: argmax, sample or expected. seed: of the samples.
        """
        config = self.config
        if not self.read_mode.startswith("hard"):
            raise ConfigurationError(
                f"read mode '{decode}' for a model whose attention is not hard",
                "a model trained with model.attention.read=hard",
                "leave out the read mode",
            )
        attention = replace(config.attention, read_decode=decode)
        # a memo for deepcopy, which then copies the modules but no weights
        shared = {id(tensor): tensor for tensor in chain(self.parameters(), self.buffers())}
        other = copy.deepcopy(self, shared)
        other.config = replace(config, attention=attention)
        for part in list(other.modules()):
            if isinstance(part, Attention) and isinstance(part.read, Hard):
                changed = replace(part.read.config, read_decode=decode)
                part.read = Hard(changed, seed=seed).train(self.training)
        return other

    def parameter_count(self) -> int:
        """Return the number of weights, shared ones once, those of frozen networks included."""
        return sum(parameter.numel() for parameter in self.parameters())


def forced(logits: Tensor, tokens: Tensor, first: Tensor) -> Tensor:
    """Return logits (R, Y) that give a row after START the first token of its output, (B, 1)."""
    wanted = first.repeat_interleave(len(tokens) // len(first), 0)  # (R, 1)
    # a log-probability of 0: the language costs an output nothing
    only = torch.full_like(logits, -torch.inf).scatter(1, wanted, 0.0)
    return torch.where((tokens == START)[:, None], only, logits)

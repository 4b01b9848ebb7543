"""The encoder-decoder: an encoder leaves a memory; the decoder asks it, and says the next token."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from models.attention.base import Attention
from models.attention.hard import Hard, described, input_key
from models.config import ModelConfig
from models.decoders.base import Decoder
from models.deferred import deferred_gradients
from models.errors import ConfigurationError
from models.layers import Embedding
from models.registry import DEFAULT_SOURCE
from models.types import Batch, DecodingStep, Memory


class TeacherForcingOutput(NamedTuple):
    """Teacher forcing: what the model makes of a given target."""

    features: Tensor  # (B, T, D)
    weights: Tensor | None  # (B, T, S), where asked for
    log_prob: Tensor | None = None  # (B, T) of the slots drawn, while training hard attention
    entropy: Tensor | None = None  # (B, T) of what they were drawn from
    gates: Tensor | None = None  # (B, T) on what was read, where there are any; with the weights
    heads: Tensor | None = None  # (B, L, H, T, S) every head's weights in the layers asked for


class Output(nn.Module):
    """Features to logits: one matrix, the target embedding's own where it is tied."""

    def __init__(self, vocabulary: int, size: int, tied_to: Embedding | None) -> None:
        super().__init__()
        own = nn.Parameter(torch.randn(vocabulary, size) * size**-0.5)
        self.weight = own if tied_to is None else tied_to.weight
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, features: Tensor) -> Tensor:
        """Logits (..., Y) of features (..., D)."""
        return nn.functional.linear(features, self.weight, self.bias)


class EncoderDecoder(nn.Module):
    """A model of any family: `encode`, `start`, `step` for search; `teacher_force` for training."""

    source: ClassVar[str] = DEFAULT_SOURCE  # kind of input; a family that reads another states it

    def __init__(
        self, config: ModelConfig, encoder: nn.Module, decoder: Decoder[Any, Any], output: Output
    ) -> None:
        super().__init__()
        self.config = config
        self.encoder = encoder
        self.decoder = decoder
        self.output = output

    def encode(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of source ids (B, S), features (B, S, V) or images, mask (B, S)."""
        memory: Memory = self.encoder(source, mask)
        if self.read_mode != "hard sample" or self.training:
            return memory
        return memory._replace(key=input_key(source, mask))

    def encode_batch(self, batch: Batch) -> Memory:
        """Return the memory of every target of a batch; encode a shared source once."""
        memory = self.encode(batch.source, batch.source_mask)
        return memory if batch.rows is None else memory.select(batch.rows)

    def start(self, memory: Memory) -> tuple[Any, Any]:
        """Return the prepared memory and the decoder's state before the first token."""
        prepared = self.decoder.prepare(memory)
        return prepared, self.decoder.start(prepared)

    def step(
        self, tokens: Tensor, state: Any, prepared: Any, *, want_weights: bool = False
    ) -> DecodingStep:
        """Read one token per row, (R,), and give the next token's log-probabilities."""
        advanced = self.decoder.advance(tokens[:, None], state, prepared, want_weights=want_weights)
        logits = self.output(advanced.features[:, 0])  # (R, Y)
        weights = None if advanced.weights is None else advanced.weights[:, 0]
        return DecodingStep(logits.float(), advanced.state, weights)

    def teacher_force(
        self,
        batch: Batch,
        *,
        memory: Memory | None = None,
        want_weights: bool = False,
        want_heads: Sequence[int] = (),
    ) -> TeacherForcingOutput:
        """Features, and weights if wanted, for every target position of a batch at once.

        memory: of every target, if it is known already. want_heads: decoder layers, from 0, whose
        heads' weights are wanted each for itself.
        """
        prepared, state = self.start(self.encode_batch(batch) if memory is None else memory)
        with deferred_gradients(self.decoder):
            advanced = self.decoder.advance(
                batch.target_in, state, prepared, want_weights=want_weights, want_heads=want_heads
            )
        features, _, *others = advanced
        return TeacherForcingOutput(features, *others)

    @property
    def read_mode(self) -> str:
        """How it reads a memory in use: "soft", or "hard argmax", "hard sample", "hard expected".

        Empty where there is no attention.
        """
        return described(self.config.attention) if self.decoder.attends else ""

    def with_read_mode(self, decode: str, *, seed: int) -> EncoderDecoder:
        """Return this model with another read mode of its hard attention; weights are shared.

        decode: argmax, sample or expected. seed: of the samples.
        """
        config = self.config
        if config.attention.read != "hard" or not self.decoder.attends:
            raise ConfigurationError(
                f"attention read by {decode} of a model that is not hard",
                "a model trained with model.attention.read=hard",
                "leave the choice out",
            )
        attention = replace(config.attention, read_decode=decode, read_seed=seed)
        shared = {id(tensor): tensor for tensor in chain(self.parameters(), self.buffers())}
        other = copy.deepcopy(self, shared)
        other.config = replace(config, attention=attention)
        for part in list(other.modules()):
            if isinstance(part, Attention) and isinstance(part.read, Hard):
                part.read = Hard(attention).train(self.training)
        return other

    def parameter_count(self) -> int:
        """Return the number of weights, shared ones once, those of frozen networks included."""
        return sum(parameter.numel() for parameter in self.parameters())

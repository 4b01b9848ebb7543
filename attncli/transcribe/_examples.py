"""Recordings and their transcripts: tables, samples on disk, and training examples.

FOLDER/train.samples.bin    16-bit samples of all recordings end to end, at the rate of the model
FOLDER/train.offsets.npy    (N + 1,) where each recording begins

A training example is one recording, or several that are joined with pauses; its features are
computed when it is read, because each epoch changes the sound: 10 seconds of it take about 5 ms.
All random numbers come from the seed, the epoch and the example, so a run resumes to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attncli.data.lines import open_text
from attncli.training.examples import Examples, Side
from models.core.config import HOP
from models.core.errors import ConfigurationError, ModelError
from models.core.settings import Need, option
from models.core.types import Batch
from models.search.batching import pad, teacher_forcing_batch
from models.speech.config import AudioConfig
from models.speech.features import log_mel, padded_frames

if TYPE_CHECKING:
    from torch import Tensor

    from models.text.tokenizer import Tokenizer

FULL = 32767  # the largest sample
WARPS = 15  # steps of a change of frequencies, up and down: their filters are kept
MASKS = 2  # SpecAugment: masks of bands, and of frames
MAX_MASKED = 0.2  # of the frames


class Transcribed(NamedTuple):
    """A recording and its text."""

    audio: str  # name of the file, as in the table
    text: str
    line: int = 0  # of the table


def read_transcripts(path: Path | str) -> list[Transcribed]:
    """Return the rows `file, tab, text` of a table; raise ModelError for another form."""
    found = []
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            name, tab, text = line.rstrip("\n").partition("\t")
            if not line.strip():
                continue
            if not tab or not name.strip():
                raise ModelError(f"{path}, line {number}: {line.strip()!r:.60}", "file, tab, text")
            found.append(Transcribed(name.strip(), " ".join(text.split()), number))
    if not found:
        raise ModelError(f"{path} has no transcripts", "rows of file, tab, text")
    return found


JOINED = Need("data.augment.joins", "data.augment.join")


@dataclass(frozen=True)
class AugmentConfig:
    """Changes of the sound in training."""

    join: str = option(
        "1",
        "recordings of a folder that are joined to one example, at random, such as 1-6 (1: none)",
    )
    grow: int = option(
        0,
        "epochs in which the recordings of an example grow from the fewest to the most of join "
        "(Bengio et al. 2009): attention is learned sooner",
        needs=JOINED,
        at_most=100_000,
    )
    pause: str = option(
        "50-400",
        "ms of silence between joined recordings, and before and after half of them",
        needs=JOINED,
    )
    noise: str = option(
        "", "white noise in dB below the sound, such as 10-40, lower is louder (empty: none)"
    )
    speed: float = option(
        0.0, "largest change of speed, such as 0.1 for 0.9 to 1.1 (Ko et al. 2015)", at_most=0.5
    )
    tempo: float = option(
        0.0,
        "largest change of the tempo at the same pitch, such as 0.3 for 0.7 to 1.3",
        at_most=0.9,
    )
    warp: float = option(
        0.0,
        "largest change of the frequencies, such as 0.2 for 0.8 to 1.2, as of other speakers "
        "(Jaitly and Hinton 2013)",
        at_most=0.5,
    )
    mask_bands: int = option(
        0, "SpecAugment: most bands of each of two masks (Park et al. 2019)", at_most=1024
    )
    mask_frames: int = option(
        0, "SpecAugment: most frames of each of two masks; a fifth at most", at_most=10_000
    )

    @property
    def joins(self) -> bool:
        """True if an example can have several recordings."""
        return range_of(self.join, "data.augment.join")[1] > 1


def range_of(text: str, setting: str) -> tuple[int, int]:
    """Return the ends of a range of whole numbers, such as 1-6 or 3."""
    low, dash, high = text.strip().partition("-")
    if not (low.isdecimal() and (high.isdecimal() or not dash)) or int(high or low) < int(low):
        raise ConfigurationError(f"{setting}={text!r}", "a number, or a range such as 1-6")
    return int(low), int(high or low)


class SoundSamples(Side):
    """Samples of recordings: 16-bit numbers of a file, or floats from -1 to 1 in memory."""

    @classmethod
    def read(cls, folder: Path, part: str) -> SoundSamples:
        """Return the memory-mapped samples of a part of the data: train or dev."""
        offsets, path = folder / f"{part}.offsets.npy", folder / f"{part}.samples.bin"
        samples = np.memmap(path, "<i2", "r") if path.stat().st_size else np.zeros(0, "<i2")
        return cls(samples, np.load(offsets, allow_pickle=False))

    def __getitem__(self, index: int) -> np.ndarray:
        """Return the samples (n,) of a recording, from -1 to 1."""
        samples = super().__getitem__(index)
        return samples.astype(np.float32) / FULL if samples.dtype.kind == "i" else samples


@dataclass(frozen=True)
class SoundExamples(Examples):
    """Recordings with their texts, joined anew in every epoch."""

    table: SoundSamples
    rows: Sequence[Transcribed]  # of each recording
    tokenizer: Tokenizer | None  # None: the targets are not read
    audio: AudioConfig
    augment: AugmentConfig
    slot_frames: int  # frames of a slot, for the lengths
    seed: int
    fill: np.ndarray | None = None  # (bands,) what masked features become; None: no masks
    epoch: int = 0

    def at(self, epoch: int) -> SoundExamples:
        """Return the examples of an epoch, counted from 0."""
        return replace(self, epoch=epoch)

    @cached_property
    def folders(self) -> list[list[int]]:
        """The recordings of each folder: those of one speaker, where speakers have folders."""
        found: dict[str, list[int]] = {}
        for number, row in enumerate(self.rows):
            found.setdefault(row.audio.rpartition("/")[0], []).append(number)
        return list(found.values())

    @cached_property
    def joined(self) -> list[list[int]]:
        """The recordings of each example of this epoch; each recording is in one of them."""
        low, high = range_of(self.augment.join, "data.augment.join")
        if self.epoch < self.augment.grow:
            high = low + math.ceil((high - low) * self.epoch / self.augment.grow)
        random = np.random.default_rng([self.seed, self.epoch])
        found: list[list[int]] = []
        for order in map(np.array, self.folders):
            if high > 1:
                random.shuffle(order)
            while len(order):
                count = int(random.integers(max(1, low), max(1, high) + 1))
                found.append(order[:count].tolist())
                order = order[count:]
        return found

    @cached_property
    def ids(self) -> list[list[int]]:
        """Token ids of the text of each example, end mark included."""
        assert self.tokenizer is not None
        return self.tokenizer.encode_targets([self.text(each) for each in self.joined])

    def text(self, recordings: Sequence[int]) -> str:
        """Return the texts of the recordings of an example."""
        return " ".join(filter(None, (self.rows[number].text for number in recordings)))

    @cached_property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (N,): about the slots of every sound, and the tokens of every text."""
        samples, pause = self.table.lengths, sum(range_of(self.augment.pause, "pause")) / 2000
        pauses = [(len(each) + 1) * pause * self.augment.joins for each in self.joined]
        totals = [samples[each].sum() / self.audio.rate for each in self.joined]
        frames = (np.array(totals) + pauses) * 1000 / HOP
        return np.ceil(frames / self.slot_frames).astype(np.int64), np.array([*map(len, self.ids)])

    def batch(self, numbers: np.ndarray) -> Batch:
        """Return the padded batch of some examples."""
        import torch

        source, mask = padded_frames([self.features(self.joined[n]) for n in numbers])
        target = pad([self.ids[number] for number in numbers], torch.device("cpu"))
        return teacher_forcing_batch(source, mask, *target)

    def features(self, recordings: Sequence[int]) -> Tensor:
        """Return the features (F, bands) of an example, with its changes."""
        import torch

        random = np.random.default_rng([self.seed, self.epoch, recordings[0], 1])
        warp = 1 + round(random.uniform(-1, 1) * WARPS) / WARPS * self.augment.warp
        features = torch.from_numpy(log_mel(self.sound(recordings, random), self.audio, warp))
        if self.augment.tempo:
            factor = 1 + random.uniform(-self.augment.tempo, self.augment.tempo)
            size = max(1, round(len(features) / factor))
            features = torch.nn.functional.interpolate(features.mT[None], size, mode="linear")[0].mT
        return features if self.fill is None else masked(features, self.augment, self.fill, random)

    def sound(self, recordings: Sequence[int], random: np.random.Generator) -> np.ndarray:
        """Return the samples of an example: recordings, pauses and noise."""
        augment, rate = self.augment, self.audio.rate
        parts = [changed(self.table[number], augment, random) for number in recordings]
        if augment.joins:
            low, high = range_of(augment.pause, "data.augment.pause")
            lengths = random.uniform(low, high, len(parts) + 1) * rate / 1000
            lengths[[0, -1]] *= random.random(2) < 0.5  # files often begin and end with a word
            pauses = [np.zeros(round(length), np.float32) for length in lengths.tolist()]
            parts = [pauses[0], *chain.from_iterable(zip(parts, pauses[1:], strict=True))]
        sound = np.concatenate(parts)
        if augment.noise:
            low, high = range_of(augment.noise, "data.augment.noise")
            level = np.sqrt(np.mean(sound**2)) * 10 ** (-random.uniform(low, high) / 20)
            sound = sound + random.standard_normal(len(sound), np.float32) * np.float32(level)
        return sound.astype(np.float32)

    def statistics(self, most: int = 1000) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and deviation (bands,) of the features of at most so many examples."""
        chosen = self.joined[:: -(-len(self.joined) // most)]
        total, squares, count = 0.0, 0.0, 0
        for example in chosen:
            features = self.features(example).double().numpy()
            total, squares = total + features.sum(0), squares + (features**2).sum(0)
            count += len(features)
        mean = np.asarray(total) / count
        variance = np.maximum(np.asarray(squares) / count - mean**2, 1e-4)
        return mean.astype(np.float32), np.sqrt(variance).astype(np.float32)


def changed(samples: np.ndarray, augment: AugmentConfig, random: np.random.Generator) -> np.ndarray:
    """Return a recording at another speed."""
    if augment.speed:
        factor = random.uniform(1 - augment.speed, 1 + augment.speed)
        places = np.arange(0, len(samples) - 1, factor)
        samples = np.interp(places, np.arange(len(samples)), samples).astype(np.float32)
    return samples


def masked(
    features: Tensor, augment: AugmentConfig, fill: np.ndarray, random: np.random.Generator
) -> Tensor:
    """Return features (F, bands) with masked bands and frames (Park et al. 2019)."""
    import torch

    frames, bands = features.shape
    value = torch.from_numpy(fill)
    for _ in range(MASKS):
        width = int(random.integers(0, min(augment.mask_bands, bands) + 1))
        start = int(random.integers(0, bands - width + 1))
        features[:, start : start + width] = value[start : start + width]
        most = min(augment.mask_frames, int(MAX_MASKED / MASKS * frames))
        width = int(random.integers(0, most + 1))
        start = int(random.integers(0, frames - width + 1))
        features[start : start + width] = value
    return features

"""Recordings and transcripts as training data: samples and texts in the run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attncli.data.corpus import held_out
from attncli.data.named_files import find_images, open_images
from attncli.terminal.messages import abridged, counted
from attncli.training.dev import Data
from attncli.training.interfaces import Progress
from attncli.training.prepared import (
    learn_side,
    prepare_folder,
    read_made,
    reading,
    write_made,
    write_vocabulary,
)
from attncli.training.tokens import Dropped, SideWriter
from attncli.transcribe._dev import DevTranscripts
from attncli.transcribe._examples import (
    FULL,
    AugmentConfig,
    SoundExamples,
    SoundSamples,
    Transcribed,
    read_transcripts,
)
from attncli.transcribe.source import AudioTraining
from models.core.errors import ModelError, NotFoundError
from models.core.types import VocabularySizes
from models.networks.bundle import build
from models.speech.recordings import read_sound
from models.text.tokenizer import Tokenizer

TOKENS = 10  # any vocabulary: the frames of a slot do not depend on it


def test_set(source: AudioTraining, files: Sequence[Path], progress: Progress) -> DevTranscripts:
    """Return recordings of a test set, each alone."""
    rows, index = read_transcripts(files[0]), open_images(source.data.audio)
    sounds = []
    found = find_images([row.audio for row in rows], index, str(files[0]))
    for number, file in enumerate(found):
        progress("reading recordings", number, len(found))
        sounds.append(read_sound(file.content(), source.model.audio.rate, file.name))
    samples = SoundSamples(np.concatenate(sounds), np.cumsum([0, *map(len, sounds)]))
    return DevTranscripts.of(examples_of(source, samples, rows, AugmentConfig()))


def examples_of(
    source: AudioTraining,
    samples: SoundSamples,
    rows: Sequence[Transcribed],
    augment: AugmentConfig,
    tokenizer: Tokenizer | None = None,
    fill: np.ndarray | None = None,
) -> SoundExamples:
    """Return recordings as examples of the model that is trained."""
    with torch.device("meta"):
        encoder = build(source.model, VocabularySizes(0, TOKENS, False)).encoder
    return SoundExamples(
        samples,
        rows,
        tokenizer,
        audio=source.model.audio,
        augment=augment,
        slot_frames=int(encoder.slot_frames),  # type: ignore[arg-type]
        seed=source.train.seed,
        fill=fill,
    )


def load(source: AudioTraining, folder: Path, progress: Progress) -> Data:
    """Return recordings with their texts, and the dev set."""
    place, augment = folder / "data", source.data.augment
    prepare_folder(place, lambda part: prepare(source, part, progress))
    with reading(f"the prepared recordings in {place} are"):
        made, tokenizer = read_made(place), Tokenizer.read(place)
        masks = augment.mask_bands or augment.mask_frames
        fill = np.array(made["mean"], np.float32) if masks else None
        still = AugmentConfig(join=augment.join, pause=augment.pause)
        train = examples_of(source, *stored(place, "train", made), augment, tokenizer, fill)
        dev = examples_of(source, *stored(place, "dev", made), still, tokenizer)
    return Data(
        tokenizer,
        train,
        Dropped(made["empty"], made["long"]),
        DevTranscripts.of(dev) if made["dev"] else None,
        notes=notes(made["faults"], made.get("lost", [])),
        buffers={f"encoder.{name}": torch.tensor(made[name]) for name in ("mean", "deviation")},
    )


def prepare(source: AudioTraining, folder: Path, progress: Progress) -> None:
    """Read the recordings, learn a vocabulary and measure the features."""
    data = source.data
    train = read_transcripts(data.transcripts)
    dev = read_transcripts(data.dev_transcripts) if data.dev_transcripts else []
    if not dev:
        held = held_out(((row.audio, row.text) for row in train), data.dev_share)
        dev = [row for row in train if row.audio in held]
        train = [row for row in train if row.audio not in held]
    made = read_sounds(source, {"train": train, "dev": dev}, folder, progress)
    if not made["train"]:
        fault = next(iter(notes(made["faults"], made["lost"])), "no text")
        raise ModelError(
            f"no usable recording in {data.audio} ({fault})", "the files that the table names"
        )
    texts = [row.text for row in made["train"]]
    tokenizer = write_vocabulary(
        folder, source, lambda: learn_side(texts, source.tokenizer), progress
    )
    made["empty"] = sum(not row.text for row in train)
    examples = examples_of(source, *stored(folder, "train", made), data.augment, tokenizer)
    progress("measuring features", 0, 0)
    made["mean"], made["deviation"] = (part.tolist() for part in examples.statistics())
    write_made(folder, made)


def read_sounds(
    source: AudioTraining,
    parts: Mapping[str, Sequence[Transcribed]],
    folder: Path,
    progress: Progress,
) -> dict[str, Any]:
    """Write the samples of recordings; return the rows of those that are read, and the faults."""
    data, rate = source.data, source.model.audio.rate
    made: dict[str, Any] = {"train": [], "dev": [], "faults": [], "lost": [], "long": 0}
    index, total = open_images(data.audio), sum(map(len, parts.values()))
    shown = iter(range(total))
    for part, rows in parts.items():
        writer = SideWriter(folder, part, np.dtype("<i2"), "samples.bin")
        for row in rows:
            progress("reading recordings", next(shown), total)
            if not row.text:
                continue
            try:
                place = index.find(row.audio)
                content = place.read() if place else Path(data.audio, row.audio)
                sound = read_sound(content, rate, row.audio, data.max_seconds)
            except NotFoundError:
                made["lost"].append(f"line {row.line}: {row.audio}")
            except ModelError as error:
                made["faults"].append(str(error))
            else:
                writer.add([(sound.clip(-1, 1) * FULL).round().astype("<i2")])
                made[part].append(row)
        writer.close()
    return made


def stored(folder: Path, part: str, made: Any) -> tuple[SoundSamples, list[Transcribed]]:
    """Return the recordings of a part of the prepared data, and their rows."""
    return SoundSamples.read(folder, part), [Transcribed(*row) for row in made[part]]


def notes(faults: list[str], lost: list[str]) -> tuple[str, ...]:
    """Return warnings about recordings that are left out, and about rows without one."""
    found = []
    if lost:
        verb = "names" if len(lost) == 1 else "name"
        found.append(f"{counted(len(lost), 'row')} {verb} no recording ({abridged(lost)})")
    if faults:
        found.append(f"{counted(len(faults), 'recording')} left out: {abridged(faults)}")
    return tuple(found)

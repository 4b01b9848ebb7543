"""Training on recordings and their transcripts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from attncli.data import tones
from attncli.data.corpus import described, held_out
from attncli.data.embedded import as_table, as_tar
from attncli.data.named_files import ImageIndex, find_images, open_images
from attncli.data.recordings import (
    AugmentConfig,
    SampleWriter,
    SoundExamples,
    SoundSamples,
    Transcribed,
    range_of,
    read_transcripts,
)
from attncli.data.tokens import Dropped
from attncli.terminal.messages import counted
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
from attncli.training.settings.config import DataConfig
from attncli.training.sources import MARGIN, SHARE, Comparison, Sizes, TrainingSource
from models.core.errors import ModelError, NotFoundError
from models.core.settings import option
from models.core.types import VocabularySizes
from models.core.use_config import SavedSearchConfig
from models.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from attncli.data.examples import Examples
    from attncli.training.dev import DevSet

TOKENS = 10  # any vocabulary: the frames of a slot do not depend on it
FEW = 5000  # recordings, from which the default preset learns more than a smaller one


@dataclass(frozen=True)
class AudioData(DataConfig):
    """Recordings and their transcripts."""

    audio: str = option("", "a folder of recordings, or a TAR file of them")
    transcripts: str = option("", "rows of recording, tab, text")
    dev_transcripts: str = option("", "the same, for evaluation during training")
    max_seconds: float = option(20.0, "longest recording; longer ones are left out", above=0)
    augment: AugmentConfig = option(AugmentConfig, "changes of the sound in training")

    PARTS = MappingProxyType({"train": "transcripts", "dev": "dev_transcripts"})
    FOLDERS = ("audio",)

    @property
    def is_given(self) -> bool:
        """True if recordings or transcripts are named."""
        return bool(self.audio or self.transcripts)


class AudioTraining(TrainingSource):
    """Recordings and transcripts: a folder or TAR file and a table, or embedded tones."""

    unit = "recordings"
    length_limits = "data.max_length"
    demo_name = "tones"
    demo_sizes = (1000, 100, 100)
    demo_files = MappingProxyType(
        {"audio": "audio.tar", "transcripts": "train.tsv", "dev_transcripts": "dev.tsv"}
    )
    embedded = "embedded tones"
    default_preset = "listen-attend-spell-small"
    example_input = "attn transcribe FILE"
    table = AudioData
    metrics = ("wer", "cer", "exact")
    comparison = Comparison(
        outputs="transcripts",
        presets="presets of models of speech",
        preset="listen-attend-spell-small",
        demo_preset="listen-attend-spell-nano",
        variants=("additive", "location_aware", "location_aware+local_p", "monotonic", "mocha"),
        metrics={"wer": "wer", "cer": "cer"},
        budget=("train.steps=300", "train.evaluate_every=100", "train.patience=0"),
    )

    @classmethod
    def preset_for(cls, data: Mapping[str, Any]) -> str:
        """Return the default preset; that for demonstrations for fewer than FEW recordings."""
        with suppress(ModelError):  # of a table that cannot be read; the run reports it
            if cls.count(cls.table(transcripts=str(data.get("transcripts", ""))), FEW) < FEW:
                return "listen-attend-spell-nano"
        return cls.default_preset

    @classmethod
    def count(cls, data: Any, most: int) -> int:
        """Return the number of recordings."""
        return len(read_transcripts(data.transcripts)) if data.transcripts else most

    def check(self) -> None:
        """Refuse recordings without transcripts, and transcripts without recordings."""
        super().check()
        data = self.data
        if bool(data.audio) != bool(data.transcripts):
            found, other = ("audio", "transcripts") if data.audio else ("transcripts", "audio")
            raise ModelError(f"data.{found} without data.{other}", "both", f"give --{other} too")
        for name in ("join", "pause", "noise"):
            if text := getattr(data.augment, name):
                range_of(text, f"data.augment.{name}")

    @classmethod
    def search_settings(cls, search: SavedSearchConfig, examples: Examples) -> SavedSearchConfig:
        """Return the search settings with the lengths of the training data."""
        default = SavedSearchConfig()
        if isinstance(examples, SoundExamples):
            examples = examples.at(examples.augment.grow)  # as long as they become
        slots, tokens = examples.lengths
        if search.split_above == default.split_above:
            longest = max(math.ceil(np.quantile(slots, SHARE)), default.split_above + 1)
            search = replace(search, split_above=longest)
        if (search.max_ratio, search.max_extra) != (default.max_ratio, default.max_extra):
            return search
        ratio = float(np.quantile(tokens / np.maximum(slots, 1), SHARE)) * MARGIN
        return replace(search, max_ratio=math.ceil(100 * ratio) / 100, max_extra=5)

    @classmethod
    def demo_contents(cls, sizes: Sizes, seed: int) -> Iterator[tuple[str, bytes]]:
        """Yield tables of tones and their words, and the TAR file of the tones."""
        files: list[tuple[str, bytes]] = []
        for part, found in tones.split(*sizes, seed=seed)._asdict().items():
            names = [f"{part}-{number:05}.wav" for number in range(len(found))]
            rows = zip(names, (one.text for one in found), strict=True)
            files += [(name, one.wav) for name, one in zip(names, found, strict=True)]
            yield f"{part}.tsv", as_table(rows)
        yield "audio.tar", as_tar(files)

    @classmethod
    def tests(cls, data: Any, files: Sequence[Path]) -> Sequence[Path]:
        """Return the table of a test set; raise ModelError for a missing recording."""
        for path in files:
            find_images([row.audio for row in read_transcripts(path)], open_images(data.audio), "")
        return files

    def test_set(self, files: Sequence[Path], progress: Progress) -> DevSet:
        """Return recordings of a test set, each alone."""
        from attncli.transcribe.dev import DevTranscripts  # imports torch
        from models.signals.recordings import read_sound

        rows, index = read_transcripts(files[0]), open_images(self.data.audio)
        sounds = []
        found = find_images([row.audio for row in rows], index, str(files[0]))
        for number, file in enumerate(found):
            progress("reading recordings", number, len(found))
            sounds.append(read_sound(file.content(), self.model.audio.rate, file.name))
        samples = SoundSamples(np.concatenate(sounds), np.cumsum([0, *map(len, sounds)]))
        return DevTranscripts.of(self.examples(samples, rows, AugmentConfig()))

    def examples(
        self,
        samples: SoundSamples,
        rows: Sequence[Transcribed],
        augment: AugmentConfig,
        tokenizer: Tokenizer | None = None,
        fill: np.ndarray | None = None,
    ) -> SoundExamples:
        """Return recordings as examples of the model that is trained."""
        import torch

        from models.networks.bundle import build

        with torch.device("meta"):
            encoder = build(self.model, VocabularySizes(0, TOKENS, False)).encoder
        return SoundExamples(
            samples,
            rows,
            tokenizer,
            audio=self.model.audio,
            augment=augment,
            slot_frames=int(encoder.slot_frames),  # type: ignore[arg-type]
            seed=self.train.seed,
            fill=fill,
        )

    def load(self, folder: Path, progress: Progress) -> Data:
        """Return recordings with their texts, and the dev set."""
        import torch

        from attncli.transcribe.dev import DevTranscripts  # imports torch

        place, remarks, augment = folder / "data", tuple[str, ...](), self.data.augment
        prepare_folder(place, lambda part: self.prepare(part, progress))
        with reading(f"the prepared recordings in {place} are"):
            made, tokenizer = read_made(place), Tokenizer.read(place)
            masks = augment.mask_bands or augment.mask_frames
            fill = np.array(made["mean"], np.float32) if masks else None
            still = AugmentConfig(join=augment.join, pause=augment.pause)
            train = self.examples(*stored(place, "train", made), augment, tokenizer, fill)
            dev = self.examples(*stored(place, "dev", made), still, tokenizer)
        if made["dev"] and not self.data.dev_transcripts:
            remarks = (described(len(made["dev"]), "recordings"),)
        return Data(
            tokenizer,
            train,
            Dropped(made["empty"], made["long"]),
            DevTranscripts.of(dev) if made["dev"] else None,
            notes=notes(made["faults"], made.get("lost", [])),
            remarks=remarks,
            buffers={f"encoder.{name}": torch.tensor(made[name]) for name in ("mean", "deviation")},
        )

    def prepare(self, folder: Path, progress: Progress) -> None:
        """Read the recordings, learn a vocabulary and measure the features."""
        data = self.data
        train = read_transcripts(data.transcripts)
        dev = read_transcripts(data.dev_transcripts) if data.dev_transcripts else []
        if not dev:
            held = held_out(((row.audio, row.text) for row in train), data.dev_share)
            dev = [row for row in train if row.audio in held]
            train = [row for row in train if row.audio not in held]
        made: dict[str, Any] = {"train": [], "dev": [], "faults": [], "lost": [], "long": 0}
        index, total = open_images(data.audio), len(train) + len(dev)
        shown = iter(range(total))
        for part, rows in (("train", train), ("dev", dev)):
            writer = SampleWriter(folder, part)
            for row in rows:
                progress("reading recordings", next(shown), total)
                if row.text and self.write_sound(writer, row, index, made):
                    made[part].append(row)
            writer.close()
        if not made["train"]:
            fault = next(iter(notes(made["faults"], made["lost"])), "no text")
            raise ModelError(
                f"no usable recording in {data.audio} ({fault})", "the files that the table names"
            )
        texts = [row.text for row in made["train"]]
        tokenizer = write_vocabulary(
            folder, self, lambda: learn_side(texts, self.tokenizer), progress
        )
        made["empty"] = sum(not row.text for row in train)
        examples = self.examples(*stored(folder, "train", made), data.augment, tokenizer)
        progress("measuring features", 0, 0)
        made["mean"], made["deviation"] = (part.tolist() for part in examples.statistics())
        write_made(folder, made)

    def write_sound(
        self, writer: SampleWriter, row: Transcribed, index: ImageIndex, made: dict[str, Any]
    ) -> bool:
        """Write the samples of a recording; return False if that is missing or cannot be read.

        made: gets the fault.
        """
        from models.signals.recordings import read_sound

        data = self.data
        try:
            place = index.find(row.audio)
            content = place.read() if place else Path(data.audio, row.audio)
            sound = read_sound(content, self.model.audio.rate, row.audio, data.max_seconds)
        except NotFoundError:
            made["lost"].append(f"line {row.line}: {row.audio}")
            return False
        except ModelError as error:
            made["faults"].append(str(error))
            return False
        writer.add_sound(sound)
        return True


def stored(folder: Path, part: str, made: Any) -> tuple[SoundSamples, list[Transcribed]]:
    """Return the recordings of a part of the prepared data, and their rows."""
    return SoundSamples.read(folder, part), [Transcribed(*row) for row in made[part]]


def notes(faults: list[str], lost: list[str]) -> tuple[str, ...]:
    """Return warnings about recordings that are left out, and about rows without one."""
    found = []
    if lost:
        verb = "names" if len(lost) == 1 else "name"
        found.append(f"{counted(len(lost), 'row')} {verb} no recording ({first_of(lost)})")
    if faults:
        found.append(f"{counted(len(faults), 'recording')} left out: {first_of(faults)}")
    return tuple(found)


def first_of(faults: list[str]) -> str:
    """Return the first two faults, and the number of the others."""
    more = f" and {len(faults) - 2:,} more" if len(faults) > 2 else ""
    return "; ".join(faults[:2]) + more

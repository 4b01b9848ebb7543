"""Training on recordings and their transcripts."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from attncli.training.interfaces import Data, DevSet, Progress
from attncli.training.settings.config import DataConfig, RunConfig
from attncli.training.sources import (
    MARGIN,
    SHARE,
    Comparison,
    Sizes,
    TrainingSource,
    preparation,
    prepare_folder,
    read_made,
    reading,
)
from attncli.training.vocabulary import learn_side, write_vocabulary
from models.core.errors import ModelError, NotFoundError
from models.core.files import write_text
from models.core.settings import option
from models.core.use_config import SavedSearchConfig, TokenizerConfig
from models.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from attncli.data.batching import Examples
    from attncli.training.settings.config import TrainConfig

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
    data = AudioData
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

    def preset_for(self, data: Mapping[str, Any]) -> str:
        """Return the default preset; that for demonstrations for fewer than FEW recordings."""
        with suppress(ModelError):  # of a table that cannot be read; the run reports it
            if self.count(self.data(transcripts=str(data.get("transcripts", ""))), FEW) < FEW:
                return "listen-attend-spell-nano"
        return self.default_preset

    def count(self, data: Any, most: int) -> int:
        """Return the number of recordings."""
        return len(read_transcripts(data.transcripts)) if data.transcripts else most

    def check(self, data: Any, train: TrainConfig, tokenizer: TokenizerConfig, named: str) -> None:
        """Refuse recordings without transcripts, and transcripts without recordings."""
        super().check(data, train, tokenizer, named)
        if bool(data.audio) != bool(data.transcripts):
            found, other = ("audio", "transcripts") if data.audio else ("transcripts", "audio")
            raise ModelError(f"data.{found} without data.{other}", "both", f"give --{other} too")
        for name in ("join", "pause", "noise"):
            if text := getattr(data.augment, name):
                range_of(text, f"data.augment.{name}")

    def search_settings(self, search: SavedSearchConfig, examples: Examples) -> SavedSearchConfig:
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

    def demo_contents(self, sizes: Sizes, seed: int) -> Iterator[tuple[str, bytes]]:
        """Yield tables of tones and their words, and the TAR file of the tones."""
        files: list[tuple[str, bytes]] = []
        for part, found in tones.split(*sizes, seed=seed)._asdict().items():
            names = [f"{part}-{number:05}.wav" for number in range(len(found))]
            rows = zip(names, (one.text for one in found), strict=True)
            files += [(name, one.wav) for name, one in zip(names, found, strict=True)]
            yield f"{part}.tsv", as_table(rows)
        yield "audio.tar", as_tar(files)

    def tests(self, data: Any, files: Sequence[Path]) -> Sequence[Path]:
        """Return the table of a test set; raise ModelError for a missing recording."""
        for path in files:
            find_images([row.audio for row in read_transcripts(path)], open_images(data.audio), "")
        return files

    def test_set(self, config: RunConfig, files: Sequence[Path], progress: Progress) -> DevSet:
        """Return recordings of a test set, each alone."""
        from attncli.transcribe.dev import DevTranscripts
        from models.signals.recordings import read_sound

        rows, index = read_transcripts(files[0]), open_images(config.data.audio)
        found = find_images([row.audio for row in rows], index, str(files[0]))
        rate, sounds = config.model.audio.rate, []
        for number, file in enumerate(found):
            progress("reading recordings", number, len(found))
            sounds.append(read_sound(file.content(), rate, file.name))
        table = SoundSamples(np.concatenate(sounds), np.cumsum([0, *map(len, sounds)]))
        frames, seed = slot_frames(config), config.train.seed
        test = SoundExamples(
            table,
            rows,
            None,
            audio=config.model.audio,
            augment=AugmentConfig(),
            slot_frames=frames,
            seed=seed,
        )
        return DevTranscripts(test, np.arange(test.count))

    def load(self, config: RunConfig, folder: Path, progress: Progress) -> Data:
        """Return recordings with their texts, and the dev set."""
        import torch

        from attncli.transcribe.dev import DevTranscripts

        config, place, remarks = self.with_data(config, folder), folder / "data", list[str]()
        prepare_folder(place, lambda part: prepare(config, part, progress))
        with reading(f"the prepared recordings in {place} are"):
            made, tokenizer = read_made(place), Tokenizer.read(place)
            train = examples_of(config, place, "train", made, tokenizer)
            dev = examples_of(config, place, "dev", made, tokenizer)
        if made["dev"] and not config.data.dev_transcripts:
            remarks.append(described(len(made["dev"]), "recordings"))
        return Data(
            tokenizer,
            train,
            Dropped(made["empty"], made["long"]),
            DevTranscripts(dev, np.arange(dev.count)) if made["dev"] else None,
            notes=notes(made["faults"], made.get("lost", [])),
            remarks=tuple(remarks),
            buffers={f"encoder.{name}": torch.tensor(made[name]) for name in ("mean", "deviation")},
        )


def prepare(config: RunConfig, folder: Path, progress: Progress) -> None:
    """Read the recordings, learn a vocabulary and measure the features."""
    data = config.data
    train = read_transcripts(data.transcripts)
    dev = read_transcripts(data.dev_transcripts) if data.dev_transcripts else []
    if not dev:
        held = held_out(((row.audio, row.text) for row in train), data.dev_share)
        dev = [row for row in train if row.audio in held]
        train = [row for row in train if row.audio not in held]
    faults, lost = list[str](), list[str]()
    index, numbers, total = open_images(data.audio), itertools.count(), len(train) + len(dev)
    kept = {
        part: write_samples(
            SampleWriter(folder, part),
            rows,
            index,
            config,
            (faults, lost),
            lambda: progress("reading recordings", next(numbers), total),
        )
        for part, rows in (("train", train), ("dev", dev))
    }
    if not kept["train"]:
        raise ModelError(
            f"no usable recording in {data.audio} ({next(iter(notes(faults, lost)), 'no text')})",
            "the files that the table names",
        )
    tokenizer = write_vocabulary(
        folder,
        preparation(config),
        lambda: learn_side([row.text for row in kept["train"]], config.tokenizer),
        progress,
    )
    made: dict[str, Any] = {**kept, "faults": faults, "lost": lost, "long": 0}
    made["empty"] = sum(not row.text for row in train)
    examples = examples_of(config, folder, "train", made, tokenizer)
    progress("measuring features", 0, 0)
    made["mean"], made["deviation"] = (part.tolist() for part in examples.statistics())
    write_text(folder / "made.json", json.dumps(made, ensure_ascii=False))


def write_samples(
    writer: SampleWriter,
    rows: list[Transcribed],
    index: ImageIndex,
    config: RunConfig,
    faults: tuple[list[str], list[str]],
    shown: Callable[[], None],
) -> list[Transcribed]:
    """Write the samples of the recordings that an index finds; return their rows.

    faults: what cannot be read and what is missing are added. shown: called before each recording.
    """
    from models.signals.recordings import read_sound

    data, rate, kept = config.data, config.model.audio.rate, []
    for row in rows:
        shown()
        if not row.text:
            continue
        try:
            place = index.find(row.audio)
            content = place.read() if place else Path(data.audio, row.audio)
            writer.add_sound(read_sound(content, rate, row.audio, data.max_seconds))
        except NotFoundError:
            faults[1].append(f"line {row.line}: {row.audio}")
            continue
        except ModelError as error:
            faults[0].append(str(error))
            continue
        kept.append(row)
    writer.close()
    return kept


def examples_of(
    config: RunConfig, folder: Path, part: str, made: Any, tokenizer: Tokenizer
) -> SoundExamples:
    """Return the examples of a part; those of dev are joined, but not changed otherwise."""
    augment: AugmentConfig = config.data.augment
    masks = part == "train" and (augment.mask_bands or augment.mask_frames)
    fill = np.array(made["mean"], np.float32) if masks and "mean" in made else None
    if part == "dev":
        augment = AugmentConfig(join=augment.join, pause=augment.pause)
    return SoundExamples(
        SoundSamples.read(folder, part),
        [Transcribed(*row) for row in made[part]],
        tokenizer,
        audio=config.model.audio,
        augment=augment,
        slot_frames=slot_frames(config),
        seed=config.train.seed,
        fill=fill,
    )


def slot_frames(config: RunConfig) -> int:
    """Return the frames of a slot of the model that is trained."""
    import torch

    from models.core.types import VocabularySizes
    from models.networks.bundle import build

    with torch.device("meta"):
        encoder = build(config.model, VocabularySizes(0, TOKENS, False)).encoder
    return int(encoder.slot_frames)  # type: ignore[arg-type]


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

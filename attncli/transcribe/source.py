"""Training on recordings and their transcripts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from attncli.data.embedded import as_table, as_tar
from attncli.data.named_files import find_images, open_images
from attncli.training.config import DataConfig
from attncli.training.sources import Comparison, Sizes, TrainingSource
from attncli.transcribe import tones
from attncli.transcribe._examples import (
    AugmentConfig,
    SoundExamples,
    Transcribed,
    range_of,
    read_transcripts,
)
from attncli.translate.source import MARGIN, SHARE
from models.core.errors import ModelError
from models.core.settings import Need, option
from models.core.use_config import SavedSearchConfig

if TYPE_CHECKING:
    from attncli.training.examples import Examples

FEW = 5000  # recordings, from which the default preset learns more than a smaller one


@dataclass(frozen=True)
class AudioData(DataConfig):
    """Recordings and their transcripts."""

    audio: str = option(
        "", "a folder of recordings, or a TAR file of them", needs=Need("data.transcripts")
    )
    transcripts: str = option("", "rows of recording, tab, text", needs=Need("data.audio"))
    dev_transcripts: str = option(
        "", "the same, for evaluation during training", needs=Need("data.transcripts")
    )
    max_seconds: float = option(20.0, "longest recording; longer ones are left out", above=0)
    augment: AugmentConfig = option(AugmentConfig, "changes of the sound in training")

    PARTS = MappingProxyType({"train": "transcripts", "dev": "dev_transcripts"})
    FOLDERS = ("audio",)
    HAS_BLEU = False

    def rows(self, files: Sequence[Path | str], part: str = "train") -> list[Transcribed]:
        """Return the rows of a table of recordings."""
        return read_transcripts(files[0])

    @property
    def is_given(self) -> bool:
        """True if recordings or transcripts are named."""
        return bool(self.audio or self.transcripts)


class AudioTraining(TrainingSource):
    """Recordings and transcripts: a folder or TAR file and a table, or embedded tones."""

    data: AudioData
    module = "attncli.transcribe.data"
    unit = "recordings"
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
        preset="listen-attend-spell-small",
        demo_preset="listen-attend-spell-nano",
        variants=("additive", "location_aware", "location_aware+local_p", "monotonic", "mocha"),
        metrics={"wer": "wer", "cer": "cer"},
        budget=("train.steps=300", "train.evaluate_every=100", "train.patience=0"),
    )

    @classmethod
    def preset_for(cls, data: Mapping[str, object]) -> str:
        """Return the default preset; that for demonstrations for fewer than FEW recordings."""
        with suppress(ModelError):  # of a table that cannot be read; the run reports it
            if AudioData(transcripts=str(data.get("transcripts", ""))).count(FEW) < FEW:
                return "listen-attend-spell-nano"
        return cls.default_preset

    def check(self) -> None:
        """Refuse recordings without transcripts, and ranges of another form."""
        super().check()
        for name in ("join", "pause", "noise"):
            if text := getattr(self.data.augment, name):
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

    def tests(self, files: Sequence[Path]) -> Sequence[Path]:
        """Return the table of a test set; raise ModelError for a missing recording."""
        for path in files:
            names = [row.audio for row in read_transcripts(path)]
            find_images(names, open_images(self.data.audio), str(path))
        return files

"""A minute run of each kind of training data: the contracts over all kinds draw from this table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attncli.data.embedded import generate
from attncli.train.command_line import settings
from attncli.training.config import RunConfig
from attncli.transcribe import tones
from attncli.translate.corpora import parse_corpus
from tests.attncli.files import write
from tests.attncli.labels import write_toy
from tests.attncli.training import small_captions
from tests.attncli.training.small import SMALL, TINY, small_config, write_texts

SOUND = (
    *("model.hidden=8", "model.embedding=8", "tokenizer.kind=word", "train.batch_tokens=64"),
    *("train.log_every=1", "train.samples=0", "train.steps=6", "train.evaluate_every=3"),
    *("search.method=greedy", "search.max_ratio=0.1", "search.max_extra=2", "train.metric=loss"),
)
CHANGED = (  # the sound of every epoch
    *("data.augment.join=1-3", "data.augment.noise=10-40"),
    *("data.augment.speed=0.1", "data.augment.mask_bands=8", "data.augment.mask_frames=20"),
    *("data.augment.warp=0.2", "data.augment.tempo=0.3", "model.audio.center=true"),
)
VARIED = (
    *("data.noise=0.3", "data.concatenate=0.2", "data.temperature=3"),
    *("train.subword_sampling=0.3", "train.r_drop=1", "train.metric=bleu"),
)


def write_corpus(folder: Path, source: str, target: str, count: int, *, seed: int = 1) -> str:
    """Write a TSV file of the grammar's sentences; fr is German with its words reversed."""
    path = folder / f"{source}-{target}-{seed}.tsv"
    rows = []
    for pair in generate(count, seed=seed):
        french = " ".join(reversed(pair.target.split()))
        text = {"en": pair.source, "de": pair.target, "fr": french}
        rows.append(f"{text[source]}\t{text[target]}\n")
    path.write_text("".join(rows), "utf-8")
    return str(path)


def write_wavs(folder: Path, train: int = 12, dev: int = 4) -> Path:
    """Write recordings with train.tsv and dev.tsv."""
    folder.mkdir()
    for part, melodies in tones.split(train, dev, 0, seed=1)._asdict().items():
        rows = []
        for number, each in enumerate(melodies):
            (folder / f"{part}{number}.wav").write_bytes(each.wav)
            rows.append(f"{part}{number}.wav\t{each.text}\n")
        (folder / f"{part}.tsv").write_text("".join(rows))
    return folder


def write_rows(folder: Path, count: int = 60, name: str = "rows.tsv") -> Path:
    """Write rows of two texts, whose target needs both."""
    words, lines = ("red", "old", "big", "dog", "cat"), ["source\tdraft\ttarget"]
    for number in range(count):
        word, letter = words[number % 5], "abc"[number % 3]
        lines.append(f"{word}\t{letter} {number}\t{letter} {word} {number}")
    write(folder / name, lines)
    return folder / name


def of_pairs(folder: Path, *changes: str, preset: str = "transformer-nano") -> RunConfig:
    """Sentence pairs and a dev set."""
    return small_config(write_texts(folder), *changes, preset=preset)


def of_corpora(folder: Path, *changes: str, start: Path | None = None) -> RunConfig:
    """English and German, both ways, and English to French."""
    corpora = [
        parse_corpus(f"en-de={write_corpus(folder, 'en', 'de', 60)}"),
        parse_corpus(f"en-to-fr={write_corpus(folder, 'en', 'fr', 12)}"),
    ]
    dev = [parse_corpus(f"en-de={write_corpus(folder, 'en', 'de', 4, seed=2)}")]
    preset = None if start else "transformer-nano"
    small = SMALL if not start else [s for s in SMALL if not s.startswith("tokenizer")]
    return settings(
        [], [], preset, [*small, *changes], corpora=corpora, dev_corpora=dev, start=start
    )


def of_labels(folder: Path, *changes: str, preset: str = "bilstm-attention-nano") -> RunConfig:
    """Labelled texts, of which a part is held out."""
    labels = {"labels": write_toy(folder / "labels.tsv", 120)}
    return settings([], preset=preset, assignments=[*TINY, *changes], inputs=labels)


def of_captions(
    folder: Path, *changes: str, preset: str = "show-attend-tell-soft-nano"
) -> RunConfig:
    """Drawn squares and their captions."""
    return small_captions.small_config(small_captions.write_images(folder), *changes, preset=preset)


def of_recordings(
    folder: Path, *changes: str, preset: str = "listen-attend-spell-nano"
) -> RunConfig:
    """Tones and the words that they stand for."""
    wavs = write_wavs(folder / "wavs")
    given = {"audio": wavs, "transcripts": wavs / "train.tsv", "dev_transcripts": wavs / "dev.tsv"}
    return settings([], [], preset, [*SOUND, *changes], inputs=given)


def of_rows(folder: Path, *changes: str, preset: str = "multi-source-nano") -> RunConfig:
    """Rows of two texts."""
    small = [one for one in SMALL if "layers" not in one and "search.max" not in one]
    dev = write_rows(folder, 12, "dev.tsv")
    return settings([write_rows(folder)], [dev], preset, [*small, *changes])


Make = Callable[..., RunConfig]
KINDS: dict[str, Make] = {
    **{"pairs": of_pairs, "corpora": of_corpora, "labels": of_labels, "captions": of_captions},
    **{"recordings": of_recordings, "rows": of_rows},
}

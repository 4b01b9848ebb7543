"""Command lines that use a trained model on an example of its training data."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterable
from pathlib import Path

from attncli.data.images.index import open_images
from attncli.data.images.named import SUFFIXES
from attncli.data.text.corpus import read_pairs
from attncli.data.text.text_files import open_text
from attncli.training.settings.config import DataConfig

READ = 50  # pairs among which a short one is chosen
SHORT = 60  # characters
FALLBACK = "A dog runs."


def text_example(data: DataConfig, languages: tuple[str, ...], folder: Path) -> str:
    """Return `echo SENTENCE | attn translate`, with `--to LANGUAGE` for a multilingual model.

    languages: of the model. folder: of the run, where sentences of the embedded grammar are.
    """
    if data.corpora:
        corpus = next((corpus for corpus in data.corpora if not corpus.tagged), data.corpora[0])
        return f"{_echo(corpus.files)} --to {corpus.sides[1]}"
    to = f" --to {languages[0]}" if languages else ""
    return _echo(data.train or (str(folder / "train.tsv"),)) + to


def label_example(data: DataConfig, folder: Path) -> str:
    """Return `echo TEXT | attn classify` with a text of the training data. folder: of the run."""
    with open_text(data.labels or folder / "train.tsv") as lines:
        rows = itertools.islice((line.split("\t") for line in lines), READ)
        return (
            f"echo {shlex.quote(short([row[1] for row in rows if len(row) > 1]))} | attn classify"
        )


def image_example(data: DataConfig, folder: Path) -> str:
    """Return `attn caption IMAGE`; IMAGE is a file, or a member of a TAR file.

    folder: of the run, where generated scenes are.
    """
    images = Path(data.images or folder / "images.tar")
    names = sorted(name for name in open_images(images).places if name.lower().endswith(SUFFIXES))
    image = images / names[0] if names else Path("IMAGE")
    return f"attn caption {shlex.quote(str(image))}"


def short(texts: Iterable[str]) -> str:
    """Return the first short text that a shell can be given; the shortest if none is short."""
    lines = [text.strip() for text in texts if text.strip()]
    printable = [text for text in lines if text.isprintable() and not text.startswith("-")]
    if not printable:
        return FALLBACK
    return next((text for text in printable if len(text) <= SHORT), min(printable, key=len))


def _echo(files: tuple[str, ...]) -> str:
    pairs = itertools.islice(read_pairs(files), READ)
    return f"echo {shlex.quote(short(pair.source for pair in pairs))} | attn translate"

"""Generated scenes for a captioner without images of its own."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from attncli.embedded import Splits, scenes
from attncli.tasks.caption.training.source import ImageData
from models.base.files import write_bytes, write_text

DEMO_SIZE = 2000  # scenes in train
DEV_SCENES = 200  # in dev and in test


def demonstration(data: ImageData, seed: int, folder: Path) -> ImageData:
    """Write scenes and captions to the run folder; return settings that name the files."""
    if not (folder / "data").exists():  # data/ is written after these files
        write_scenes(data.demo_size or DEMO_SIZE, seed, folder)
    return replace(
        data,
        images=str(folder / "images.tar"),
        captions=str(folder / "train.tsv"),
        dev_captions=str(folder / "dev.tsv"),
    )


def write_scenes(count: int, seed: int, folder: Path) -> None:
    """Write scenes to images.tar, and their captions to train.tsv, dev.tsv and test.tsv."""
    parts = demo_scenes(count, seed)
    for name, text in tables(parts).items():
        write_text(folder / f"{name}.tsv", text)
    write_bytes(folder / "images.tar", images_tar(parts))


def demo_scenes(count: int, seed: int) -> Splits:
    """Return scenes for training, dev and test."""
    return scenes.split(count, DEV_SCENES, DEV_SCENES, seed=seed)


def tables(parts: Splits) -> dict[str, str]:
    """Return the captions of each part as a table: image, tab, captions."""
    rows: dict[str, list[str]] = {part: [] for part in parts._fields}
    for part, name, scene in named(parts):
        rows[part].append("\t".join([name, *(caption.text for caption in scene.captions)]) + "\n")
    return {part: "".join(lines) for part, lines in rows.items()}


def images_tar(parts: Splits) -> bytes:
    """Return a TAR file of the images of all parts."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for _, name, scene in named(parts):
            content, member = scenes.png(scene), tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def named(parts: Splits) -> Iterator[tuple[str, str, scenes.Scene]]:
    """Yield every scene with its part and the name of its image."""
    for part, found in zip(parts._fields, parts, strict=True):
        for number, scene in enumerate(found):
            yield part, f"{part}-{number:05}.png", scene

"""Generated scenes for a captioner without images of its own."""

from __future__ import annotations

import io
import tarfile
from dataclasses import replace
from pathlib import Path

from attncli.embedded import scenes
from attncli.training.config import DataConfig
from models.files import write_bytes, write_text

DEV_SCENES = 200  # in dev and in test


def demonstration(data: DataConfig, seed: int, folder: Path) -> DataConfig:
    """Write scenes and captions to the run folder; return settings that name the files."""
    if not (folder / "data").exists():  # data/ is written after these files
        write_scenes(data.demo_scenes, seed, folder)
    return replace(
        data,
        images=str(folder / "images.tar"),
        captions=str(folder / "train.tsv"),
        dev_captions=str(folder / "dev.tsv"),
    )


def write_scenes(count: int, seed: int, folder: Path) -> None:
    """Write scenes to images.tar, and their captions to train.tsv, dev.tsv and test.tsv."""
    parts = scenes.split(count, DEV_SCENES, DEV_SCENES, seed=seed)
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, part in zip(parts._fields, parts, strict=True):
            rows = []
            for number, scene in enumerate(part):
                content, member = scenes.png(scene), tarfile.TarInfo(f"{name}-{number:05}.png")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
                rows.append("\t".join([member.name, *(c.text for c in scene.captions)]) + "\n")
            write_text(folder / f"{name}.tsv", "".join(rows))
    write_bytes(folder / "images.tar", stream.getvalue())

"""A bundle as one file: an uncompressed zip archive, its files at the top in a fixed order.

The same bundle always gives the same archive. An archive is not trusted: only the file names of a
bundle are extracted, each once, so that no path leaves the folder and no link is followed; nothing
is decompressed, so that no file is larger than the archive.
"""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from models.base.errors import intact
from models.base.files import replacing
from models.storage.digests import NAME as SUMS
from models.storage.replay import NAME as REPLAY
from models.storage.settings import CARD, STATISTICAL, WEIGHTS
from models.storage.settings import NAME as CONFIG
from models.text.labels import LABELS

REQUIRED = (CONFIG, WEIGHTS)
FILES = (
    *(CONFIG, CARD, "tokenizer.model", "source.model", "target.model", LABELS),
    *(STATISTICAL, REPLAY, WEIGHTS, SUMS),
)
MOST_BYTES = {WEIGHTS: 1 << 33}  # of one file
MOST_BYTES_ELSE = 1 << 26
BEGINNING_OF_TIME = (1980, 1, 1, 0, 0, 0)  # of zip archives


def write_archive(folder: Path, path: Path) -> None:
    """Write the bundle in a folder as one file."""
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name in FILES:
            if (folder / name).is_file():
                info = zipfile.ZipInfo(name, BEGINNING_OF_TIME)
                info.external_attr = 0o644 << 16
                info.file_size = (folder / name).stat().st_size
                with (folder / name).open("rb") as source, archive.open(info, "w") as target:
                    shutil.copyfileobj(source, target)


def extract_archive(path: Path, folder: Path) -> None:
    """Extract a bundle into an existing empty folder.

    Raises DamagedError if the file was not written by `write_archive`, or is damaged.
    """
    made_by = "a file made by `attn models pack`"
    with (
        intact(path, made_by, "", zipfile.BadZipFile, RuntimeError),
        zipfile.ZipFile(path) as archive,
    ):
        members = archive.infolist()
        _check(members, path)
        for member in members:
            with archive.open(member) as source, (folder / member.filename).open("xb") as file:
                shutil.copyfileobj(source, file)


def _check(members: list[zipfile.ZipInfo], path: Path) -> None:
    names = [member.filename for member in members]
    for member in members:
        if member.filename not in FILES or names.count(member.filename) > 1:
            raise ValueError(f"file {ascii(member.filename)} does not belong to a model")
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise ValueError(f"{member.filename} is compressed or encrypted")
        if member.file_size > MOST_BYTES.get(member.filename, MOST_BYTES_ELSE):
            raise ValueError(f"{member.filename} has {member.file_size:,} bytes")
    if missing := [name for name in REQUIRED if name not in names]:
        raise ValueError(f"no {missing[0]}")
    if sum(member.file_size for member in members) > path.stat().st_size:
        raise ValueError("its files are larger than the archive")

"""Published models on disk: a folder, or a zip archive as OPUS-MT and Argos distribute theirs.

An archive is not trusted: only plain files are extracted, below a folder of their own, and no more
bytes than the archive says, up to a limit.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path, PurePosixPath
from pkgutil import resolve_name
from typing import Any

from models.base.errors import intact
from models.importers.base import FORMATS, importer_of, write_bundle
from models.importers.weights import read_json
from models.storage.settings import NAME, WEIGHTS

MOST_FILES = 1000
MOST_BYTES = 1 << 35  # of all files


def is_published(path: Path) -> bool:
    """Return True for a folder or archive of another publisher, not one of this program."""
    if path.is_dir():
        config = path / NAME
        named = config.is_file() and "model_type" in read_json(config)
        return named or any(resolve_name(place).reads(path) for place in FORMATS.values())
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return not {NAME, WEIGHTS} & {*archive.namelist()}


def import_model(path: Path, folder: Path, **options: Any) -> None:
    """Write a published model as a bundle into an existing empty folder; see `write_bundle`.

    Raises ModelError if its format is not known, or it is damaged.
    """
    with nullcontext(path) if path.is_dir() else extracted(path) as inside:
        write_bundle(importer_of(inside), folder, **options)


@contextmanager
def extracted(path: Path) -> Iterator[Path]:
    """Yield a temporary folder with the files of an archive; the folder inside, if it has one."""
    with tempfile.TemporaryDirectory(prefix="attn-import-") as place:
        folder = Path(place)
        with (
            intact(path, "an archive of a model", "get it again", zipfile.BadZipFile, RuntimeError),
            zipfile.ZipFile(path) as archive,
        ):
            for member in _members(archive):
                target = folder.joinpath(*PurePosixPath(member.filename).parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, target.open("xb") as file:
                    shutil.copyfileobj(source, file)
        inside = list(folder.iterdir())
        yield inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    members = [member for member in archive.infolist() if not member.is_dir()]
    for member in members:
        name = PurePosixPath(member.filename)
        if name.is_absolute() or ".." in name.parts or "\\" in member.filename:
            raise ValueError(f"the file name {ascii(member.filename)}")
    if len(members) > MOST_FILES or sum(member.file_size for member in members) > MOST_BYTES:
        raise ValueError(f"more than {MOST_FILES} files or {MOST_BYTES:,} bytes")
    return members

"""Documents that are ZIP archives of several files: word-processor documents and e-books."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from typing import NamedTuple

from models.base.errors import DamagedError, InputError
from models.base.limits import UNPACKED_BYTES

BROKEN = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, ValueError)


class Archive(NamedTuple):
    """The files of an archive in its order."""

    files: Mapping[str, bytes]
    infos: tuple[zipfile.ZipInfo, ...]


def read_archive(content: bytes, kind: str) -> Archive:
    """Unpack an archive in memory.

    kind: for messages, such as "a Word document". Raises DamagedError if it cannot be unpacked, and
    InputError if it is larger than UNPACKED_BYTES.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = tuple(info for info in archive.infolist() if not info.is_dir())
            size = sum(info.file_size for info in infos)  # zipfile reads no more than this
            if size > UNPACKED_BYTES:
                raise InputError(
                    f"{kind} of {size:,} bytes, unpacked", f"at most {UNPACKED_BYTES:,}"
                )
            return Archive({info.filename: archive.read(info) for info in infos}, infos)
    except (*BROKEN, EOFError) as error:
        raise DamagedError(
            f"{kind} that cannot be unpacked ({error})", "an undamaged file"
        ) from None


def not_of(kind: str) -> DamagedError:
    """Return the error about an archive that has no file of its format."""
    return DamagedError(f"not {kind}", "the format that the end of its name tells")


def write_archive(archive: Archive, changed: Mapping[str, bytes]) -> bytes:
    """Return an archive with some files changed; all others, and the order, stay."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as written:
        for old in archive.infos:
            info = zipfile.ZipInfo(old.filename, old.date_time)
            info.compress_type, info.external_attr = old.compress_type, old.external_attr
            written.writestr(info, changed.get(old.filename, archive.files[old.filename]))
    return buffer.getvalue()

"""Crash-safe writing of files: a reader finds the old content or the new content, never a mixture.

Content is written to a temporary file in the same folder, flushed to the disk, and renamed over the
target; then the folder is flushed. The temporary file has a random name and is created with O_EXCL
and O_NOFOLLOW. Nothing is therefore written through a symbolic link that somebody put into the
folder, and two writers of one target use different files. The last writer to finish wins.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from models.core.errors import InputError, ModelError, ResourceError
from models.core.limits import MODEL_FILE_BYTES

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NAME_BYTES = 200  # bytes of the target's name kept in a temporary name; file systems allow 255
LOCK = ".lock"  # file of a folder that is locked
PART, OLD = ".part", ".old"  # suffixes of temporary names
NEW_FILE = os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
CANNOT_FLUSH = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF)  # of a folder
SAME_FILE = os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file by one with the given content, or leave the old one unchanged."""
    with replacing(path) as file, write_errors(path):
        file.write(content)


def write_text(path: Path, content: str) -> None:
    """Replace a file by one with the given text in UTF-8, or leave the old one unchanged."""
    write_bytes(path, content.encode("utf-8"))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a binary file that replaces ``path`` when the block ends without an error.

    The new file has the permissions of the old one. A symbolic link at
    ``path`` is replaced, not followed. Raises ResourceError if the file cannot be created, flushed
    or renamed.
    """
    temporary = temporary_name(path, PART)
    try:
        with write_errors(path):
            permissions = _permissions(path)
            file = _create(temporary, 0o666 if permissions is None else permissions)
        with _closing(file):
            if permissions is not None:
                with contextlib.suppress(OSError):  # a refusal leaves fewer permissions
                    # the umask may have taken bits from those that the file was created with
                    os.chmod(file.fileno(), permissions)
            yield file
            with write_errors(path):
                file.flush()
                # flushed before the rename: after a power failure, the name could otherwise point
                # to an empty file
                os.fsync(file.fileno())
        with write_errors(path):
            os.replace(temporary, path)
            sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            # also after Ctrl-C, so that an interrupted writer leaves nothing
            temporary.unlink()
        raise


@contextlib.contextmanager
def _closing(file: BinaryIO) -> Iterator[None]:
    """Close a file after the block. An error of the block is not replaced by that of closing."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # bytes that a full disk refused are written again
            file.close()
        raise
    file.close()


def write_folder(path: Path, fill: Callable[[Path], object]) -> None:
    """Fill a temporary folder, flush its files, and put it in the place of the old one."""
    temporary = temporary_name(path, PART)
    with write_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.mkdir()
            fill(temporary)
            _sync_tree(temporary)
            _exchange(temporary, path)
            sync_folder(path.parent)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def open_append(path: Path) -> BinaryIO:
    """Open a file for appending and reading, created if missing. A symbolic link is refused."""
    return os.fdopen(os.open(path, os.O_RDWR | SAME_FILE, 0o666), "a+b")


def open_regular(path: Path, most: int = MODEL_FILE_BYTES, name: str = "") -> BinaryIO:
    """Open a regular file of at most `most` bytes for reading.

    name: for messages; the default is the path. Raises InputError for a longer file, and for a
    named pipe or a device, which may be endless.
    """
    # O_NONBLOCK: to open a named pipe would otherwise wait for its writer
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    # of the open file, because the path could be exchanged between a check and the opening
    found = os.fstat(file.fileno())
    if stat.S_ISREG(found.st_mode) and found.st_size <= most:
        return file
    file.close()
    name = name or str(path)
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{name} is not a regular file", "a file, not a named pipe or device")
    raise InputError(f"{name} has {found.st_size:,} bytes", f"at most {most:,} bytes")


def read_regular(path: Path, most: int = MODEL_FILE_BYTES) -> bytes:
    """Return the content of a regular file of at most `most` bytes; see `open_regular`."""
    with open_regular(path, most) as file:
        return file.read(most)


def check_regular(folder: Path, *, inside: bool = False) -> None:
    """Raise InputError for a named pipe, socket or device, also in a folder: it may be endless.

    inside: refuse links to files outside of the folder, too, because the files are copied. The
    blobs of the cache of the Hugging Face hub belong to its folders.
    """
    blobs = folder.absolute() / "../../blobs"
    for path in (folder, *folder.glob("*"), *folder.glob("model/*")):
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(f"{path} is not a regular file", "a file, not a named pipe or device")
        target = path.resolve() if inside and path.is_file() else folder.resolve() / path.name
        if not any(target.is_relative_to(place.resolve()) for place in (folder, blobs)):
            raise InputError(
                f"{path} is a link to a file outside of {folder}",
                "files of this folder alone",
                "copy the file there if you trust it",
            )


def temporary_name(path: Path, suffix: str) -> Path:
    """Return a hidden, unpredictable name in the folder of ``path``."""
    # cut in bytes, as file systems count; half a character at the end is dropped
    start = os.fsencode(path.name)[:NAME_BYTES].decode("utf-8", "ignore")
    # random, so that nobody can put a link there in advance, and two writers never meet
    return path.with_name(f".{start}.{os.urandom(8).hex()}{suffix}")


def is_leftover(path: Path) -> bool:
    """Return True for a temporary name, as a killed process may leave it after a partial write."""
    return path.name.startswith(".") and path.name.endswith((PART, OLD))


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files and folders that killed processes left in a folder.

    Call it only while no other process writes to the folder.
    """
    with write_errors(folder):
        for path in filter(is_leftover, list(folder.iterdir()) if folder.is_dir() else []):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk, so that a rename survives a power failure.

    Do nothing on systems that cannot flush a folder: Windows cannot open one, and some network file
    systems refuse the call. Raise OSError if the flush itself fails (a full or broken disk).
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in CANNOT_FLUSH:
            raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn an OSError into a ResourceError: a full disk, a missing folder, no permission."""
    try:
        yield
    except OSError as error:
        raise ResourceError(
            f"cannot write {path}: {error.strerror or error}",
            "a writable folder with free space",
            "files written before are unchanged",
        ) from None


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process. Return False if another process has locked it.

    The kernel releases the lock of a killed process. Return True on systems without locks.
    """
    if fcntl is None:
        return True
    try:
        # flock and not a file with a process id, which a killed process would leave behind
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for this process inside a `with` block; create it if it is missing.

    Raise a ModelError if another process has locked it. The kernel releases the lock of a killed
    process, so no lock is ever stale. A start that is refused leaves no lock.
    """
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        before = {path.name for path in folder.iterdir()}
        file = open_append(folder / LOCK)
    with file:
        if not try_lock(file.fileno()):
            raise ModelError(
                f"another process works in {folder}",
                "a folder that no other process uses",
                "wait for that process, stop it, or choose another folder",
            )
        try:
            yield
        except ModelError:
            if LOCK not in before and {path.name for path in folder.iterdir()} == before | {LOCK}:
                (folder / LOCK).unlink()
            raise


def _create(path: Path, permissions: int = 0o666) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | NEW_FILE, permissions), "wb")


def _permissions(path: Path) -> int | None:
    """Return the permission bits of the file to replace, None if there is none.

    Raise OSError for a folder and for a name that the file system does not allow.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return stat.S_IMODE(mode) if stat.S_ISREG(mode) else None


def _sync_tree(folder: Path) -> None:
    for place, _, names in os.walk(folder):
        for name in names:
            descriptor = os.open(os.path.join(place, name), os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_folder(Path(place))


def _exchange(new: Path, path: Path) -> None:
    if not os.path.lexists(path):
        os.replace(new, path)
        return
    # no system call replaces a folder that has files, so the old one moves aside first
    old = temporary_name(path, OLD)
    os.replace(path, old)
    try:
        os.replace(new, path)
    except BaseException:
        # the old folder returns, so that a failure never leaves no folder at all
        os.replace(old, path)
        raise
    shutil.rmtree(old, ignore_errors=True)

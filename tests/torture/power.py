"""Power failures: the calls that change files are recorded, and folders rebuilt without the rest.

The model of the disk is the least that POSIX promises. The content of a file is what it was at its
last fsync, and empty before. A change of a folder (create, rename, link, remove) is certain after
an fsync of the folder; before that it may or may not have happened, whatever happened to others.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.torture.worker import KILLED, Result, Workers

FOLDER = -1  # number of a folder; files are numbered from 0

Names = dict[str, int]  # path from the root of the recording: file


class Change(NamedTuple):
    """A change of a folder: these names are set, or removed (None)."""

    folder: str
    names: dict[str, int | None]


@dataclass
class Disk:
    """A recording of the changes below a folder, made by patching `os` in this process.

    at_call: called after each recorded call.
    """

    root: Path
    at_call: Callable[[Disk], None]
    names: Names = field(default_factory=dict)  # as the running program sees them
    certain: Names = field(default_factory=dict)
    pending: list[Change] = field(default_factory=list)
    contents: dict[int, bytes] = field(default_factory=dict)  # at the last fsync
    files: int = 0

    def record(self) -> None:
        """Patch `os` from here on; the process is not used for anything else afterwards.

        What the folder contains now survives every failure.
        """
        for path in sorted(self.root.rglob("*")):
            name = str(path.relative_to(self.root))
            self.names[name] = FOLDER if path.is_dir() else self.files
            if path.is_file():
                self.contents[self.files] = path.read_bytes()
                self.files += 1
        self.certain = dict(self.names)
        for name in ("open", "fsync", "replace", "rename", "link", "unlink", "mkdir", "rmdir"):
            setattr(os, name, self._watched(name, getattr(os, name)))
        os.remove = os.unlink

    def survivors(self, random: Random | None) -> Names:
        """Return the names after a failure: every pending change happened, or a random choice."""
        names = dict(self.certain)
        for change in self.pending:
            if random is None or random.random() < 0.5:
                names.update({n: file for n, file in change.names.items() if file is not None})
                for name in [name for name, file in change.names.items() if file is None]:
                    names.pop(name, None)
        return {name: file for name, file in names.items() if _has_folders(name, names)}

    def rebuild(self, names: Names, target: Path) -> None:
        """Write what survived into a new folder."""
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for name in sorted(names):
            if names[name] == FOLDER:
                (target / name).mkdir()
            else:
                (target / name).write_bytes(self.contents.get(names[name], b""))

    def _watched(self, kind: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*args: Any, **kwargs: Any) -> Any:
            paths = [self._path(arg, kwargs) for arg in args[:2]]
            result = call(*args, **kwargs)
            synced = kind == "fsync"
            if self._synced(args[0]) if synced else getattr(self, f"_{kind}")(*paths):
                self.at_call(self)
            return result

        return instead

    def _path(self, given: Any, kwargs: dict[str, Any]) -> str | None:
        """Return the path from the root, None for what is outside."""
        if not isinstance(given, (str, bytes, os.PathLike)):
            return None
        path = os.fsdecode(given)
        if kwargs.get("dir_fd") is not None:
            path = os.path.join(os.readlink(f"/proc/self/fd/{kwargs['dir_fd']}"), path)
        path = os.path.relpath(path, self.root)
        return None if path.startswith("..") or path == "." else path

    def _apply(self, names: dict[str, int | None]) -> bool:
        for name, file in names.items():
            if file is None:
                self.names.pop(name, None)
            else:
                self.names[name] = file
        self.pending.append(Change(os.path.dirname(next(iter(names))), names))
        return True

    def _open(self, path: str | None, _: str | None = None) -> bool:
        return path is not None and path not in self.names and self._new(path)

    def _new(self, path: str) -> bool:
        real = self.root / path
        if not real.exists():
            return False
        for parent in reversed(Path(path).parents[:-1]):
            if str(parent) not in self.names:
                self._apply({str(parent): FOLDER})
        if real.is_dir():
            return self._apply({path: FOLDER})
        self.files += 1
        return self._apply({path: self.files - 1})

    def _synced(self, descriptor: int) -> bool:
        real = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if real == self.root:
            folder = ""
        else:
            path = self._path(real, {})
            if path is None:
                return False
            if path not in self.names:
                self._new(path)
            if self.names[path] != FOLDER:
                self.contents[self.names[path]] = real.read_bytes()
                return True
            folder = path
        for change in [change for change in self.pending if change.folder == folder]:
            self.pending.remove(change)
            for name, file in change.names.items():
                if file is None:
                    self.certain.pop(name, None)
                else:
                    self.certain[name] = file
        return True

    def _replace(self, old: str | None, new: str | None) -> bool:
        if old is None or new is None:
            return False
        self._adopt(new, old)
        moved: dict[str, int | None] = {new: self.names[old], old: None}
        for name, file in list(self.names.items()):
            if name.startswith(f"{old}/"):
                moved |= {new + name[len(old) :]: file, name: None}
        return self._apply(moved)

    _rename = _replace

    def _adopt(self, real: str, name: str) -> None:
        """Record files that were created by other calls than `os.open`; they lie at `real` now."""
        if name not in self.names:
            is_folder = (self.root / real).is_dir()
            self.files += not is_folder
            self._apply({name: FOLDER if is_folder else self.files - 1})
        for place, folders, files in os.walk(self.root / real):
            for found in [*folders, *files]:
                path = Path(place, found).relative_to(self.root / real)
                inside = os.path.join(name, path)
                if inside not in self.names:
                    self.files += found in files
                    self._apply({inside: FOLDER if found in folders else self.files - 1})

    def _link(self, old: str | None, new: str | None) -> bool:
        return None not in (old, new) and self._apply({str(new): self.names[str(old)]})

    def _mkdir(self, path: str | None, _: str | None = None) -> bool:
        return path is not None and self._apply({path: FOLDER})

    def _unlink(self, path: str | None, _: str | None = None) -> bool:
        return path is not None and self._apply({path: None})

    _rmdir = _unlink


def power_failures(
    name: str,
    root: Path,
    prepare: Callable[[], None],
    work: Callable[[], None],
    check: Callable[[], str],
    workers: Workers,
    random: Random,
    most: int,
) -> Result:
    """Let the power fail at calls of the work (``most`` of them); `check` gives the fault.

    prepare: makes the folder `root` as it is before the work. check: looks at what survived there.
    """
    result = Result(f"{name}, power failure")
    counted = workers.log.with_suffix(".calls")
    prepare()
    if fault := workers.attempt(lambda: _count(root, work, counted)):
        result.add("recording", fault)
        return result
    total, survived = int(counted.read_text()), root.with_name(f"{root.name} survived")
    for number in sorted(random.sample(range(1, total + 1), min(most, total))):
        for order in (None, Random(random.random())):
            prepare()
            fault = workers.attempt(partial(fail_power, root, survived, number, order, work))
            if not fault:
                shutil.rmtree(root)
                survived.rename(root)
            result.add(f"call {number} of {total}", fault or check())
    return result


def fail_power(
    root: Path, survived: Path, number: int, order: Random | None, work: Callable[[], None]
) -> None:
    """Work until a recorded call; write what survives a power failure there, and end the process.

    order: chooses which pending changes of folders survive; None: all of them.
    """
    left = number

    def at_call(disk: Disk) -> None:
        nonlocal left
        left -= 1
        if not left:
            disk.at_call = lambda disk: None
            disk.rebuild(disk.survivors(order), survived)
            os._exit(KILLED)

    disk = Disk(root, at_call)
    disk.record()
    work()
    raise AssertionError(f"fewer than {number} calls")


def _count(root: Path, work: Callable[[], None], counted: Path) -> None:
    calls, store = 0, os.write

    def at_call(disk: Disk) -> None:
        nonlocal calls
        calls += 1

    Disk(root, at_call).record()
    work()
    descriptor = os.open(counted, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    store(descriptor, str(calls).encode())


def _has_folders(name: str, names: Names) -> bool:
    return all(names.get(str(parent)) == FOLDER for parent in Path(name).parents[:-1])

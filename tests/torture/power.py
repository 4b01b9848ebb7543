"""Power failures: the calls that change files are recorded, and folders rebuilt without the rest.

The model of the disk is the least that POSIX promises. The content of a file is what it was at its
last fsync, and empty before. A change of a folder (create, rename, link, remove) is certain after
an fsync of the folder; before that it may or may not have happened, whatever happened to others.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.torture.worker import KILLED, Result, Workers
from tests.torture.writes import Job

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
    inodes: dict[int, int] = field(default_factory=dict)  # numbers of the files that exist
    certain: Names = field(default_factory=dict)
    pending: list[Change] = field(default_factory=list)
    contents: dict[int, bytes] = field(default_factory=dict)  # at the last fsync
    numbers: Iterator[int] = field(default_factory=count)

    def record(self) -> None:
        """Patch `os` from here on; the process is not used for anything else afterwards.

        What the folder contains now survives every failure.
        """
        self._changed()
        self.certain, self.pending = dict(self.names), []
        for name, file in self.names.items():
            if file != FOLDER:
                self.contents[file] = (self.root / name).read_bytes()
        for name in ("open", "fsync", "replace", "rename", "link", "unlink", "mkdir", "rmdir"):
            setattr(os, name, self._watched(name, getattr(os, name)))
        os.remove = os.unlink

    def survivors(self, random: Random | None) -> Names:
        """Return the names after a failure: every pending change happened, or a random choice."""
        names = dict(self.certain)
        for change in self.pending:
            if random is None or random.random() < 0.5:
                apply(change, names)
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
            result = call(*args, **kwargs)
            changed = self._changed()
            if (kind == "fsync" and self._synced(args[0])) or changed:
                self.at_call(self)
            return result

        return instead

    def _changed(self) -> bool:
        """Record what changed below the folder since the last call, as one change."""
        names: Names = {}
        inodes: dict[int, int] = {}
        for path in self.root.rglob("*"):
            name, inode = str(path.relative_to(self.root)), path.stat().st_ino
            if path.is_dir():
                names[name] = FOLDER
            else:
                known = inodes.get(inode, self.inodes.get(inode))
                names[name] = inodes[inode] = next(self.numbers) if known is None else known
        before, self.names, self.inodes = self.names, names, inodes
        changes = {n: names.get(n) for n in {*before, *names} if before.get(n) != names.get(n)}
        if changes:
            self.pending.append(Change(os.path.dirname(min(changes, key=len)), changes))
        return bool(changes)

    def _synced(self, descriptor: int) -> bool:
        """Make the content of a file, or the changes of a folder, certain."""
        name = os.path.relpath(os.readlink(f"/proc/self/fd/{descriptor}"), self.root)
        folder = "" if name == "." else name
        if folder and name not in self.names:
            return False
        if folder and self.names[name] != FOLDER:
            self.contents[self.names[name]] = (self.root / name).read_bytes()
            return True
        for change in [change for change in self.pending if change.folder == folder]:
            self.pending.remove(change)
            apply(change, self.certain)
        return True


def apply(change: Change, names: Names) -> None:
    """Set and remove the names of a change."""
    names.update({name: file for name, file in change.names.items() if file is not None})
    for name in [name for name, file in change.names.items() if file is None]:
        names.pop(name, None)


def power_failures(job: Job, root: Path, workers: Workers, random: Random, most: int) -> Result:
    """Let the power fail at calls of the work below a folder (``most`` of them)."""
    result = Result(f"{job.name}, power failure")
    counted = workers.log.with_suffix(".calls")
    job.prepare()
    if fault := workers.attempt(lambda: _count(root, job.work, counted)):
        result.add("recording", fault)
        return result
    total, survived = int(counted.read_text()), root.with_name(f"{root.name} survived")
    for number in sorted(random.sample(range(1, total + 1), min(most, total))):
        for order in (None, Random(random.random())):
            job.prepare()
            fault = workers.attempt(partial(fail_power, root, survived, number, order, job.work))
            if not fault:
                shutil.rmtree(root)
                survived.rename(root)
            result.add(f"call {number} of {total}", fault or job.check())
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

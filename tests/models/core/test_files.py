"""Files are replaced completely or not at all, and never through a link that somebody planted."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from attncli.data.streams import open_output
from models.core import files
from models.core.errors import ModelError
from models.core.files import (
    is_leftover,
    open_append,
    remove_leftovers,
    replacing,
    write_bytes,
    write_folder,
)
from tests.attncli.files import write


def test_a_planted_link_of_a_temporary_name_is_not_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim, target = tmp_path / "victim", tmp_path / "a.txt"
    victim.write_text("precious")
    (tmp_path / ".a.txt.part").symlink_to(victim)  # a name that can be guessed
    write_bytes(target, b"new")
    assert (victim.read_text(), target.read_bytes()) == ("precious", b"new")
    planted = tmp_path / ".guessed.part"
    planted.symlink_to(victim)
    monkeypatch.setattr(files, "temporary_name", lambda path, suffix: planted)
    with pytest.raises(ModelError, match="cannot write"):
        write_bytes(target, b"newer")
    assert (victim.read_text(), target.read_bytes()) == ("precious", b"new")


def test_temporary_names_are_unpredictable_and_short_enough(tmp_path: Path) -> None:
    names = {files.temporary_name(tmp_path / "a", ".part").name for _ in range(100)}
    assert len(names) == 100 and all(is_leftover(tmp_path / name) for name in names)
    long = tmp_path / ("é" * 126)  # 252 bytes
    write_bytes(long, b"x")
    assert long.read_bytes() == b"x"


def test_appending_refuses_a_link(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError):
        open_append(tmp_path / "log")
    assert not (tmp_path / "victim").exists()


def test_two_writers_do_not_mix(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with replacing(target) as first, replacing(target) as second:
        for _ in range(10):
            first.write(b"a" * 5000)
            second.write(b"b" * 5000)
    assert target.read_bytes() == b"a" * 50_000  # the one that ended last
    assert list(tmp_path.iterdir()) == [target]


def test_permissions_of_the_old_file_stay(tmp_path: Path) -> None:
    target = write(tmp_path / "out", "old")
    target.chmod(0o600)
    write_bytes(target, b"new")
    assert target.stat().st_mode & 0o777 == 0o600


def test_leftovers_are_removed_and_other_files_kept(tmp_path: Path) -> None:
    (tmp_path / ".a.part").write_text("")
    (tmp_path / ".data.0123456789abcdef.part").mkdir()
    (tmp_path / ".hidden").write_text("")
    (tmp_path / "b.part").write_text("")
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hidden", "b.part"]


@pytest.mark.parametrize("name", ["file/out", "x" * 300, "", "nowhere/out"])
def test_an_output_that_cannot_be_written_is_a_clear_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="cannot write"), open_output(tmp_path / name):
        raise AssertionError("it was opened")


def failing(code: int, *, of_folders: bool) -> Callable[[int], None]:
    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode) == of_folders:
            raise OSError(code, os.strerror(code))

    return fsync


@pytest.mark.parametrize("of_folders", [False, True])
def test_a_write_that_may_not_be_on_disk_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_folders: bool
) -> None:
    monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC, of_folders=of_folders))
    with pytest.raises(ModelError, match="No space left"):
        write_bytes(tmp_path / "out", b"x")
    with pytest.raises(ModelError, match="No space left"):
        write_folder(tmp_path / "folder", lambda path: (path / "part").touch())


def test_a_file_system_that_cannot_flush_folders_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", failing(errno.EINVAL, of_folders=True))
    write_bytes(tmp_path / "out", b"x")
    assert (tmp_path / "out").read_bytes() == b"x"


def test_an_output_follows_the_link_that_the_user_names(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    with open_output(link) as write:
        write(b"x")
    assert target.read_bytes() == b"x" and link.is_symlink()


def test_an_interruption_just_after_the_temporary_file_is_made_removes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = files._create

    def interrupted(path: Path, permissions: int) -> None:
        create(path, permissions).close()
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "_create", interrupted)
    target = write(tmp_path / "out", "old")
    with pytest.raises(KeyboardInterrupt):
        write_bytes(target, b"new")
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]

"""Images by name, in folders and TAR files."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from attncli.data.images.named import open_images
from models.base.errors import ModelError

FILES = {"a.jpg": b"one", "train/b.jpg": b"two!", "train/deep/c.png": b"three", "val/d.jpg": b""}


def folder(path: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def archive(path: Path, files: dict[str, bytes], mode: str = "w:") -> Path:
    with tarfile.open(path, mode) as file:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("kind", ["folder", "tar"])
def test_images_are_found_by_name_with_or_without_folders(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "images"
    made = folder(path, FILES) if kind == "folder" else archive(path, FILES)
    images = open_images(made)
    assert len(images) == 4
    for name, content in FILES.items():
        for asked in (name, f"./{name}", name.split("/")[-1], f"elsewhere/{name.split('/')[-1]}"):
            place = images.find(asked)
            assert place is not None and place.read() == content, asked
    assert images.find("e.jpg") is None


def test_one_name_in_two_folders_needs_its_folder(tmp_path: Path) -> None:
    images = open_images(folder(tmp_path, {"x/a.jpg": b"1", "y/a.jpg": b"2"}))
    with pytest.raises(ModelError, match="several files a.jpg: x/a.jpg and y/a.jpg"):
        images.find("a.jpg")
    for name in ("y/a.jpg", "images/y/a.jpg"):
        place = images.find(name)
        assert place is not None and place.read() == b"2"


def test_accents_of_names_may_be_composed_or_decomposed(tmp_path: Path) -> None:
    composed, decomposed = "caf\u00e9.jpg", "cafe\u0301.jpg"
    for stored, asked in ((composed, decomposed), (decomposed, composed)):
        images = open_images(archive(tmp_path / "one.tar", {f"x/{stored}": b"1"}))
        for name in (asked, f"x/{asked}"):
            place = images.find(name)
            assert place is not None and place.read() == b"1"


@pytest.mark.parametrize("kind", ["missing", "compressed", "text", "empty"])
def test_what_holds_no_images_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "images"
    if kind == "compressed":
        archive(path, FILES, "w:gz")
    elif kind == "text":
        path.write_text("no tar at all" * 100)
    elif kind == "empty":
        path.mkdir()
    with pytest.raises(ModelError, match="images .*(cannot be read as images|holds no file)"):
        open_images(path)


def test_an_image_that_went_away_is_named(tmp_path: Path) -> None:
    place = open_images(folder(tmp_path, FILES)).find("a.jpg")
    assert place is not None
    (tmp_path / "a.jpg").unlink()
    with pytest.raises(ModelError, match="cannot read .*a.jpg"):
        place.read()

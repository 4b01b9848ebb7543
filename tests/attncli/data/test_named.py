"""Images named on a command line, in TAR files and HEIC, and the cache of their features."""

from __future__ import annotations

import io
import os
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torch import Tensor

from attncli.caption.features import FeatureStore, ImageFiles, add_missing
from attncli.caption.image_features import FeatureCache, RowKind, cache_folder, verify_cache
from attncli.data.named_files import content_hash, is_alone, named_images, open_images
from models.core.config import ImageConfig
from models.core.errors import InputError, ModelError
from models.signals.images import open_image
from tests.attncli.command_line import Attn

HEIC = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"  # the beginning of a file


@pytest.fixture
def archive(photos: Path) -> Path:
    """Return a TAR file of the photos and of a text."""
    path = photos.parent / "photos.tar"
    with tarfile.open(path, "w") as file:
        file.add(photos, "all")
        file.addfile(tarfile.TarInfo("read.me"), io.BytesIO())
    return path


def test_a_tar_file_stands_for_its_images_and_one_of_them_is_named(archive: Path) -> None:
    [group] = named_images([str(archive)])
    names = [file.name.removeprefix(f"{archive}/") for file in group]
    assert sorted(names) == ["all/a.png", "all/b.jpg", "all/c.webp", "all/d.gif", "all/more/e.png"]
    for file in group:
        one = file.name
        [[same]] = named_images([one])
        assert same == file and is_alone([one])
        assert open_image(same.content()).size
    assert not is_alone([str(archive)])
    [[missing]] = named_images([f"{archive}/no.png"])
    assert missing.fault == f"no file {archive}/no.png"


def test_a_damaged_tar_file_is_one_fault(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(b"no archive")
    [[file]] = named_images([str(tmp_path / "x.tar")])
    assert "x.tar cannot be read" in file.fault


def test_heic_without_its_package_is_named_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.HEIC").write_bytes(HEIC)
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    [[file]] = named_images([str(tmp_path)], recursive=True)
    assert not file.fault
    with pytest.raises(InputError, match=r"a\.HEIC is a HEIC image.*pillow-heif"):
        open_image(Path(tmp_path / "a.HEIC"))


def test_captions_of_a_tar_file_are_those_of_its_files(
    archive: Path, photos: Path, soft_captioner: Path, attn: Attn
) -> None:
    task = ["caption", "-m", soft_captioner]
    of_files = attn(*task, "-r", photos).out.replace(f"{photos}/", f"{archive}/all/")
    assert sorted(attn(*task, archive).out.splitlines()) == sorted(of_files.splitlines())
    [name] = (line.split("\t")[0] for line in of_files.splitlines() if "/a.png" in line)
    assert attn(*task, name).out and "no file" in attn(*task, f"{archive}/no.png", status=1).err
    attn(*task, "--sidecar", archive, status=2)


def test_heic_is_read_with_its_package(tmp_path: Path) -> None:
    pytest.importorskip("pillow_heif").register_heif_opener()
    path = tmp_path / "a.heic"
    Image.new("RGB", (64, 48), (200, 30, 30)).save(path, format="HEIF")
    image = open_image(path)
    assert image.size == (64, 48) and image.mode == "RGB"
    red, green, _ = image.getpixel((30, 20))  # type: ignore[misc]
    assert red > 150 > 80 > green
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"a\.heic"):
        open_image(path)


FILES = {"a.jpg": b"one", "train/b.jpg": b"two!", "train/deep/c.png": b"three", "val/d.jpg": b""}


def folder(path: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def tar_file(path: Path, files: dict[str, bytes], mode: str = "w:") -> Path:
    with tarfile.open(path, mode) as file:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("kind", ["folder", "tar"])
def test_images_are_found_by_name_with_or_without_folders(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "images"
    made = folder(path, FILES) if kind == "folder" else tar_file(path, FILES)
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
        images = open_images(tar_file(tmp_path / "one.tar", {f"x/{stored}": b"1"}))
        for name in (asked, f"x/{asked}"):
            place = images.find(name)
            assert place is not None and place.read() == b"1"


@pytest.mark.parametrize("kind", ["missing", "compressed", "text", "empty"])
def test_what_holds_no_images_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "images"
    if kind == "compressed":
        tar_file(path, FILES, "w:gz")
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


KIND = RowKind((3, 2), "float16", "a test")
KEYS = [content_hash(bytes([n])) for n in range(6)]


def some(count: int, start: int = 0) -> np.ndarray:
    return np.arange(start * 6, (start + count) * 6).reshape(count, 3, 2) / 8


def filled(folder: Path, count: int) -> FeatureCache:
    cache = FeatureCache(folder, KIND)
    with cache.writing():
        cache.add(KEYS[:count], some(count))
    return cache


def test_rows_come_back_in_this_process_and_in_others(tmp_path: Path) -> None:
    for cache in (filled(tmp_path / "cache", 4), FeatureCache(tmp_path / "cache", KIND)):
        assert cache.missing([KEYS[5], KEYS[1], KEYS[5]]) == [KEYS[5]]
        table = cache.table()
        assert isinstance(table, np.memmap) and table.dtype == np.float16
        assert (table[cache.rows([KEYS[2], KEYS[0]])] == some(4)[[2, 0]]).all()


@pytest.mark.parametrize("rows, keys", [(5, 0), (12, 0), (0, -3), (12, -3), (-5, 0)])
def test_incomplete_rows_and_keys_are_written_again(rows: int, keys: int, tmp_path: Path) -> None:
    cache = filled(tmp_path, 3)
    for path, more in ((cache.rows_path, rows), (cache.keys_path, keys)):
        content = path.read_bytes()
        path.write_bytes(content + b"x" * more if more > 0 else content[: len(content) + more])
    again = FeatureCache(tmp_path, KIND)
    with again.writing():
        todo = again.missing(KEYS[:5])
        assert len(todo) in (2, 3)
        again.add(todo, some(5)[-len(todo) :])
    assert (again.table()[again.rows(KEYS[:5])] == some(5)).all()
    assert cache.rows_path.stat().st_size == 5 * 12
    assert (FeatureCache(tmp_path, KIND).table() == some(5)).all()


def test_a_reader_keeps_its_rows_while_another_adds(tmp_path: Path) -> None:
    reader = filled(tmp_path, 2)
    before = reader.table()
    writer = FeatureCache(tmp_path, KIND)
    with writer.writing():
        writer.add(KEYS[2:4], some(2, 2))
    assert (before == some(2)).all() and reader.missing(KEYS[:4]) == KEYS[2:4]
    reader.refresh()
    assert (reader.table()[reader.rows(KEYS[:4])] == some(4)).all()


def test_a_cache_of_other_rows_or_a_damaged_one_is_refused(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    with pytest.raises(ModelError, match=r"rows float16 \(3, 2\); expected uint8 \(5,\)"):
        FeatureCache(tmp_path, RowKind((5,), "uint8", ""))
    (tmp_path / "about.json").write_text("[]")
    with pytest.raises(ModelError, match="damaged"):
        FeatureCache(tmp_path, KIND)


def test_the_folder_of_caches_follows_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ATTN_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("ATTN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "attn"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert str(cache_folder()).startswith(os.path.expanduser("~"))


CONFIG = ImageConfig(size=8)


def random_images(count: int) -> dict[str, bytes]:
    found = {}
    for shade in range(count):
        stream = io.BytesIO()
        Image.new("RGB", (8, 8), (shade, shade, shade)).save(stream, "PNG")
        found[content_hash(stream.getvalue())] = stream.getvalue()
    return found


def rows_of(folder: Path, known: dict[str, bytes], *portions: int) -> np.ndarray:
    """Rows of all images, computed in runs over the first so many of them."""

    def make(images: Tensor) -> np.ndarray:  # rounding that depends on the batch, exaggerated
        return (images.mean((2, 3)) + len(images)).numpy()

    keys = list(known)
    for count in portions:
        cache = FeatureCache(folder, RowKind((3,), "float32", "a test"))
        store = FeatureStore(cache, CONFIG, make, 1, "")
        names = dict.fromkeys(keys[:count], "an image")
        assert add_missing(store, names, known.__getitem__, lambda *_: None) == {}
    return np.array(cache.table()[cache.rows(keys)])


def test_rows_do_not_depend_on_the_history_of_the_cache(tmp_path: Path) -> None:
    known = random_images(40)
    fresh = rows_of(tmp_path / "fresh", known, 40)
    assert (rows_of(tmp_path / "used", known, 1, 7, 40) == fresh).all()


@pytest.mark.parametrize("damage", ["a row", "no digests"])
def test_rows_that_are_damaged_or_without_digests_are_computed_again(
    damage: str, tmp_path: Path
) -> None:
    known = random_images(5)
    fresh = rows_of(tmp_path, known, 5)
    if damage == "no digests":
        (tmp_path / "sums.bin").unlink()
    else:
        with (tmp_path / "rows.bin").open("r+b") as file:
            file.seek(2 * 12 + 1)  # in the third row
            file.write(b"\x7f")
        with pytest.raises(ModelError, match="1 of 5 rows of the feature cache"):
            verify_cache(tmp_path)
    assert (rows_of(tmp_path, known, 5) == fresh).all()
    verify_cache(tmp_path)
    assert (tmp_path / "keys.txt").read_text().count("\n") == 5 + (damage == "a row")


def test_an_image_that_changed_is_not_stored_as_the_old_one(tmp_path: Path) -> None:
    [old, new], path = random_images(2).items(), tmp_path / "a.png"
    cache = FeatureCache(tmp_path / "cache", RowKind((3,), "float32", "a test"))
    store = FeatureStore(cache, CONFIG, lambda images: images.mean((2, 3)).numpy(), 1, "")
    path.write_bytes(new[1])
    names = {old[0]: str(path), new[0]: str(path)}
    broken = ImageFiles("", [store]).add(names, lambda *_: None)
    assert broken.keys() == {old[0]} and "changed" in broken[old[0]]
    assert cache.places.keys() == {new[0]}

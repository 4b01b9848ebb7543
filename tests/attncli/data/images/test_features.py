"""The cache of features: found again, continued, never half, and independent of its history."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torch import Tensor

from attncli.caption.features import FeatureStore, add_missing
from attncli.data.image_features import FeatureCache, RowKind, verify_cache
from attncli.data.named_files import content_hash
from models.core.config import ImageConfig
from models.core.errors import ModelError

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


def test_a_cache_of_other_rows_or_a_damaged_one_is_refused(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    with pytest.raises(ModelError, match=r"rows float16 \(3, 2\); expected uint8 \(5,\)"):
        FeatureCache(tmp_path, RowKind((5,), "uint8", ""))
    (tmp_path / "about.json").write_text("[]")
    with pytest.raises(ModelError, match="damaged"):
        FeatureCache(tmp_path, KIND)


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

"""Rows of the feature cache depend on their image alone, not on what the cache had before."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torch import Tensor

from attncli.caption.features import FeatureStore, ImageFiles, add_missing
from attncli.data.image_features import FeatureCache, RowKind, verify_cache
from attncli.data.named_files import content_hash
from models.core.config import ImageConfig
from models.core.errors import ModelError

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


def test_an_image_that_changed_is_not_stored_as_the_old_one(tmp_path: Path) -> None:
    [old, new], path = random_images(2).items(), tmp_path / "a.png"
    cache = FeatureCache(tmp_path / "cache", RowKind((3,), "float32", "a test"))
    store = FeatureStore(cache, CONFIG, lambda images: images.mean((2, 3)).numpy(), 1, "")
    path.write_bytes(new[1])
    names = {old[0]: str(path), new[0]: str(path)}
    broken = ImageFiles("", [store]).add(names, lambda *_: None)
    assert broken.keys() == {old[0]} and "changed" in broken[old[0]]
    assert cache.places.keys() == {new[0]}


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

"""The cache of features: found again, continued, never half."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attncli.data.image_features import FeatureCache, RowKind
from attncli.data.named_files import content_hash
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

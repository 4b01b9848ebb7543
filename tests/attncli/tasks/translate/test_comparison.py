"""A comparison without a dev set holds one out of the training data, the same for all runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.data.text.corpus import read_pairs
from attncli.data.text.rows import row_pairs
from attncli.tasks.translate.comparison import with_dev, with_dev_rows
from attncli.tasks.translate.training.source import RowData, TextData
from models.base.errors import ModelError


def test_no_source_is_on_both_sides(tmp_path: Path) -> None:
    rows = [f"a {number % 150} b\tc {number} d\n" for number in range(400)]
    (tmp_path / "all.tsv").write_text("".join(rows))
    data = TextData(train=(str(tmp_path / "all.tsv"),))
    found = with_dev(data, 1, tmp_path / "out")
    train, dev = ({source for source, _ in read_pairs(part)} for part in (found.train, found.dev))
    assert len(dev) == 15 and len(train) == 135 and not dev & train
    assert with_dev(data, 1, tmp_path / "out") == found
    with pytest.raises(ModelError, match="no dev set: data.dev_share = 0.01 of 400 pairs"):
        with_dev(TextData(train=data.train, dev_share=0.01), 1, tmp_path / "other")


def test_rows_keep_their_columns(tmp_path: Path) -> None:
    rows = [f"a {number}\tb\tc {number}\n" for number in range(200)]
    (tmp_path / "all.tsv").write_text("source\tdraft\ttarget\n" + "".join(rows))
    data = RowData(train=(str(tmp_path / "all.tsv"),))
    found = with_dev_rows(data, 1, tmp_path / "out")
    parts = [
        list(row_pairs(files, ("source", "draft"), "target")) for files in (found.train, found.dev)
    ]
    assert [len(part) for part in parts] == [180, 20]
    assert sorted(parts[0] + parts[1]) == sorted(
        row_pairs(data.train, ("source", "draft"), "target")
    )

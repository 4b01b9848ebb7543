"""Names and cells that other people chose control neither a terminal nor a spreadsheet."""

from __future__ import annotations

import json

from attncli.caption.writers import CaptionedImage, rendered
from attncli.data.named_files import ImageFile
from attncli.render.rows import RowLayout
from attncli.terminal.messages import cell, printable
from attncli.training.log import read_log
from models.core.types import Hypothesis


def test_names_of_images_are_escaped_in_every_format() -> None:
    name = "a\x1b[2J\x9b31m\u202egpj\udcff.png"
    outcome = CaptionedImage(ImageFile(name), (Hypothesis("c", 0.0, 0.0, (), ()),))
    for kind in ("text", "tsv"):
        row = rendered([outcome], RowLayout(kind))
        assert row.startswith(b"a\\x1b[2J\\x9b31m\\u202egpj\xff.png\t")
    row = rendered([outcome], RowLayout("jsonl"))
    assert printable(row.decode().rstrip("\n")) == row.decode().rstrip("\n")
    assert json.loads(row)["image"] == name.replace("\udcff", "?")


def test_cells_of_csv_files_are_no_formulas() -> None:
    shown = ["'=1+1", "'-x", "a=b", -1.5, None]
    assert [cell(x) for x in ("=1+1", "-x", "a=b", -1.5, None)] == shown


def test_a_damaged_line_of_the_log_is_skipped(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"event": "dev", "step": 1}\n{"event": \xff\n[[[\n7\n\n{"event": "end"}\n')
    assert [record["event"] for record in read_log(path)] == ["dev", "end"]

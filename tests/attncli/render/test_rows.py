"""A task that states cells and a record gets text, n-best lists, TSV and JSON lines."""

from __future__ import annotations

import json

import pytest

from attncli.render.rows import InputCells, OutputCells, RowWriter, columns, wrapped
from attncli.render.rows import RowLayout as Layout


def cells(text: str, layout: Layout) -> InputCells:
    """Return two outputs for a text, and one without content for an empty text."""
    outputs = [OutputCells(f"{text}\t{n}\n", f"0.{n}", ("more",)) for n in (1, 2) if text]
    return InputCells(text, outputs or [OutputCells(columns=("",))], number=3)


WRITER: RowWriter[str] = RowWriter(cells, lambda text, layout: {"text": text})


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (Layout(), ["a\t1 "]),
        (Layout(scores=True), ["0.1\ta\t1 "]),
        (Layout(nbest=True), ["2 ||| a\t1  ||| 0.1", "2 ||| a\t2  ||| 0.2"]),
        (Layout("tsv"), ["a\ta 1 \t0.1\tmore", "a\ta 2 \t0.2\tmore"]),
    ],
)
def test_each_output_is_one_row(layout: Layout, expected: list[str]) -> None:
    assert list(WRITER.rows("a", layout)) == expected


@pytest.mark.parametrize(
    "layout",
    [Layout(f, n, s) for f in ("text", "tsv") for n in (False, True) for s in (False, True)],
)
def test_an_input_without_outputs_keeps_its_row_and_columns(layout: Layout) -> None:
    (row,) = WRITER.rows("", layout)
    (full, *_) = WRITER.rows("a", layout)
    for separator in ("\t", " ||| ") if layout.format == "tsv" else (" ||| ",):
        assert row.count(separator) == full.count(separator)


def test_a_record_is_one_line_of_json_and_a_format_of_the_task_comes_first() -> None:
    (row,) = WRITER.rows("a\nb", Layout("jsonl"))
    assert json.loads(row) == {"text": "a\nb"} and "\n" not in row
    own: RowWriter[str] = RowWriter(
        cells, WRITER.record, {"text": lambda text, layout: [text.upper()]}
    )
    assert list(own.rows("a", Layout())) == ["A"]
    assert list(own.rows("a", Layout("tsv"))) == list(WRITER.rows("a", Layout("tsv")))


def test_long_lines_of_a_table_continue_below_the_second_column() -> None:
    table = columns([["  a", "one two three four"], ["  bcd", "five"]], left=2)
    assert wrapped(f"Names\n\n{table}", 16) == (
        "Names\n\n  a    one two\n       three\n       four\n  bcd  five\n"
    )
    assert wrapped(table, 80) == table

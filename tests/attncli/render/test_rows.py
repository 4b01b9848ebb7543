"""A task that states cells and a record gets text, n-best lists, TSV and JSON lines."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from attncli.options.settings import Options
from attncli.render.rows import InputCells, OutputCells, RowRunner


def cells(text: str) -> InputCells:
    """Return two outputs for a text, and one without content for an empty text."""
    outputs = [OutputCells(f"{text}\t{n}\n", f"0.{n}", ("more",)) for n in (1, 2) if text]
    return InputCells(text, outputs or [OutputCells(columns=("",))], number=3)


def lines(text: str, format: str = "text", nbest: bool = False, scores: bool = False) -> list[str]:
    runner: Any = SimpleNamespace(
        options=Options(format=format, with_scores=scores),
        several=nbest,
        cells=cells,
        record=lambda text: {"text": text},
    )
    return list(RowRunner.lines(runner, text))


def test_each_output_is_one_row() -> None:
    assert lines("a") == ["a\t1 "]
    assert lines("a", scores=True) == ["0.1\ta\t1 "]
    assert lines("a", nbest=True) == ["2 ||| a\t1  ||| 0.1", "2 ||| a\t2  ||| 0.2"]
    assert lines("a", "tsv") == ["a\ta 1 \t0.1\tmore", "a\ta 2 \t0.2\tmore"]
    assert json.loads(*lines("a\nb", "jsonl")) == {"text": "a\nb"}


@pytest.mark.parametrize("format", ["text", "tsv"])
@pytest.mark.parametrize("nbest", [False, True])
@pytest.mark.parametrize("scores", [False, True])
def test_an_input_without_outputs_keeps_its_row_and_columns(
    format: str, nbest: bool, scores: bool
) -> None:
    (row,), (full, *_) = (lines(text, format, nbest, scores) for text in ("", "a"))
    for separator in ("\t", " ||| ") if format == "tsv" else (" ||| ",):
        assert row.count(separator) == full.count(separator)

"""The document of ceilings has the rows of the table, and the table has every ceiling."""

from __future__ import annotations

from pathlib import Path

from models.base import limits


def test_the_document_has_the_table() -> None:
    assert limits.table() in Path("docs/limits.md").read_text("utf-8")


def test_every_ceiling_has_a_row() -> None:
    constants = {
        name
        for name, value in vars(limits).items()
        if isinstance(value, int) and name not in ("MIB", "GIB")
    }
    assert constants == {ceiling.name for ceiling in limits.CEILINGS}

"""Tables of labelled texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from attncli.data.lines import open_text
from attncli.data.tables import WITH_TABS, without_header
from attncli.terminal.messages import counted
from models.core.errors import InputError, ModelError
from models.core.sources import TAB

MORE_LABELS = 2  # labels per different text, above which the columns must be exchanged


class LabelledText(NamedTuple):
    """A text and its label."""

    label: str
    text: str


def read_labelled(path: Path | str) -> list[LabelledText]:
    """Return the rows of a table.

    Raises ModelError for a row without a tab or a label, and for a table without any text.
    """

    def cells(lines: Iterable[str]) -> Iterator[list[str]]:
        for number, line in enumerate(lines, 1):
            label, tab, _ = line.partition(TAB)
            if line.strip() and not (tab and label.strip()):
                missing = "label" if tab else "tab"
                found = f"{path}, line {number} has no {missing}"
                raise ModelError(found, "label, tab, text", "" if tab else WITH_TABS)
            if line.strip():
                yield line.split(TAB)

    with open_text(path) as lines:
        found = without_header(cells(lines), Path(path).name, column=1)
        rows = [LabelledText(label.strip(), text) for label, text, *_ in found]
    if not any(row.text.strip() for row in rows):
        raise ModelError(f"{path} has no texts", "rows of label, tab, text")
    return rows


def check_order(rows: Sequence[LabelledText], path: str) -> None:
    """Raise InputError for a table whose columns are exchanged: many long labels of a few texts."""
    labels, texts = ({row[column] for row in rows} for column in range(2))
    words = [sum(len(cell.split()) for cell in cells) / len(cells) for cells in (labels, texts)]
    if len(labels) > MORE_LABELS * len(texts) and words[0] > words[1]:
        raise InputError(
            f"{path} has {len(labels):,} labels for {counted(len(texts), 'different text')}",
            "label, tab, text in each line",
            "exchange the columns",
        )

"""Tables of two columns with a tab between.

Labelled texts have the columns label and text; further ones are ignored. A glossary has a source
term and its translation.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from attncli.data.text.headers import without_header
from attncli.data.text.text_files import open_text
from attncli.terminal.messages import counted
from models.base.errors import InputError, ModelError
from models.text.glossary import Glossary, Term

MOST_DEV = 2000  # distinct texts that are set aside for evaluation, at most
MORE_LABELS = 2  # labels per different text, above which the columns must be exchanged


class LabelledText(NamedTuple):
    """A text and its label."""

    label: str
    text: str


def read_labelled(path: Path | str) -> list[LabelledText]:
    """Return the rows of a table.

    Raises ModelError for a row without a tab or a label, and for a table without any text.
    """
    with open_text(path) as lines:
        cells = without_header(_labelled(path, lines), Path(path).name, column=1)
        rows = [LabelledText(label.strip(), text) for label, text, *_ in cells]
    if not any(row.text.strip() for row in rows):
        raise ModelError(f"{path} has no texts", "rows of label, tab, text")
    return rows


def _labelled(path: Path | str, lines: Iterable[str]) -> Iterator[list[str]]:
    for number, line in enumerate(lines, 1):
        label, tab, rest = line.partition("\t")
        if not line.strip():
            continue
        if not tab or not label.strip():
            raise ModelError(
                f"{path}, line {number} has no {'label' if tab else 'tab'}", "label, tab, text"
            )
        yield [label, *rest.split("\t")]


def check_order(rows: Sequence[LabelledText], path: str) -> None:
    """Raise InputError for a table whose columns are exchanged: many labels for a few texts."""
    labels, texts = ({row[column] for row in rows} for column in range(2))
    if len(labels) > MORE_LABELS * len(texts):
        raise InputError(
            f"{path} has {len(labels):,} labels for {counted(len(texts), 'different text')}",
            "label, tab, text in each line",
            "exchange the columns",
        )


def set_aside(
    rows: Sequence[LabelledText], share: float, seed: int
) -> tuple[list[LabelledText], list[LabelledText]]:
    """Return the rows for training and those for evaluation; no text is in both.

    share: of the distinct texts, sampled by the seed; at most MOST_DEV of them.
    """
    texts = list(dict.fromkeys(row.text for row in rows))
    count = min(round(share * len(texts)), MOST_DEV, len(texts) - 1)
    held = set(random.Random(seed).sample(texts, max(count, 1))) if share else set()
    return [row for row in rows if row.text not in held], [row for row in rows if row.text in held]


def read_glossary(path: Path) -> Glossary:
    """Read a glossary; empty lines are skipped.

    Raises InputError for another line, and for a term that has two translations.
    """
    terms: dict[str, Term] = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            source, _, target = (part.strip() for part in line.partition("\t"))
            if source and target and "\t" not in target:
                term = Term(source, target)
                if terms.setdefault(source.casefold(), term).target != target:
                    raise InputError(
                        f"{path}, line {number} has another translation of '{source}'",
                        "each term once",
                    )
            elif line.strip():
                raise InputError(
                    f"{path}, line {number} is not an entry of a glossary",
                    "source term, tab, target term",
                )
    if not terms:
        raise InputError(f"{path} is empty", "a term on each line")
    return Glossary(tuple(terms.values()))

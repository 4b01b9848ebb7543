"""External alignments: files written by other programs, with weights where they have them.

- Pharaoh, talp and NAACL files of links (`attncli.data.alignments.links`).
- Marian, `--alignment`: `output ||| 0-0 1-2`, or with `soft` a row for each output token, commas
  between the weights of its source tokens: `output ||| 0.9,0.1 0.2,0.8`.

Soft alignments may have a row and a column for the end mark; these are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attncli.data.alignments.links import parse_pharaoh, read_links
from attncli.data.panels import Panel
from attncli.data.text.corpus import BARS
from attncli.data.text.text_files import open_text
from attncli.terminal.messages import counted
from models.base.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

SOFT = re.compile(r"[\d.\s]*\d[\s]*")  # of a source of one token
TEXTS = "the texts that were aligned, words as that program cut them"


class ExternalAlignments(NamedTuple):
    """External alignments of some pairs."""

    panels: list[Panel]
    note: str = ""  # how the file was read


def read_external_alignments(path: Path, lengths: Sequence[tuple[int, int]]) -> ExternalAlignments:
    """Read the alignments of a file. lengths: words of each pair.

    Raises ModelError for a line that is not an alignment, and for alignments of other texts.
    """
    with open_text(path) as lines:
        texts = list(lines)
    if BARS not in next(filter(str.strip, texts), ""):
        links = read_links(path, lengths, hint="")
        return ExternalAlignments([Panel(path.name, r.possible) for r in links.rows], links.note)
    if len(texts) != len(lengths):
        raise ModelError(
            f"{path} has alignments of {counted(len(texts), 'pair')}",
            f"{len(lengths)}, as the texts",
        )
    panels = [
        _panel(path.name, f"{path}, line {number}", text.rpartition(BARS)[2], *size)
        for number, (text, size) in enumerate(zip(texts, lengths, strict=True), 1)
    ]
    return ExternalAlignments(panels)


def _panel(name: str, where: str, text: str, source: int, target: int) -> Panel:
    """Return the alignment of one line, for a pair with these numbers of words."""
    if "," in text or SOFT.fullmatch(text):
        weights = _matrix(where, text, source, target)
        strongest = enumerate(weights.argmax(1).tolist() if weights.size else ())
        return Panel(name, frozenset((i, j) for j, i in strongest if weights[j, i] > 0), weights)
    links = frozenset(link for _, link, _ in parse_pharaoh(text, where))
    for i, j in links:
        if i >= source or j >= target:
            raise ModelError(f"{where}: {i}-{j} in a pair of {source} and {target} words", TEXTS)
    return Panel(name, links)


def _matrix(where: str, text: str, source: int, target: int) -> NDArray[Any]:
    """Return weights (J, I) without those of an end mark."""
    import numpy

    try:
        rows = [[float(number) for number in row.split(",")] for row in text.split()]
        table = numpy.array(rows)
        if table.ndim != 2 or not numpy.isfinite(table).all():
            raise ValueError
    except ValueError:
        raise ModelError(f"{where} has no table of weights", "rows of equal length") from None
    for size, there, side in zip((target, source), table.shape, ("target", "source"), strict=True):
        if there - size not in (0, 1):
            raise ModelError(
                f"{where} has weights of {there} {side} tokens, the text {size} words", TEXTS
            )
    return table[:target, :source]

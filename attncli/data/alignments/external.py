"""External alignments: files written by other programs, with weights where they have them.

- Pharaoh, talp and NAACL files of links (`attncli.data.alignments.links`).
- Marian, `--alignment`: `output ||| 0-0 1-2`, or with `soft` a row for each output token, commas
  between the weights of its source tokens: `output ||| 0.9,0.1 0.2,0.8`.
- fairseq, `--print-alignment`: lines `A-7<tab>0-0 1-2`, or rows as Marian's, among S-, T-, H- and
  D- lines, in any order of numbers from 0.
- JSON lines that `attn align` wrote.

Soft alignments may have a row and a column for the end mark; these are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attncli.data.alignments.links import NUMBER, Index, parse_pharaoh, read_links
from attncli.data.panels import Panel
from attncli.data.text.corpus import BARS
from attncli.data.text.text_files import open_text
from attncli.terminal.plurals import counted
from models.base.errors import ModelError
from models.base.parsing import parse_json
from models.base.types import Link

if TYPE_CHECKING:
    from numpy.typing import NDArray

FAIRSEQ = re.compile(rf"([A-Z])-({NUMBER})\t(.*)", re.DOTALL)
SOFT = re.compile(r"[\d.\s]*\d[\s]*")  # of a source of one token


class ExternalAlignments(NamedTuple):
    """External alignments of some pairs, and the texts of the pairs if the file has them."""

    panels: tuple[Panel, ...]
    texts: tuple[tuple[str, str], ...] = ()
    note: str = ""  # how the file was read


class AlignmentLine(NamedTuple):
    """Alignment text of one line."""

    line: int  # from 1
    text: str


def read_external_alignments(
    path: Path,
    lengths: Sequence[tuple[int, int]] | None,
    *,
    index: Index | None = None,
    skip_bad: bool = False,
) -> ExternalAlignments:
    """Read the alignments of a file. lengths: words of each pair, None to take them from the file.

    Raises ModelError for a line that is not an alignment, and for alignments of other texts.
    """
    with open_text(path) as lines:
        texts = list(lines)
    first = next((text for text in texts if text.strip()), "")
    if first.startswith("{"):
        return _read_json_lines(path, texts)
    if any(text.startswith("A-") and FAIRSEQ.fullmatch(text) for text in texts):
        rows, found = _fairseq(texts)
    elif BARS in first:
        rows = [
            AlignmentLine(number, text.rpartition(BARS)[2]) for number, text in enumerate(texts, 1)
        ]
        found = ()
    else:
        links = read_links(path, lengths, index=index, option="-s links.index=", skip_bad=skip_bad)
        note = f"counts from {links.base} ({links.reason})"
        return ExternalAlignments(
            tuple(Panel(path.name, row.possible) for row in links.rows), (), note
        )
    sizes = lengths or [(len(source.split()), len(target.split())) for source, target in found]
    if not sizes or len(rows) != len(sizes):
        known = f"{len(sizes)}, as the texts" if sizes else "its texts beside it: SOURCE TARGET"
        raise ModelError(f"{path} has alignments of {counted(len(rows), 'pair')}", known)
    panels = [_panel(path, row, *size) for row, size in zip(rows, sizes, strict=True)]
    return ExternalAlignments(tuple(panels), found)


def _fairseq(texts: Iterable[str]) -> tuple[list[AlignmentLine], tuple[tuple[str, str], ...]]:
    """Return alignments in order of their numbers; and the text pairs, if all are present."""
    known: dict[str, dict[int, AlignmentLine]] = {kind: {} for kind in "ASTH"}
    for number, text in enumerate(texts, 1):
        match = FAIRSEQ.fullmatch(text)
        if match and match[1] in known:
            rest = match[3].rpartition("\t")[2]  # without the score of an H- line
            known[match[1]].setdefault(int(match[2]), AlignmentLine(number, rest))
    order = sorted(known["A"])
    outputs = known["H"] or known["T"]
    if not all(n in known["S"] and n in outputs for n in order):
        return [known["A"][n] for n in order], ()
    pairs = tuple((known["S"][n].text, outputs[n].text) for n in order)
    return [known["A"][n] for n in order], pairs


def _panel(path: Path, row: AlignmentLine, source: int, target: int) -> Panel:
    """Return the alignment of one line, for a pair with these numbers of words."""
    where = f"{path}, line {row.line}"
    if "," in row.text or SOFT.fullmatch(row.text):
        weights = _matrix(where, row.text, source, target)
        return Panel(path.name, _strongest(weights), weights)
    try:
        links = frozenset(link for _, link, _ in parse_pharaoh(row.text))
    except ValueError as error:
        raise ModelError(
            f"{where}: {str(error)[:40]!r} is not an alignment", "links or weights"
        ) from None
    for i, j in links:
        if i >= source or j >= target:
            seen = f"{where}: {i}-{j} in a pair of {source} and {target} words"
            raise ModelError(seen, "the texts that were aligned, words as that program cut them")
    return Panel(path.name, links)


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
                f"{where} has weights of {there} {side} tokens, the text {size} words",
                "the texts that were aligned, words as that program cut them",
            )
    return table[:target, :source]


def _strongest(weights: NDArray[Any]) -> frozenset[Link]:
    """Link each target unit with the source unit of the largest weight."""
    if 0 in weights.shape:
        return frozenset()
    return frozenset((int(i), j) for j, i in enumerate(weights.argmax(1)) if weights[j, i] > 0)


def _read_json_lines(path: Path, texts: Sequence[str]) -> ExternalAlignments:
    """Read the output of `attn align --format jsonl`; its units are its words."""
    import numpy

    panels, pairs = [], []
    for number, text in enumerate(texts, 1):
        try:
            record = parse_json(text)
            links = frozenset((int(i), int(j)) for i, j in record["links"])
            weights = record.get("weights")
            shape = len(record["target"]), len(record["source"])
            table = None if weights is None else numpy.array(weights, float).reshape(shape)
            pairs.append((" ".join(record["source"]), " ".join(record["target"])))
            if any(not (0 <= i < shape[1] and 0 <= j < shape[0]) for i, j in links):
                raise ValueError("a link names a word that is not there")
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise ModelError(f"{path}, line {number} is not an alignment ({error})") from None
        panels.append(Panel(path.name, links, table))
    return ExternalAlignments(tuple(panels), tuple(pairs))

"""Tables of texts, and rows of several inputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from attncli.data.lines import open_text
from attncli.data.streams import decompressed, open_input, read_whole
from attncli.faithful.result import Line
from attncli.terminal import console
from attncli.terminal.messages import counted
from models.core.errors import InputError, ModelError
from models.core.settings import parse_json
from models.core.sources import TAB
from models.text.languages import Glossary, Term
from models.text.lexicon import LONGEST, MARKS, form_of, is_form

MARK = b"\xef\xbb\xbf"  # a byte order mark
WAY = re.compile(r"\w+-\w+")  # a direction
Row = TypeVar("Row", bound=Sequence[str])

WITH_TABS = "save a table of commas with tabs"  # advice for one that is not read
HEAD = 50  # rows by which a column of numbers is recognised
MIN_NUMBERS = 3  # filled cells of such a column
NUMBER = re.compile(r"[\s\d.,:;%/+-]*\d[\s\d.,:;%/+-]*")
NAME = re.compile(  # of a column, in lower case
    "labels?|class|category|intent|topic|sentiment|tag|annotation|texts?|sentences?|utterance|"
    "content|document|query|source|src|source_text|input|target|tgt|target_text|output|translation|"
    "reference|id|nr|no|number|index|score|line|ar|bg|ca|cs|da|de|el|en|es|et|fa|fi|fr|hr|hu|ja|ko|"
    "lt|lv|nb|nl|nn|pl|pt|ro|ru|sk|sl|sv|tr|uk|vi|zh|eng|deu|ger|fra|fre|spa|ita|nld|por|rus|"
    "english|german|french|spanish|italian|dutch|portuguese|russian|chinese|japanese|deutsch|"
    "englisch|français|español|italiano|nederlands"
)


def read_content(path: Path | str) -> bytes:
    """Return the decompressed content of a file, without a byte order mark."""
    with open_input(Path(path)) as stream:
        return read_whole(stream, path).removeprefix(MARK)


def read_head(path: Path | str) -> bytes:
    """Return the first decompressed bytes of a file, without a byte order mark."""
    with open_input(Path(path)) as stream:
        return next(decompressed(stream, path), b"").removeprefix(MARK)


def is_header(row: Sequence[str]) -> bool:
    """Return True if a first row has two or more cells, different names of columns."""
    cells = [re.sub(r"[\s_-]*\d*$", "", cell.strip().strip("#\"'").lower()) for cell in row]
    names = [re.sub(r"^(text|source|target|sentence|src|tgt)[\s_-]", "", cell) for cell in cells]
    return len(names) > 1 and len({*names}) > 1 and all(map(NAME.fullmatch, names))


def without_header(rows: Iterator[Row], name: str, *, column: int = 0) -> Iterator[Row]:
    """Yield the rows of a table or of parallel files, without a first row that names the columns.

    name: of the files, for messages. column: that of the texts to read, which is reported if it has
    numbers alone. Raises InputError if it is one of three or more columns.
    """
    head = list(islice(rows, HEAD))
    if len(head) > 1 and is_header(head[0]):
        _say(f"{name}: line 1 ({', '.join(head[0])}) names the columns, and is left out")
        del head[0]
    _check_numbers(head, name, column)
    yield from chain(head, rows)


def _check_numbers(rows: Sequence[Sequence[str]], name: str, column: int) -> None:
    """Report texts that are numbers alone, beside texts that are not."""
    filled = [row for row in rows if len(row) > column and row[column].strip()]
    if len(filled) < MIN_NUMBERS or not all(NUMBER.fullmatch(row[column]) for row in filled):
        return
    others = [cell for row in filled for n, cell in enumerate(row) if n != column]
    if all(NUMBER.fullmatch(cell) for cell in others if cell.strip()):
        return
    found = f"column {column + 1} of {name} has numbers alone"
    if min(map(len, filled)) > 2:
        raise InputError(found, "text in it", "remove the column, as with `cut -f2-`")
    remark = f"{found}: it is read as text; remove the column if it counts or scores the rows"
    _say(remark, warning=True)


@cache
def _say(message: str, *, warning: bool = False) -> None:
    """Say a message once, although files are read several times."""
    (console.warn if warning else console.say)(message)


def read_glossary(path: Path) -> Glossary:
    """Read a glossary; empty lines are skipped.

    Raises InputError for another line, and for a term that has two translations.
    """
    terms: dict[str, Term] = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            where = f"{path}, line {number}"
            source, _, target = (part.strip() for part in line.partition(TAB))
            if source and target and TAB not in target:
                term = Term(source, target)
                if terms.setdefault(source.casefold(), term).target != target:
                    found = f"{where} has another translation of '{source}'"
                    raise InputError(found, "each term once")
            elif line.strip():
                found = f"{where} is not an entry of a glossary"
                raise InputError(found, "source term, tab, target term")
    if not terms:
        raise InputError(f"{path} is empty", "a term on each line")
    return Glossary(tuple(terms.values()))


class LexiconRow(NamedTuple):
    """A line of a table of words: a form and one of its translations."""

    form: str
    candidate: str
    direction: str = ""  # such as en-de; "" for a line without a third column


def read_lexicon_table(path: Path) -> list[LexiconRow]:
    """Read a table of words: form, tab, translation, and perhaps a tab and a direction.

    Forms of more than LONGEST words are left out, and counted in a message. Raises InputError for
    another line, and for a table without entries.
    """
    rows, long = list[LexiconRow](), 0
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            cells = [part.strip() for part in line.rstrip("\n").split(TAB)]
            given, candidate, direction, *_ = *cells, "", ""
            form = form_of(given)
            fits = bool(form and candidate) and not {*MARKS, "|"} & {*line}
            if fits and (not direction or WAY.fullmatch(direction)):
                long += not is_form(form)
                rows += [LexiconRow(form, candidate, direction)] if is_form(form) else []
            elif line.strip():
                raise InputError(
                    f"{path}, line {number} is no entry of a lexicon",
                    "word, tab, translation; then perhaps a tab and a direction such as en-de",
                )
    if long:
        _say(f"{path}: {counted(long, 'entry')} of more than {LONGEST} words left out")
    if not rows:
        raise InputError(f"{path} is empty", "a word, a tab and its translation on each line")
    return rows


def row_pairs(
    paths: Sequence[Path | str], inputs: Sequence[str], target: str
) -> Iterator[tuple[str, str]]:
    """Yield the row of inputs and the target of each line of a table of several inputs.

    A row becomes a text: its inputs in the order in which the model reads them, with tabs between.
    Raises ModelError for several files, a missing column, and a line with another number of
    columns than the header.
    """
    if len(paths) != 1:
        raise ModelError(
            f"{len(paths) or 'no'} files of rows of several inputs",
            "one table whose first line names its columns",
            f"it has the columns {', '.join((*inputs, target))}",
        )
    path = Path(paths[0])
    with open_text(path, as_written=True) as lines:
        header = next(lines, "").split(TAB)
        places = column_places(header, (*inputs, target), path.name)
        count = 0
        for count, line in enumerate(lines, 1):
            cells = line.split(TAB)
            if len(cells) != len(header):
                raise ModelError(
                    f"{path}, line {count + 1} has {len(cells)} columns",
                    f"{len(header)}, as the header",
                )
            *row, translation = (cells[place] for place in places)
            yield TAB.join(row), translation
        if not count:
            raise ModelError(f"{path} has no rows", "a row on each line after the header")


def column_places(header: Sequence[str], wanted: Sequence[str], name: str) -> list[int]:
    """Return the place of each wanted column; raise ModelError if the header lacks one."""
    for column in wanted:
        if column not in header:
            raise ModelError(
                f"{name} has no column {column!r} in its first line ({', '.join(header)[:80]})",
                f"columns {', '.join(wanted)}",
                "name them with -s model.inputs=A,B and -s data.target=C",
            )
    return [header.index(column) for column in wanted]


def as_rows(
    chunks: Iterable[Sequence[Line]],
    inputs: Sequence[str],
    fault: Callable[[str], str] = lambda row: "",
) -> Iterator[list[Line]]:
    """Yield chunks of lines as rows: the inputs, separated by tabs, in the model's order.

    A first line that names all inputs is a header; it becomes an empty line. A line that starts
    with a brace is a JSON object of the inputs. A line that is no row has a fault. fault: returns
    why the image of a row cannot be read, or "".
    """
    places, width = list(range(len(inputs))), len(inputs)
    for chunk in chunks:
        rows = []
        for line in chunk:
            cells = line.text.split(TAB)
            if line.number == 1 and {*inputs} <= {*cells}:
                places, width = column_places(cells, inputs, "the input"), len(cells)
                line = line._replace(text="")
            row = _row(line, inputs, places, width)
            if row.text.strip() and not row.fault and (reason := fault(row.text)):
                row = row._replace(fault=f"a row without its image ({reason})")
            rows.append(row)
        yield rows


def _row(line: Line, inputs: Sequence[str], places: Sequence[int], width: int) -> Line:
    if line.fault or not line.text.strip():
        return line
    if line.text.lstrip().startswith("{"):
        try:
            record = parse_json(line.text)
            row = [str(record[name]).replace(TAB, " ").replace("\n", " ") for name in inputs]
        except (ValueError, ModelError):
            return line._replace(fault="not valid JSON")
        except (KeyError, TypeError) as error:
            return line._replace(fault=f"a JSON object without {error}")
    else:
        cells = line.text.split(TAB)
        if len(cells) != width:
            found = f"a row of {len(cells)} columns in place of {width} ({', '.join(inputs)})"
            return line._replace(fault=found)
        row = [cells[place] for place in places]
    return line._replace(text=TAB.join(row))

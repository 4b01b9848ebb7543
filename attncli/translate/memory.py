"""Translation memory: lines whose translations people gave; they come back as given.

memory = TranslationMemory(read_memory(Path("pairs.tsv")), "en", "de")
memory.find("The box has 12 screws.")    # the translation, and how it was found

A line is found by its text, spaces aside. A line that differs from a source in numbers alone has
its numbers filled in, if it is certain where: each number of the translation is one of the source,
and none becomes 1 or was 1, because other words may depend on that.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

from attncli.data.corpus import read_pairs
from attncli.data.tables import read_content
from attncli.faithful.numbers import SEPARATORS, localised
from attncli.faithful.result import Line, TranslatedLine
from models.core.errors import InputError
from models.core.types import EMPTY, Translation

EXACT, NUMBERS = "exact", "numbers"  # how a line was found
TMX = ".tmx"
NUMBER = re.compile(rf"\d+(?:{SEPARATORS}\d+)*")
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"

Pairs = Iterable[Sequence[str]]  # source and translation
TranslateChunks = Callable[[Iterable[Sequence[Line]]], Iterator[list[TranslatedLine]]]


class TranslationMemory:
    """Sources with their translations; of several translations of a source, the last counts."""

    def __init__(self, pairs: Pairs, source: str = "", to: str = "") -> None:
        """source, to: languages, for the separators of numbers; "" if they are unknown."""
        self._languages = source, to
        self._pairs = {normal(source): target.strip() for source, target in pairs}
        self._shapes = {NUMBER.sub("#", one): one for one in self._pairs if NUMBER.search(one)}

    def find(self, text: str) -> tuple[str, str]:
        """Return the translation of a text, and EXACT or NUMBERS; two empty texts without one."""
        wanted = normal(text)
        if found := self._pairs.get(wanted, ""):
            return found, EXACT
        known = self._shapes.get(NUMBER.sub("#", wanted), "") if NUMBER.search(wanted) else ""
        if known and (found := filled(known, self._pairs[known], wanted, self._languages)):
            return found, NUMBERS
        return "", ""

    def result(self, line: Line) -> TranslatedLine | None:
        """Return the result of a line that is found; the spaces around it stay."""
        found, how = ("", "") if line.fault else self.find(line.text)
        if not found:
            return None
        before, _, after = line.text.partition(line.text.strip())
        output = EMPTY._replace(text=f"{before}{found}{after}")
        return TranslatedLine(line, Translation(line.text, (output,)), memory=how)

    def first(
        self, chunks: Iterable[Sequence[Line]], translate: TranslateChunks
    ) -> Iterator[list[TranslatedLine]]:
        """Yield the results of each chunk; `translate` receives the lines that are not found."""
        waiting: deque[list[TranslatedLine | None]] = deque()

        def others() -> Iterator[list[Line]]:
            for chunk in chunks:
                steered = [bool(line.prefix or line.looks) for line in chunk]
                pairs = zip(chunk, steered, strict=True)
                waiting.append([None if own else self.result(line) for line, own in pairs])
                yield [line for line, one in zip(chunk, waiting[-1], strict=True) if not one]

        for results in translate(others()):
            rest = iter(results)
            yield [one or next(rest) for one in waiting.popleft()]


def normal(text: str) -> str:
    """Return a text by which it is found: composed characters and single spaces."""
    return " ".join(normalize("NFC", text).split())


def filled(source: str, target: str, wanted: str, languages: tuple[str, str]) -> str:
    """Return a translation with the numbers of another source; "" if their places are uncertain."""
    forms: dict[str, str] = {}
    given = NUMBER.findall(target)
    for old, new in zip(NUMBER.findall(source), NUMBER.findall(wanted), strict=True):
        own = {old: new, localised(old, *languages): localised(new, *languages)}
        if old != new and ("1" in (old, new) or not own.keys() & {*given}):
            return ""
        if any(forms.setdefault(form, other) != other for form, other in own.items()):
            return ""
    if not {*given} <= forms.keys():
        return ""
    return NUMBER.sub(lambda found: forms[found[0]], target)


def read_memory(path: Path, source: str = "", to: str = "") -> tuple[tuple[str, str], ...]:
    """Return the pairs of a table of source, tab, translation, or of a TMX file.

    source, to: languages of the pairs of a TMX file; "": that of its sources, and another one.
    Raises InputError if there are none.
    """
    if path.suffix.lower() == TMX:
        found = [*_units(path, source, to)]
        languages = f" from {source or 'its source language'} to {to or 'another one'}"
    else:
        found, languages = [(one.source, one.references[0]) for one in read_pairs([path])], ""
    pairs = tuple(pair for pair in found if all(text.strip() for text in pair))
    if not pairs:
        raise InputError(f"{path} has no pairs{languages}", "texts with their translations")
    return pairs


def _units(path: Path, source: str, to: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a TMX file; codes inside of a segment are left out."""
    from lxml import etree  # imported here because other translations then start faster

    # a file must not make the program read other files
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        root = etree.fromstring(read_content(path), parser)
    except etree.XMLSyntaxError as error:
        raise InputError(f"{path} cannot be read ({error})", "a TMX file") from None
    head = root.find("header")
    source = source or (head.get("srclang", "") if head is not None else "")
    for unit in root.iter("tu"):
        texts: dict[str, str] = {}
        for variant in unit.iter("tuv"):
            segment, name = variant.find("seg"), variant.get(LANGUAGE) or variant.get("lang") or ""
            texts[name] = _text(segment) if segment is not None else ""
        begins = next((name for name in texts if source and _matches(name, source)), "")
        others = [name for name in texts if name != begins and (not to or _matches(name, to))]
        if not begins:  # the source language is unknown, or not in this file
            begins = next((name for name in texts if name not in others), "") if not source else ""
        if begins and others:
            yield texts[begins], texts[others[0]]


def _matches(name: str, language: str) -> bool:
    """Return True for a language with or without its region: de, de-DE."""
    return name.lower().replace("_", "-").partition("-")[0] == language.lower().partition("-")[0]


def _text(segment: Any) -> str:
    """Return the text of a segment without the codes of its inline elements."""
    parts = [segment.text or ""]
    for child in segment:
        parts += [_text(child) if child.tag == "hi" else "", child.tail or ""]
    return "".join(parts)

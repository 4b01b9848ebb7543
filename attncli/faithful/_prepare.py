"""From a line to the pieces that a model reads; a text inside tags is prepared as one alone.

The steps, in this order:
 1. tags are taken out (`attncli.documents.tags`); their places move with the text from here on
 2. around the text, tags, spaces, emoji, marks such as "## " and numbers as "2.1. " are set aside
 3. the sign of the key of a menu entry is taken out: &File
 4. a message is divided into its branches
 5. what must not change gets a mark
 6. the text is divided at separators and at the tags of blocks
 7. of each part, spaces and dots at its end are set aside; one of numbers, marks or keys is copied
 8. signs, times, spaces, apostrophes and accents become those that the model knows
 9. a heading With Capitals, or IN CAPITALS, becomes a sentence
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate, pairwise, zip_longest
from typing import TYPE_CHECKING, Any
from unicodedata import combining

from attncli.faithful.branches import branches
from attncli.faithful.divide import SEPARATOR
from attncli.faithful.numbers import with_half_days
from attncli.faithful.pieces import TaggedLine
from attncli.faithful.protect import FIRST, Part, can_protect, protect
from attncli.faithful.spans import has_word
from models.core.types import Span
from models.core.use_config import VERBATIM, PrepareConfig
from models.text.normalise import APOSTROPHE_SIGNS as APOSTROPHES
from models.text.normalise import (
    PLAIN_SIGNS,
    composed,
    is_all_capitals,
    is_outer,
    is_untranslatable,
    outer_symbols,
    prepared,
    sentence_case,
)

if TYPE_CHECKING:
    from attncli.faithful.result import Line
    from models.engines.text_translator import TextTranslator

# the key of a menu entry: &File, Save _As, E&xit, Pre_ferences
ACCESS = re.compile(
    r"(?<![\S_])[&_](?=[^\W\d_]+(?![\w;]))|(?<=[^\W\d_])&(?=[a-z]+(?![\w;]))"
    r"|(?<=\b[A-Z])_(?=[a-z]+\b)|(?<=\b[A-Z][a-z])_(?=[a-z]+\b)|(?<=\b[A-Z][a-z]{2})_(?=[a-z]+\b)"
)
KEYS = re.compile(
    r"(?:(?:Ctrl|Ctl|Control|Strg|Alt|AltGr|Shift|Cmd|Command|Option|Meta|Super|Win)[+-]){1,4}\S{1,9}"
)
ITEM = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,4}\.\s+(?=[^\W\d_])")  # of a numbered list
AROUND = re.compile(r"\s*<([A-Za-z][\w:-]*)(?:\s[^<>]*)?>(.*)</\1>\s*", re.DOTALL)
NESTED = 9  # pairs around a line, at most
ELLIPSIS = re.compile(r"\S+(?:\s+\S+){0,3}?(\s?(?:…|\.{3}))")  # at the end of an entry
CAPITALS = 1.1  # tokens in capitals per token in lower case; above it a model knows no capitals


def inner_of_tags(text: str) -> Span:
    """Return where the text is inside the pairs of tags that stand only around the whole."""
    inner = 0, len(text)
    for _ in range(NESTED):
        found = AROUND.fullmatch(text, *inner)
        if not found:
            break
        inner = found.span(2)
    worded = has_word(text[slice(*inner)]) and "<" not in text[slice(*inner)]
    return inner if worded else (0, len(text))


class LinePreparation:
    """The steps from the text of one line to its pieces."""

    def __init__(
        self,
        line: Line,
        model: TextTranslator,
        form: PrepareConfig,
        languages: tuple[str, str],
        *,
        tags: bool,
    ) -> None:
        """Take a line with or without tags. languages: of the line and of the output."""
        self.line, self.model, self.form, self.languages = line, model, form, languages
        self.is_verbatim, self.has_tags = form is VERBATIM, tags
        self.parts: tuple[Part, ...] = ()
        self.escaped = False

    def of(self, tagged: TaggedLine) -> dict[str, Any]:
        """Return fields of the plan of a line: its pieces, and what is around them.

        Return {} if nothing in the line is translated.
        """
        self.parts, self.escaped = tagged.parts, tagged.escaped
        if not tagged.text.strip():
            return {}
        before, after = self._outer(tagged.text)
        inner = len(before), len(tagged.text) - len(after)
        tagged, inner, key = self._without_key(tagged, inner)
        tagged, texts = self._branches(tagged, inner)
        # placeholders are protected with tags, even if all else is read as it is
        if (self.form.parts or self.has_tags) and can_protect(self.line.text):
            tagged, texts = tagged.changed(self._protected, texts)
        spans = [span for text in texts for span in self._pieces(tagged, *text)]
        if not spans:
            return {}
        last = tagged.text[slice(*spans[-1])]
        tagged, spans = tagged.changed(self._as_read, spans)
        edges = [0, *(edge for span in spans for edge in span), len(tagged.text)]
        cut = [tagged.text[start:end] for start, end in pairwise(edges)]
        gaps, (pieces, capitals) = cut[::2], self._in_case(cut[1::2])
        text = "".join(map("".join, zip_longest(gaps, pieces, fillvalue="")))
        tagged = tagged._replace(text=text, parts=self.parts)
        around = {"gaps": tuple(gaps), "parts": self.parts, "key": key, "capitals": capitals}
        around["open"] = pieces[-1].endswith(".") and not last.endswith(".")  # 9 p.m. for 9 PM
        return {"pieces": tuple(pieces), "tagged": tagged, **around}

    def _outer(self, text: str) -> tuple[str, str]:
        """Return what is before and after the part of a text that the model reads."""
        has_own_tags = self.form.parts and not self.has_tags
        start, end = inner_of_tags(text) if has_own_tags else (0, len(text))
        before, after = self._outer_marks(text[start:end])
        return text[:start] + before, after + text[end:]

    def _outer_marks(self, text: str) -> tuple[str, str]:
        """Return what is before and after the part of a text without outer tags."""
        if self.form.symbols and not all(map(is_outer, text)):
            before, after = outer_symbols(text)
            item = ITEM.match(text, len(before))
            is_item = item and self._is_item(text, item.end())
            return (before + item[0] if item and is_item else before), after
        if not self.form.spaces:
            return "", ""
        before, _, after = text.partition(text.strip())
        return before, after

    def _is_item(self, text: str, at: int) -> bool:
        """Return True if the number before a place is that of an item, not "1." as in "1. Mai"."""
        language = self.languages[0]
        if language not in ("", "de") or text.isupper():
            return True
        return self.model.begins_sentence(text[at:], language)

    def _without_key(self, tagged: TaggedLine, inner: Span) -> tuple[TaggedLine, Span, str]:
        """Return a line without the sign of the key of a menu entry, and this sign or ""."""
        text = tagged.text[slice(*inner)]
        is_label = self.form.parts and ("&" in text or "_" in text) and not tagged.has_inner
        keys = [*ACCESS.finditer(text)] if is_label else []
        # several are signs of the text, such as R & D
        if not len(keys) == 1 == text.count(keys[0][0]):
            return tagged, inner, ""
        at = inner[0] + keys[0].start()
        tagged, _ = tagged.changed(lambda sign: "", [(at, at + 1)])
        return tagged, (inner[0], inner[1] - 1), keys[0][0]

    def _branches(self, tagged: TaggedLine, inner: Span) -> tuple[TaggedLine, list[Span]]:
        """Return a line, and the spans of its texts: of a message, each branch as a whole text."""
        start, end = inner
        found = branches(tagged.text[start:end]) if self.form.parts else []
        if not found or any(start < tag.at < end for tag in tagged.tags):
            return tagged, [inner]
        tagged, _ = tagged.changed(lambda text: "".join(found), [inner])
        edges = [*accumulate(map(len, found), initial=start)]
        return tagged, [*pairwise(edges)][::2]

    def _protected(self, text: str) -> str:
        """Return a text with a mark for each part that must not change."""
        found, self.parts = protect(
            text,
            self.unknown_signs,
            self.languages,
            more=self.parts,
            escaped=self.escaped,
            dollars=self.line.dollars,
            is_word=lambda name: self.model.has_translation(name, text, self.languages[0]),
        )
        return found

    def _pieces(self, tagged: TaggedLine, start: int, end: int) -> Iterator[Span]:
        """Yield the spans of a text that the model reads."""
        blocks = sorted({tag.at for tag in tagged.tags if tag.block and start < tag.at < end})
        bars = {FIRST + number: "|" for number, part in enumerate(self.parts) if part.raw == "|"}
        for first, last in pairwise([start, *blocks, end]):
            text = tagged.text[first:last].translate(bars)  # a model may not know them
            parts = SEPARATOR.split(text) if self.form.parts else [text]
            edges = accumulate(map(len, parts), initial=first)
            for at, part in [*zip(edges, parts, strict=False)][::2]:
                own = part.strip() if self.form.spaces or self.has_tags else part
                if self._is_copied(own):
                    continue
                # a model ends "Save as..." as a sentence; the dots are written back behind it
                dots = ELLIPSIS.fullmatch(own) if self.form.parts else None
                at += part.index(own)
                yield at, at + len(own) - len(dots[1] if dots else "")

    def _is_copied(self, text: str) -> bool:
        if not text.strip() or (self.has_tags and not has_word(text)):
            return True
        is_shortcut = self.form.parts and KEYS.fullmatch(text)
        return bool(is_shortcut) or (self.form.copies and is_untranslatable(text))

    def _as_read(self, text: str) -> str:
        """Return a text with the signs, times, spaces and accents that the model knows."""
        if self.is_verbatim:
            return text
        if self.form.parts:
            text = with_half_days(text, *self.languages)
            unknown = "" if text.isascii() else self.model.unknown_characters(text)
            text = text.translate({ord(sign): PLAIN_SIGNS.get(sign, sign) for sign in unknown})
        return composed(prepared(text, self.form), self.model.source_length)

    def _in_case(self, pieces: list[str]) -> tuple[list[str], bool]:
        """Return texts as sentences have them, and True if outputs are written in capitals."""
        whole, length = " ".join(pieces), self.model.source_length
        # capitals that need many more tokens: the model cannot know the words
        capitals = self.form.capitals and is_all_capitals(whole)
        if capitals and length(whole) > CAPITALS * length(sentence_case(whole)):
            return [*map(sentence_case, pieces)], True
        if self.form.parts and not self.model.inputs:
            language = self.languages[0]
            return [self.model.in_sentence_case(each, language) for each in pieces], False
        return pieces, False

    def unknown_signs(self, text: str) -> str:
        """Return the characters that have neither a token nor a plain sign to read instead."""
        if self.is_verbatim:
            return ""
        return "".join(
            sign
            for sign in self.model.unknown_characters(text)
            if not (sign in PLAIN_SIGNS or sign in APOSTROPHES or sign.isspace() or combining(sign))
        )

"""The plan of a line: what the model reads of it, and how the result is made of its translations.

plan = Plan.of(line, model, options)      # the only reading of a line
plan.texts                                # what the model reads
plan.result(translations)                 # joined, in the form of the source, checked
plan.again(result)                        # None, or one further plan for a line that failed
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING
from unicodedata import combining

from attncli.faithful._fit import Fitting, concatenated, fitted, joined, with_signs
from attncli.faithful._stand_ins import StandIns, marked, readable
from attncli.faithful.checks import Check, check_loop, check_marked, lacks_parts
from attncli.faithful.divide import (
    PlanOptions,
    Reader,
    around_marks,
    divided,
    halves,
    segments,
    too_long,
)
from attncli.faithful.numbers import HOUR
from attncli.faithful.pieces import TaggedLine
from attncli.faithful.protect import FIRST, MARK, MOST, QUICK, Part, protect, restore, with_amounts
from attncli.faithful.result import Line, TranslatedLine
from attncli.faithful.spans import Edit, has_word
from models.core.annexes import need_part
from models.core.limits import LINE_TAGS
from models.core.types import EMPTY, Hypothesis, Translation
from models.core.use_config import VERBATIM, PrepareConfig
from models.search.steering import Steering
from models.text.normalise import APOSTROPHE_SIGNS as APOSTROPHES
from models.text.normalise import (
    PLAIN_SIGNS,
    composed,
    is_all_capitals,
    is_outer,
    is_untranslatable,
    outer_symbols,
    prepared,
    prepared_in_place,
    sentence_case,
)

if TYPE_CHECKING:
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
ELLIPSIS = re.compile(r"(\S+(?:\s+\S+){0,3}?)(\s?(?:…|\.{3}))")  # at the end of an entry
DOTS = re.compile(r"(?<!\.)\.{3}(?!\.)|…")
HALF_DAY = re.compile(  # 7 PM, 7:15pm
    rf"(?<![\w.,:–-])({HOUR})(?:\s?([AP])M|([ap])m)\b(?!\s?[-–]\s?\d)\.?"
)
CAPITALS = 1.1  # tokens in capitals per token in lower case; above it a model knows no capitals
AMOUNTS = frozenset(("digits", "signs"))  # faults that numbers and signs as parts avoid
IN_HALVES = frozenset(("repetition", "length", "empty", "characters"))  # faults of long texts


@dataclass(frozen=True)
class Plan:
    """The pieces of a line, and what is between them. A line that is not translated has none."""

    line: Line
    model: TextTranslator = field(repr=False)
    options: PlanOptions = field(repr=False)
    language: str = ""  # of the line; "" if it is unknown
    pieces: tuple[str, ...] = ()  # with a mark for each protected part
    gaps: tuple[str, ...] = ("", "")  # what is before each of them, and after the last
    parts: tuple[Part, ...] = ()
    tagged: TaggedLine | None = None  # if tags are projected: the tags and the text between them
    key: str = ""  # & or _, which marks a letter as the key of a menu entry: "&Save"
    capitals: bool = False  # the output is written in capitals
    note: str = ""
    refused: bool = False
    copied: bool = False  # the line is its own output
    foreign: bool = False  # copied, because the model has no token for any of its letters
    in_target: bool = False  # copied, because it is in the target language
    steering: tuple[Steering, ...] = ()  # of each piece, if the line is steered

    @classmethod
    def of(
        cls,
        line: Line,
        model: TextTranslator,
        options: PlanOptions,
        *,
        language: str = "",
        tags: bool = False,
    ) -> Plan:
        """Return the plan of a line. Text between tags keeps its spacing and its case.

        language: of the line, "" if it is unknown; a line in the target language passes unchanged.
        """
        language = language or model.source_language
        plan = cls(line, model, options, language)
        if language and language == model.to:
            return replace(plan, copied=True, in_target=True)
        if line.fault:
            return plan._refused(f"line {line.number} is {line.fault}")
        if not line.text.strip():
            return plan
        if plan.form.copies and is_untranslatable(line.text):
            return replace(plan, copied=True)
        letters = [*filter(str.isalpha, line.text)] if not options.verbatim else []
        if letters and all(map(model.unknown_characters, letters)):
            return replace(plan, copied=True, foreign=True)
        return plan._of_tagged() if tags else plan._of_text()

    def _refused(self, note: str) -> Plan:
        return replace(self, note=f"{note}; not translated", refused=True)

    @property
    def form(self) -> PrepareConfig:
        """Preparation of a text for the model."""
        return VERBATIM if self.options.verbatim else self.model.prepare

    @cached_property
    def _read(self) -> list[tuple[str, StandIns, list[Edit]]]:
        return [readable(piece, self.parts, self.model) for piece in self.pieces]

    @property
    def texts(self) -> list[str]:
        """The pieces as the model reads them."""
        return [text for text, *_ in self._read]

    @property
    def stand_ins(self) -> list[tuple[tuple[str, str, str], ...]]:
        """For each piece: each stand-in with its part, as in the source and in the output."""
        return [
            tuple((form, *self.parts[ord(mark) - FIRST][:2]) for mark, form in found.items())
            for _, found, _ in self._read
        ]

    def edits(self, number: int) -> list[Edit]:
        """Return where the stand-ins of a piece are in its text."""
        return self._read[number][2]

    def marked(self, number: int, output: str) -> tuple[str, list[Edit]]:
        """Return an output of a piece with marks in place of stand-ins, and where these were."""
        if output not in self._outputs[number]:
            self._outputs[number][output] = marked(output, self.parts, self._read[number][1])
        return self._outputs[number][output]

    @cached_property
    def _outputs(self) -> list[dict[str, tuple[str, list[Edit]]]]:
        return [{} for _ in self.pieces]

    # from a line to its pieces

    def _of_text(self) -> Plan:
        """Return the plan of a line without tags."""
        text, form = self.line.text, self.form
        before, after = self._outer(text)
        inner = text[len(before) : len(text) - len(after)]
        keys = ACCESS.findall(inner) if form.parts and ("&" in inner or "_" in inner) else []
        # several are signs of the text, such as R & D
        key = keys[0] if len(keys) == 1 == inner.count(keys[0]) else ""
        inner = ACCESS.sub("", inner) if key else inner
        parts: tuple[Part, ...] = ()
        pieces, gaps, gap = [], [], before
        for number, segment in enumerate(segments(inner) if form.parts else [inner]):
            each = segment
            if form.parts:
                each, parts = self._protected(each, parts)
            copied = number % 2 or (form.copies and is_untranslatable(each)) or not each.strip()
            if copied or (form.parts and KEYS.fullmatch(each)):
                gap += each
                continue
            # a model ends "Save as..." as a sentence; the dots are written back behind it
            dots = ELLIPSIS.fullmatch(each) if form.parts else None
            each, behind = dots.groups() if dots else (each, "")
            each = prepared(self._plain(each) if form.parts else each, form)
            each = each if self.options.verbatim else composed(each, self.model.source_length)
            pieces.append(each)
            gaps.append(gap)
            gap = behind
        if not pieces:
            return replace(self, copied=True)
        whole, length = " ".join(pieces), self.model.source_length
        # capitals that need many more tokens: the model cannot know the words
        capitals = form.capitals and is_all_capitals(whole)
        capitals = capitals and length(whole) > CAPITALS * length(sentence_case(whole))
        if capitals:
            pieces = [sentence_case(each) for each in pieces]
        elif form.parts and not self.model.inputs:
            pieces = [self.model.in_sentence_case(each, self.language) for each in pieces]
        plan = replace(self, pieces=tuple(pieces), gaps=(*gaps, gap + after), parts=parts)
        return replace(plan, key=key, capitals=capitals)._shortened()

    def _of_tagged(self) -> Plan:
        """Return the plan of a line whose tags are projected."""
        line, form = self.line.text, self.form
        tags = need_part("tags", "reader", "a line with tags")
        if tags.has_too_many(line):
            return self._refused(f"line {self.line.number} has more than {LINE_TAGS:,} tags")
        unknown = (lambda text: "") if self.options.verbatim else self._unknown_signs
        languages = (self.language, self.model.to)
        tagged: TaggedLine = tags.parse(line, unknown, languages, dollars=self.line.dollars)
        if not tagged.tags and not self.options.verbatim and not tagged.escaped:
            return self._of_text()
        if not has_word(tagged.text):
            return replace(self, tagged=tagged)
        if form.copies and is_untranslatable(tagged.text):
            return replace(self, copied=True)
        if not self.options.verbatim:
            tagged = tagged.changed(
                lambda text: composed(self._plain(text), self.model.source_length)
            )
            tagged = tagged._replace(text=prepared_in_place(tagged.text, form))
        pieces, gaps = list[str](), [""]
        for block in tagged.blocks:
            if has_word(block):
                pieces.append(block)
                gaps.append(" ")
            elif MARK.search(block):  # a placeholder between two blocks
                gaps[-1] += block if gaps[-1].endswith(" ") or not pieces else f" {block}"
                gaps[-1] += " "
        gaps[-1] = gaps[-1].rstrip()
        plan = replace(self, pieces=tuple(pieces), gaps=tuple(gaps), tagged=tagged)
        return replace(plan, parts=tagged.parts)._shortened()

    def _outer(self, text: str) -> tuple[str, str]:
        """Return what is before and after the part of a text that the model reads."""
        if self.form.symbols and not all(map(is_outer, text)):
            before, after = outer_symbols(text)
            # "1. The end" is an item, "1. Mai" is a day
            items = self.language not in ("", "de") or text.isupper()
            item = ITEM.match(text, len(before)) if items else None
            return (before + item[0] if item else before), after
        if not self.form.spaces:
            return "", ""
        before, _, after = text.partition(text.strip())
        return before, after

    def _protected(self, text: str, parts: tuple[Part, ...]) -> tuple[str, tuple[Part, ...]]:
        if text.isascii() and not QUICK.search(text):
            return text, parts
        languages, dollars = (self.language, self.model.to), self.line.dollars
        found = protect(text, self._unknown_signs, languages, dollars=dollars)
        if len(parts) + len(found.parts) > MOST:
            return text, parts
        moved = MARK.sub(lambda mark: chr(ord(mark[0]) + len(parts)), found.text)
        return moved, (*parts, *found.parts)

    def _unknown_signs(self, text: str) -> str:
        """Return the characters that have neither a token nor a plain sign to read instead."""
        return "".join(
            sign
            for sign in self.model.unknown_characters(text)
            if not (sign in PLAIN_SIGNS or sign in APOSTROPHES or sign.isspace() or combining(sign))
        )

    def _plain(self, text: str) -> str:
        """Return a text with plain signs, such as ... for …, for those that are unknown.

        7 PM and 7pm become 7 p.m., as most texts of a training have it.
        """
        text = HALF_DAY.sub(
            lambda time: f"{time[1].replace('.', ':')} {(time[2] or time[3]).lower()}.m.", text
        )
        if text.isascii():
            return text
        unknown = self.model.unknown_characters(text)
        return text.translate({ord(sign): PLAIN_SIGNS.get(sign, sign) for sign in unknown})

    def _shortened(self) -> Plan:
        """Return the plan with pieces that the model can read."""
        reader = Reader(self.model, self.options, self._length)
        note = too_long(reader, self.line, self.pieces)
        if note.startswith("copied"):
            return replace(self, pieces=(), note=note.partition(" ")[2], copied=True)
        if note and self.options.long_lines == "refuse":
            return replace(self, pieces=())._refused(note)
        pieces, gaps = divided(reader, self.line.text, self.pieces, self.gaps, must=bool(note))
        note = note and f"{note}; translated in {len(pieces)} parts"
        return replace(self, pieces=tuple(pieces), gaps=tuple(gaps), note=note)

    def _length(self, piece: str) -> int:
        return self.model.source_length(readable(piece, self.parts, self.model)[0])

    # from translations to the result

    def result(self, translations: Sequence[Translation]) -> TranslatedLine:
        """Return the result of a line, given the translations of its texts.

        Its outputs have marks, which `restored` replaces when tags are in their places.
        """
        if self.refused:
            return TranslatedLine(self.line, None, self.note)
        if self.copied or not self.pieces:
            text = self.line.text if self.copied else joined(self.gaps, [])
            found = Translation(self.line.text, (EMPTY._replace(text=text),))
            copied = TranslatedLine(self.line, found, self.note)
            return replace(copied, foreign=self.foreign, in_target=self.in_target)
        kept, checks = zip(*map(self._checked, range(len(self.pieces)), translations), strict=True)
        hypotheses = self._hypotheses(kept)
        best = hypotheses[0].text
        failed = [one for each in checks for one in each]
        if len(self.pieces) > 1 and not any(one.name == "repetition" for one in failed):
            failed += check_loop(self.line.text, best)  # a loop over several pieces
        if (
            self.model.inputs or not self.model.prepare.parts
        ):  # rows are no text; answers have digits
            failed = [one for one in failed if not self.model.inputs and one.name not in AMOUNTS]
        lost = self.model.unknown_characters("".join(self.texts))
        return TranslatedLine(
            self.line,
            Translation(self.line.text, tuple(hypotheses)),
            self.note,
            tuple(kept),
            lost="".join(character for character in lost if character not in best),
            checks=tuple(failed),
            stand_ins=tuple(self.stand_ins),
        )

    def _hypotheses(self, translations: Sequence[Translation]) -> list[Hypothesis]:
        """Return joined outputs; two that differ in their ends alone keep these ends."""
        hypotheses, texts, spare = list[Hypothesis](), set[str](), list[str]()
        ranks = zip(*(one.hypotheses for one in translations), strict=False)
        for rank, outputs in zip(ranks, self.outputs(translations), strict=False):
            plain = self._in_form(self._plainly(rank))
            spare.insert(0, plain.upper() if self.capitals else plain)
            forms = (self._in_form(outputs), *spare)
            text = next((one for one in forms if one not in texts), forms[0])
            texts.add(text)
            hypotheses.append(concatenated(rank)._replace(text=text))
        return hypotheses

    def _checked(
        self, number: int, translation: Translation
    ) -> tuple[Translation, tuple[Check, ...]]:
        """Return the outputs of a piece that have all its parts, and the checks of the best."""
        best, *others = translation.hypotheses
        checks = () if best.truncated and self.options.limited else self._checks(number, best)
        if self._read[number][1]:  # an alternative that lacks a part is none
            others = [one for one in others if not lacks_parts(self._checks(number, one))]
        return translation._replace(hypotheses=(best, *others)), checks

    def _checks(self, number: int, output: Hypothesis) -> tuple[Check, ...]:
        source, languages = self.pieces[number], (self.language, self.model.to)
        text, _ = self.marked(number, output.text)
        text = text if self.options.verbatim else with_signs(text, source)
        return check_marked(source, text, self.parts, languages, cut=output.truncated)

    def _plainly(self, outputs: Sequence[Hypothesis]) -> list[str]:
        """Return outputs with marks, as the model wrote them."""
        return [self.marked(number, one.text)[0] for number, one in enumerate(outputs)]

    def outputs(self, translations: Sequence[Translation]) -> Iterator[list[str]]:
        """Yield the outputs of the pieces with marks: the best ones, the second ones, and so on.

        Each begins and ends as its source does.
        """
        capitals = self.language not in ("", "de")  # where not every noun has one
        form = Fitting(self.model.prepare.ends, capitals, self.model.is_small, self.model.to)
        for rank in zip(*(one.hypotheses for one in translations), strict=False):
            found = self._plainly(rank)
            if not self.options.verbatim:
                found = fitted(self.gaps, self.pieces, found, form)
            yield [text.upper() for text in found] if self.capitals else found

    def _in_form(self, outputs: Sequence[str]) -> str:
        """Return joined outputs with the dots, the end and the key of the line."""
        line, text = self.line.text, joined(self.gaps, outputs)
        text = text if line[-1:].isspace() else text.rstrip()
        if "…" in line or "..." in line:
            text = DOTS.sub("..." if "..." in line else "…", text)
        return re.sub(r"(?=[^\W\d_])", self.key, text, count=1) if self.key else text

    def restored(self, result: TranslatedLine) -> TranslatedLine:
        """Return a result with the protected parts in the places of their marks."""
        found = result.translation
        if not self.parts or not found or self.copied:
            return result
        restored = (one._replace(text=restore(one.text, self.parts)) for one in found.hypotheses)
        return replace(result, translation=found._replace(hypotheses=tuple(restored)))

    def again(self, result: TranslatedLine) -> Plan | None:
        """Return a plan for a line that failed a check; None if nothing can be done.

        A lost part is translated around, a loop in halves, and lost numbers become parts.
        """
        if not result.checks or self.options.verbatim or not self.form.parts or self.steering:
            return None
        if self.tagged and self.model.reserved and AMOUNTS & {one.name for one in result.checks}:
            return self._with_amounts(self.tagged)
        pieces, gaps, parts = list[str](), [self.gaps[0]], self.parts
        for number, (piece, gap) in enumerate(zip(self.pieces, self.gaps[1:], strict=True)):
            names = {one.name for one in self._checks(number, result.parts[number].hypotheses[0])}
            inner, between = [piece], ["", ""]
            if "parts" in names:
                between, inner = around_marks(piece)
            elif names & IN_HALVES:
                inner = halves(piece)
                between = ["", *[" "] * (len(inner) - 1), ""]
            elif names & AMOUNTS and self.model.reserved:
                piece, parts = with_amounts(piece, parts, (self.language, self.model.to))
                inner = [piece]
            gaps[-1] += between[0]
            pieces += inner
            gaps += between[1:]
            gaps[-1] += gap
        plan = replace(self, pieces=tuple(pieces), gaps=tuple(gaps), parts=parts)
        return None if plan.pieces == self.pieces or not pieces else plan

    def _with_amounts(self, tagged: TaggedLine) -> Plan | None:
        """Return the plan of a line with tags whose numbers and signs are parts."""
        parts, pieces, languages = self.parts, list[str](), (self.language, self.model.to)
        for piece in self.pieces:
            piece, parts = with_amounts(piece, parts, languages)
            pieces.append(piece)
        own = [self.parts]

        def change(text: str) -> str:
            text, own[0] = with_amounts(text, own[0], languages)
            return text

        tagged = tagged.changed(change)._replace(parts=parts)
        if own[0] != parts or len(parts) == len(self.parts):
            return None  # a tag is inside a number
        return replace(self, pieces=tuple(pieces), parts=parts, tagged=tagged)

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
from functools import cached_property, partial
from typing import TYPE_CHECKING

from attncli.faithful._fit import Fitting, concatenated, fitted, joined, with_signs
from attncli.faithful._prepare import LinePreparation
from attncli.faithful._stand_ins import StandIns, marked, readable
from attncli.faithful.checks import Check, check_loop, check_marked, lacks_parts
from attncli.faithful.divide import (
    PlanOptions,
    Reader,
    around_marks,
    divided,
    halves,
    too_long,
)
from attncli.faithful.pieces import TaggedLine
from attncli.faithful.protect import FIRST, Part, own_parts, restore, with_amounts
from attncli.faithful.result import Line, TranslatedLine
from attncli.faithful.spans import Edit
from models.core.annexes import need_part
from models.core.limits import LINE_TAGS
from models.core.types import EMPTY, Hypothesis, Span, Translation
from models.core.use_config import VERBATIM, PrepareConfig
from models.search.steering import Steering
from models.text.normalise import is_untranslatable

if TYPE_CHECKING:
    from models.engines.text_translator import TextTranslator

DOTS = re.compile(r"(?<!\.)\.{3}(?!\.)|…")
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
    open: bool = False  # the line does not end with the stop of its last piece
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
        """Return the plan of a line. A text has the same pieces alone and inside tags.

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
        return plan._prepared(tags=tags)

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

    def _prepared(self, *, tags: bool) -> Plan:
        """Return the plan with its pieces; with tags, they are taken out of the text."""
        line, languages = self.line, (self.language, self.model.to)
        preparation = LinePreparation(line, self.model, self.form, languages, tags=tags)
        if tags:
            reader = need_part("tags", "reader", "a line with tags")
            if reader.has_too_many(line.text):
                return self._refused(f"line {line.number} has more than {LINE_TAGS:,} tags")
            tagged = reader.parse(line.text, preparation.unknown_signs)
        else:
            parts, marks = own_parts(line.text)
            tagged = TaggedLine(line.text, line.text.translate(marks), (), False, parts)
        found = preparation.of(tagged)
        if not found:
            return replace(self, copied=True)
        tagged = found["tagged"]
        plan = replace(self, **found)
        is_plain = not (tagged.tags or tagged.escaped)
        return (replace(plan, tagged=None) if is_plain else plan)._shortened()

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

    @property
    def places(self) -> list[Span]:
        """Where the pieces are in the text of a line with tags."""
        text, found, at = self.tagged.text if self.tagged else "", list[Span](), 0
        for piece in self.pieces:
            at = max(at, text.find(piece, at))
            found.append((at, at + len(piece)))
            at += len(piece)
        return found

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
        ends, shown = self.model.prepare.ends, partial(restore, parts=self.parts)
        form = Fitting(ends, capitals, self.model.is_small, self.model.to, shown, self.open)
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
        tagged = self.tagged if self.tagged and self.tagged.has_inner else None
        if tagged and self.model.reserved and AMOUNTS & {one.name for one in result.checks}:
            return self._with_amounts(tagged)
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

        tagged, _ = tagged.changed(change, self.places)
        if own[0] != parts or len(parts) == len(self.parts):
            return None  # a tag is inside a number
        tagged = tagged._replace(parts=parts)
        return replace(self, pieces=tuple(pieces), parts=parts, tagged=tagged)

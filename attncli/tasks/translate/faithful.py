"""Translation of texts with marks: stand-ins, the last check, further attempts, pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from attncli.data.split import halves
from attncli.tags.checks import Check, check_marked, lacks_parts
from attncli.tags.numbers import number_forms
from attncli.tags.protect import FIRST, MARK, Languages, Part, protect, restore
from attncli.tags.spans import has_word
from attncli.tags.stand_ins import AS_SHOWN, FAMILIES, MarkedTranslation, Reading, stand_ins
from models.base.types import Hypothesis, Translation
from models.text.normalise import STOPS, without_added_stop
from models.use_config import SearchConfig

# The pieces of a line: each output begins and ends as its source does, and nothing is told twice.
#
# A line is divided at separators, at sentence ends, at clause marks, and around what a model loses.
# A model reads each piece as a sentence, so it writes a capital before it and a stop behind it.


OPENING = re.compile(r"(\W*)([^\W\d_]+)")  # the first word; protected parts may be before it
LAST = re.compile(r"\s*([^\W\d_]+)$")


class Fitting(NamedTuple):
    """Changes of outputs."""

    ends: bool  # the last piece also loses a stop that its source does not have
    capitals: bool  # a piece that begins with a capital keeps it
    is_small: Callable[[str], bool]  # returns True for a word that has a small letter in a sentence


def joined(gaps: Sequence[str], texts: Sequence[str]) -> str:
    """Join texts and what is between them; the space before an empty text is left out."""
    whole = ""
    for gap, text in zip(gaps, texts, strict=False):
        whole += (gap if text or gap.strip() else "") + text if whole or gap.strip() else gap + text
    return whole + gaps[-1]


def fitted(
    gaps: Sequence[str], pieces: Sequence[MarkedTranslation], form: Fitting
) -> tuple[MarkedTranslation, ...]:
    """Return pieces whose outputs begin and end as their sources; gaps: before each, and last."""
    found: list[MarkedTranslation] = []
    for number, piece in enumerate(pieces):
        last = number + 1 == len(pieces)
        before, gap = (pieces[number - 1].text if number else ""), gaps[number]
        outputs = piece.outputs
        if form.ends or not last:
            outputs = tuple(without_added_stop(one, piece.text) for one in outputs)
        inside = bool(number or gap.strip())
        starts = not before or before.endswith(STOPS) or bool(gap.strip())
        outputs = tuple(
            _in_case(one, piece.text, form, inside=inside, starts=starts) for one in outputs
        )
        if number and gap == " ":
            ends = zip(found[-1].outputs, outputs, strict=False)
            cut = tuple(_without_echo(*each, before, piece.text) for each in ends)
            found[-1] = found[-1]._replace(outputs=cut + found[-1].outputs[len(cut) :])
        found.append(piece._replace(outputs=outputs))
    return tuple(found)


def _in_case(output: str, source: str, form: Fitting, *, inside: bool, starts: bool) -> str:
    """Return an output whose first word has a capital only if that of its source has one.

    inside: True if something is before it in the line. starts: True if no sentence goes on in it.
    """
    first, own = OPENING.match(output), OPENING.match(source)
    if not first or not own or first[2][1:].isupper():
        return output
    marked, was_marked = MARK.search(first[1]), MARK.search(own[1])
    if bool(marked) != bool(was_marked):
        return output
    at, letter = first.start(2), first[2][0]
    if own[2][0].islower() and letter.isupper() and (inside or marked) and form.is_small(first[2]):
        return output[:at] + letter.lower() + output[at + 1 :]
    if own[2][0].isupper() and letter.islower() and starts and form.capitals and not marked:
        return output[:at] + letter.upper() + output[at + 1 :]
    return output


def _without_echo(before: str, after: str, before_source: str, source: str) -> str:
    """Return an output without a last word that the next piece begins with, as in "and and"."""
    last, first = LAST.search(before), OPENING.match(after)
    if not last or not first or first[1] or last[1].casefold() != first[2].casefold():
        return before
    own_last, own_first = LAST.search(before_source), OPENING.match(source)
    repeated = own_last and own_first and own_last[1].casefold() == own_first[2].casefold()
    return before if repeated else before[: last.start()]


HYPOTHESES = 4  # outputs among which one that passes is searched
DEEPEST = 3  # times that a text is halved
IN_PARTS = frozenset(("repetition", "length", "empty", "characters"))  # what halves may mend
OUTER = re.compile(r"^(\W*)(.*?)([^\w)\]\"'»”%]*)$", re.DOTALL)


class MarkedText(NamedTuple):
    """A text to translate, with marks for its protected parts."""

    text: str
    parts: tuple[Part, ...] = ()
    language: str = ""  # of the text; "" if it is unknown


class Faithful(NamedTuple):
    """The translation of a text in one or more pieces."""

    gaps: tuple[str, ...]  # what is before each piece, and after the last
    pieces: tuple[MarkedTranslation, ...]
    checks: tuple[Check, ...]  # that the best output fails
    parts: tuple[Part, ...]

    @property
    def output(self) -> str:
        """The best output, with marks."""
        return joined(self.gaps, [piece.outputs[0] for piece in self.pieces])

    def settled(self, first: int) -> Faithful:
        """Return the translation with the parts from `first` on in place of their marks."""
        if len(self.parts) <= first:
            return self
        gaps = tuple(restore(gap, self.parts, first=first) for gap in self.gaps)
        pieces = tuple(piece.without_marks(self.parts, first) for piece in self.pieces)
        return self._replace(gaps=gaps, pieces=pieces)


# texts, the language of each, the search (None: of the model)
TranslateTexts = Callable[[list[str], list[str], SearchConfig | None], Iterator[Translation]]


class Translating(NamedTuple):
    """A model as the attempts need it."""

    run: TranslateTexts
    search: SearchConfig
    unknown: Callable[[str], str] = lambda text: ""
    to: str = ""
    limited: bool = False  # the user has set how long an output may be


def translate_faithfully(
    texts: Sequence[MarkedText], model: Translating, *, again: bool = True
) -> list[Faithful]:
    """Translate texts; see above. again: False makes one attempt alone."""
    readings = [stand_ins(each.text, each.parts, 0) for each in texts]
    found = _attempt(texts, readings, model)
    if again and any(one.checks for one in found):
        _retry(texts, readings, found, model)
    return [one.settled(len(text.parts)) for one, text in zip(found, texts, strict=True)]


def _retry(
    texts: Sequence[MarkedText], readings: list[Reading], found: list[Faithful], model: Translating
) -> None:
    """Replace the translations that fail a check by better ones."""
    lazy = [
        _with_all_parts(each, model) if one.checks else each
        for each, one in zip(texts, found, strict=True)
    ]
    tried = [{reading.text} for reading in readings]
    for family in (AS_SHOWN, *FAMILIES):
        fails = _lacks_negation if family == AS_SHOWN else _lacks_parts
        chosen = [n for n, one in enumerate(found) if fails(one)]
        read = {n: stand_ins(lazy[n].text, lazy[n].parts, family) for n in chosen}
        new = {n: one for n, one in read.items() if one.text not in tried[n]}
        new = {n: r for n, r in new.items() if not model.unknown("".join(r.marks.values()))}
        for n, one in new.items():
            tried[n].add(one.text)
        _improve(found, [*new], _attempt([lazy[n] for n in new], [*new.values()], model))
    chosen = [n for n, one in enumerate(found) if one.checks]
    wide = replace(model.search, nbest=HYPOTHESES, beam=max(HYPOTHESES, model.search.beam))
    if chosen and model.search.method == "beam" and model.search.nbest < HYPOTHESES:
        others = _attempt([texts[n] for n in chosen], [readings[n] for n in chosen], model, wide)
        _improve(found, chosen, others)
    # pieces do not bring a negation back
    chosen = [
        n for n, one in enumerate(found) if any(check.name != "negation" for check in one.checks)
    ]
    failed = [found[n] for n in chosen]
    _improve(found, chosen, _in_pieces([lazy[n] for n in chosen], failed, model))


def _attempt(
    texts: Sequence[MarkedText],
    readings: Sequence[Reading],
    model: Translating,
    search: SearchConfig | None = None,
) -> list[Faithful]:
    """Translate texts once. search: one with several hypotheses, of which the best is chosen."""
    results = model.run([one.text for one in readings], [one.language for one in texts], search)
    return [
        _checked(text, reading, result, model, nbest=1 if search else 0)
        for text, reading, result in zip(texts, readings, results, strict=True)
    ]


def _checked(
    text: MarkedText, reading: Reading, result: Translation, model: Translating, *, nbest: int
) -> Faithful:
    """Return a translation with its checks. nbest: number of hypotheses to keep; 0: all."""
    rows = []
    forms = number_forms(text.text, text.language, model.to)
    for rank, hypothesis in enumerate(result.hypotheses):
        output, edits = reading.marked(hypothesis.text, text.parts, forms)
        cut = hypothesis.truncated
        checks: tuple[Check, ...] = ()
        if (rank == 0 or nbest or reading.marks) and not (cut and model.limited):
            languages = Languages(text.language, model.to)
            checks = check_marked(text.text, output, text.parts, languages, cut=cut)
        rows.append((len(checks), rank, hypothesis, output, edits, checks))
    if nbest:
        rows = sorted(rows)[:nbest]
    elif reading.marks:  # an alternative that lacks a part is none
        rows = [row for row in rows if row is rows[0] or not lacks_parts(row[5])]
    parts = {mark: text.parts[ord(mark) - FIRST][:2] for mark in reading.marks}
    hypotheses: list[Hypothesis] = [row[2] for row in rows]
    piece = MarkedTranslation(
        text.text,
        result._replace(hypotheses=tuple(hypotheses)),
        tuple(row[3] for row in rows),
        tuple((stand_in, *parts[mark]) for mark, stand_in in reading.marks.items()),
        reading.edits,
        tuple(row[4] for row in rows),
    )
    return Faithful(("", ""), (piece,), rows[0][5], text.parts)


def _improve(found: list[Faithful], numbers: Sequence[int], others: Sequence[Faithful]) -> None:
    for number, other in zip(numbers, others, strict=True):
        if _badness(other) < _badness(found[number]):
            found[number] = other


def _badness(one: Faithful) -> tuple[int, int]:
    return len(one.checks), int(lacks_parts(one.checks))


def _lacks_negation(one: Faithful) -> bool:
    return any(check.name == "negation" for check in one.checks)


def _lacks_parts(one: Faithful) -> bool:
    return any(check.name in ("parts", "digits", "characters") for check in one.checks)


def _with_all_parts(text: MarkedText, model: Translating) -> MarkedText:
    """Return a text with marks also for the parts that the model should copy by itself."""
    languages = Languages(text.language, model.to)
    found = protect(text.text, model.unknown, languages, more=text.parts, lazy=True)
    return text._replace(text=found.text, parts=found.parts)


def _in_pieces(
    texts: Sequence[MarkedText], found: Sequence[Faithful], model: Translating
) -> list[Faithful]:
    """Translate texts in pieces: around their marks if one was lost, otherwise in halves."""
    divided = [
        _around_marks(text.text) if _lacks_parts(one) else _in_halves(text.text)
        for text, one in zip(texts, found, strict=True)
    ]
    flat = [
        MarkedText(piece, text.parts, text.language)
        for text, (_, pieces) in zip(texts, divided, strict=True)
        for piece in pieces
    ]
    results = iter(_deeper(flat, model))
    whole = []
    for text, (gaps, pieces) in zip(texts, divided, strict=True):
        inner = [next(results) for _ in pieces]
        unchanged = Faithful((text.text,), (), (), text.parts)
        whole.append(_assembled(text, gaps, inner, model.to) if pieces else unchanged)
    return whole


def _deeper(texts: Sequence[MarkedText], model: Translating, depth: int = 1) -> list[Faithful]:
    """Translate pieces once; one that still loops is halved again, a few times at most."""
    found = _attempt(texts, [stand_ins(each.text, each.parts, 0) for each in texts], model)
    chosen = [
        n
        for n, one in enumerate(found)
        if any(check.name in IN_PARTS for check in one.checks) and len(texts[n].text.split()) > 3
    ]
    if depth < DEEPEST and chosen:
        divided = [_in_halves(texts[n].text) for n in chosen]
        flat = [
            texts[n]._replace(text=piece)
            for n, (_, pieces) in zip(chosen, divided, strict=True)
            for piece in pieces
        ]
        results = iter(_deeper(flat, model, depth + 1))
        again = [
            _assembled(texts[n], gaps, [next(results) for _ in pieces], model.to)
            for n, (gaps, pieces) in zip(chosen, divided, strict=True)
        ]
        _improve(found, chosen, again)
    return found


def _around_marks(text: str) -> tuple[list[str], list[str]]:
    """Return the texts around the marks of a text, and what is before each and after the last."""
    spans = [*MARK.finditer(text)]
    cuts = [0, *(end for found in spans for end in found.span()), len(text)]
    gaps, pieces, gap = [], [], ""
    for number, (start, end) in enumerate(pairwise(cuts)):
        piece = text[start:end]
        if number % 2 or not has_word(piece):
            gap += piece
            continue
        before, inner, after = OUTER.fullmatch(piece).groups()  # type: ignore[union-attr]
        gaps.append(gap + before)
        pieces.append(inner)
        gap = after
    return [*gaps, gap], pieces


def _in_halves(text: str) -> tuple[list[str], list[str]]:
    pieces = halves(text)
    return ["", *[" "] * (len(pieces) - 1), ""], pieces


def _assembled(
    text: MarkedText, gaps: Sequence[str], inner: Sequence[Faithful], to: str
) -> Faithful:
    """Return the translation of a text from those of its pieces."""
    whole_gaps = [gaps[0]]
    pieces: list[MarkedTranslation] = []
    for one, gap in zip(inner, gaps[1:], strict=True):
        whole_gaps[-1] += one.gaps[0]
        for piece, after in zip(one.pieces, one.gaps[1:], strict=True):
            best = piece.translation._replace(hypotheses=piece.translation.hypotheses[:1])
            outputs, edits = piece.outputs[:1], piece.edits[:1]
            pieces.append(piece._replace(translation=best, outputs=outputs, edits=edits))
            whole_gaps.append(after)
        whole_gaps[-1] += gap
    output = joined(whole_gaps, [piece.outputs[0] for piece in pieces])
    checks = check_marked(text.text, output, text.parts, Languages(text.language, to))
    return Faithful(tuple(whole_gaps), tuple(pieces), checks, text.parts)

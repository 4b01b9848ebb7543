"""What steers a line: the prefix and the looks of a person, as its pieces have them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from attncli.faithful.divide import sentences
from attncli.faithful.look import look_of, range_of
from attncli.faithful.pieces import LINE_END
from attncli.faithful.result import Line, TranslatedLine
from models.core.errors import InputError, ModelError
from models.core.types import Hypothesis, Span
from models.search.steering import PLAIN, Alternative, Look, Steering, TargetPrefix
from models.text.normalise import STOPS, sentence_case

if TYPE_CHECKING:
    from attncli.faithful.plan import Plan

KNOWN = 12  # words of a line that a message lists


def divided_steering(line: Line, texts: Sequence[str]) -> list[Line]:
    """Return a line for each text of a line with line ends inside.

    A line of the prefix belongs to the text of the same number, and the looks to that of the last.
    """
    if len(texts) == 1 or not (line.prefix or line.looks):
        return [line._replace(text=text) for text in texts]
    prefixes = LINE_END.split(line.prefix, maxsplit=len(texts) - 1)
    each = [*prefixes, *[""] * (len(texts) - len(prefixes))]
    return [
        line._replace(text=text, prefix=own, looks=line.looks if n + 1 == len(prefixes) else ())
        for n, (text, own) in enumerate(zip(texts, each, strict=True))
    ]


def steered(plan: Plan) -> Plan:
    """Return a plan whose pieces are steered as its line asks; one that says why if they cannot."""
    line = plan.line
    if not (line.prefix.strip() or line.looks) or plan.refused or not plan.pieces:
        return plan
    try:
        prefixes = [_as_read(plan, n, text) for n, text in enumerate(_prefixes(plan))]
        for text in prefixes:
            TargetPrefix.of(text, plan.model.tokenizer)
        looks = _looks(plan)
    except ModelError as error:
        note = f"line {line.number}: {error}; not translated"
        return replace(plan, pieces=(), note=note, refused=True)
    return replace(plan, steering=tuple(map(Steering, prefixes, looks)))


def _prefixes(plan: Plan) -> list[str]:
    """Return the part of the prefix that each piece begins with: of several, sentence by sentence.

    What is before the first piece is left out.
    """
    before, text = plan.gaps[0].strip(), plan.line.prefix
    if before and text.startswith(before):
        text = text[len(before) :].lstrip()
    count = len(plan.pieces)
    if count == 1:
        return [text]
    parts = sentences(text) if text.strip() else []
    parts = [*parts[: count - 1], " ".join(parts[count - 1 :])]
    if parts and text[-1:].isspace():
        last = max(n for n, part in enumerate(parts) if part or not n)
        parts[last] += " "
    return [*parts, *[""] * count][:count]


def _as_read(plan: Plan, number: int, text: str) -> str:
    """Return a prefix with the stand-ins of a piece in place of its protected parts."""
    for form, _, shown in plan.stand_ins[number]:
        text = text.replace(shown, form, 1) if form != shown else text
    return sentence_case(text) if plan.capitals and text else text


def _looks(plan: Plan) -> list[tuple[Look, ...]]:
    """Return the looks of each piece."""
    texts, found = plan.texts, [list[Look]() for _ in plan.pieces]
    places = [
        (number, without_marks(text, word.span()))
        for number, text in enumerate(texts)
        for word in re.finditer(r"\S+", text)
    ]
    for text in plan.line.looks:
        where, words = look_of(text)
        of_pieces: dict[int, list[Span]] = {}
        for number, span in _places(where, texts, places):
            of_pieces.setdefault(number, []).append(span)
        for number, spans in of_pieces.items():
            found[number].append(Look(tuple(spans), *words))
    return [tuple(each) for each in found]


def without_marks(text: str, word: Span) -> Span:
    """Return the span of a word without marks at its ends, which an alignment leaves out too."""
    start, end = word
    real = [at for at in range(start, end) if text[at].isalnum()]
    return (real[0], real[-1] + 1) if real else word


def _places(
    where: str, texts: Sequence[str], places: Sequence[tuple[int, Span]]
) -> list[tuple[int, Span]]:
    """Return the piece and the characters of what a look names."""
    if numbers := range_of(where):
        last = numbers.last or len(places)
        if numbers.first <= last <= len(places):
            return [*places[numbers.first - 1 : last]]
    elif where.strip():
        form = re.compile(rf"(?<!\w){re.escape(where.strip())}(?!\w)", re.IGNORECASE)
        found = [(n, one.span()) for n, text in enumerate(texts) for one in form.finditer(text)]
        if found:
            return found
    words = [texts[number][start:end] for number, (start, end) in places]
    known = " ".join(words[:KNOWN]) + " ..." * (len(words) > KNOWN)
    raise InputError(f"a look at {where!r}", f"a word of {known!r}, or 1 to {len(words)}")


def alternatives(plan: Plan, count: int) -> list[Alternative]:
    """Return the words that the output of a line can go on with behind its prefix.

    None of a line that is not translated. Raises InputError for a line that cannot be steered.
    """
    if plan.refused:
        raise InputError(plan.note, "another prefix or look")
    if not plan.pieces:
        return []
    written = [bool(one.prefix.strip()) for one in plan.steering] or [False]
    piece = max((n for n, one in enumerate(written) if one), default=0)
    stops = plan.line.prefix.rstrip().endswith(STOPS) and piece + 1 < len(plan.pieces)
    piece += stops and written[piece]
    steering = plan.steering[piece] if plan.steering else PLAIN
    return plan.model.next_words(plan.texts[piece], steering, count)


def begun(plan: Plan, result: TranslatedLine) -> TranslatedLine:
    """Return a result whose outputs have the prefix as it was written; a note about one that lacks.

    What fits an output to its source, such as a capital, does not change the prefix.
    """
    prefix, found = plan.line.prefix.strip(), result.translation
    if not prefix or not found or plan.tagged:
        return result
    outputs, note = list[Hypothesis](), result.note
    for one in found.hypotheses:
        if one.text[: len(prefix)].casefold() == prefix.casefold():
            one = one._replace(text=prefix + one.text[len(prefix) :])
        elif not outputs:
            note = f"line {plan.line.number}: the output does not begin with the prefix"
        outputs.append(one)
    return replace(result, translation=found._replace(hypotheses=tuple(outputs)), note=note)

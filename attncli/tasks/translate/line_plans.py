"""From a line to the texts that the model translates: none, one, or one per sentence.

Splitting and tags are imported for the lines that need them, so that one line starts faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from attncli.data.lines import Line
from attncli.data.split import sentences, split
from models.base.limits import LINE_TAGS
from models.base.settings import option
from models.config import VERBATIM, PrepareConfig
from models.text.normalise import (
    composed,
    is_all_capitals,
    is_outer,
    is_spaced_word,
    is_untranslatable,
    outer_symbols,
    sentence_case,
)
from models.text.prepare import prepared, prepared_in_place

if TYPE_CHECKING:
    from attncli.tags.parse import TaggedLine
    from models.inference.text_translator import TextTranslator

CAPITALS = 1.1  # tokens in capitals per token in lower case; above it a model knows no capitals


@dataclass(frozen=True)
class LineSettings:
    """Conversion of lines to texts."""

    long_lines: str = option(
        "split",
        "lines that are too long for the model: split (at sentence ends) or refuse",
        choices=("split", "refuse"),
    )


@dataclass(frozen=True)
class LineOptions:
    """Conversion of lines to texts. By default, only lines too long for the model are changed."""

    long_lines: str = "split"  # of LineSettings
    # spaces, apostrophes and accents are normalised, and lines in capitals that the model does not
    # know are translated in lower case; unchanged are lines without letters, addresses, spaces and
    # emoji at the ends of a line, and a word that is longer than the model accepts
    everyday: bool = False
    # tokens; a longer line is translated sentence by sentence; 0: never; None: by model.search
    split_above: int | None = 0


EVERYDAY = LineOptions(everyday=True, split_above=None)
ROWS = LineOptions(long_lines="refuse")  # of several inputs: a row is not text


class LinePlan(NamedTuple):
    """The texts to translate for a line, and how the output is made from their translations."""

    line: Line
    parts: list[str]  # none for an empty line
    note: str = ""
    refused: bool = False
    tagged: TaggedLine | None = None  # if tags are projected: the tags and the text between them
    copied: bool = False  # the line is its own output
    foreign: bool = False  # copied, because the model has no token for any of its letters
    capitals: bool = False  # the output is written in capitals
    before: str = ""  # white space and emoji of the line that the output keeps
    after: str = ""


def plan_line(
    line: Line,
    model: TextTranslator,
    options: LineOptions,
    *,
    language: str = "",
    tags: bool = False,
) -> LinePlan:
    """Return the plan of a line. Text between tags keeps its spacing and its case.

    language: of the line, "" if it is unknown; a line in the target language passes unchanged.
    """
    if language and language == model.to:
        return LinePlan(line, [], copied=True)
    if line.fault:
        note = f"line {line.number} is {line.fault}; not translated"
        return LinePlan(line, [], note, refused=True)
    if not line.text.strip():
        return LinePlan(line, [])
    form = _form(model, options)
    if form.copies and is_untranslatable(line.text):
        return LinePlan(line, [], copied=True)
    if options.everyday and _is_foreign(line.text, model):
        return LinePlan(line, [], copied=True, foreign=True)
    if tags:
        return _plan_tagged(line, model, options)
    return _plan_text(line, line.text, model, options)


def _form(model: TextTranslator, options: LineOptions) -> PrepareConfig:
    return model.prepare if options.everyday else VERBATIM


def _plan_text(line: Line, text: str, model: TextTranslator, options: LineOptions) -> LinePlan:
    form = _form(model, options)
    before, after = _outer(text, form)
    text = prepared(text[len(before) : len(text) - len(after)], form)
    text = composed(text, model.source_length) if options.everyday else text
    capitals = form.capitals and _has_unknown_capitals(text, model)
    texts = [sentence_case(text) if capitals else text]
    plan = LinePlan(line, texts, capitals=capitals, before=before, after=after)
    return _shortened(plan, model, options)


def _outer(text: str, form: PrepareConfig) -> tuple[str, str]:
    """Return what is before and after the part of a text that the model reads."""
    if form.symbols and not all(map(is_outer, text)):
        return outer_symbols(text)
    if not form.spaces:
        return "", ""
    inner = text.strip()
    before, _, after = text.partition(inner)
    return before, after


def _plan_tagged(line: Line, model: TextTranslator, options: LineOptions) -> LinePlan:
    from attncli.tags.parse import parse
    from attncli.tags.scan import too_many_tags
    from attncli.tags.words import has_word

    if too_many_tags(line.text):
        note = f"line {line.number} has more than {LINE_TAGS:,} tags; not translated"
        return LinePlan(line, [], note, refused=True)
    tagged = parse(line.text)
    if not tagged.tags:
        return _plan_text(line, tagged.text, model, options)._replace(tagged=tagged)
    if not has_word(tagged.text):
        return LinePlan(line, [], tagged=tagged)
    form = _form(model, options)
    if form.copies and is_untranslatable(tagged.text):
        return LinePlan(line, [], copied=True)
    if options.everyday:
        tagged = tagged.changed(lambda text: composed(text, model.source_length))
        tagged = tagged._replace(text=prepared_in_place(tagged.text, form))
    return _shortened(LinePlan(line, tagged.blocks, tagged=tagged), model, options)


def _is_foreign(text: str, model: TextTranslator) -> bool:
    """Return True if a text has letters and the model has a token for none of them."""
    letters = filter(str.isalpha, text)
    return bool(model.unknown_characters(next(letters, ""))) and all(
        map(model.unknown_characters, letters)
    )


def _has_long_word(text: str, model: TextTranslator) -> bool:
    """Return True if a word, such as encoded data, is too long for a model, which would cut it."""
    longest = model.max_source_length
    return any(
        len(word) >= longest // 2 and is_spaced_word(word) and model.source_length(word) > longest
        for word in text.split()
    )


def _has_unknown_capitals(text: str, model: TextTranslator) -> bool:
    """Return True if a model needs many more tokens for capitals, so it cannot know the words."""
    if not is_all_capitals(text):
        return False
    return model.source_length(text) > CAPITALS * model.source_length(sentence_case(text))


def _shortened(plan: LinePlan, model: TextTranslator, options: LineOptions) -> LinePlan:
    """Split the texts of a plan at sentence ends, and further where the model needs it."""
    most, note = model.max_source_length, ""
    length = max(map(model.source_length, plan.parts))
    above = model.search.split_above if options.split_above is None else options.split_above
    if length > most:
        note = f"line {plan.line.number} has {length} tokens and the model takes {most}"
        if options.long_lines == "refuse":
            return LinePlan(plan.line, [], f"{note}; not translated", refused=True)
        if options.everyday and _has_long_word(plan.line.text, model):
            return LinePlan(plan.line, [], f"{note}; a word without spaces, copied", copied=True)
    elif not 0 < above < length:
        return plan

    def fits(text: str, longest: int = most) -> bool:
        return model.source_length(text) <= longest

    fits_cut = partial(fits, longest=min(above or most, most))
    parts = []
    for text in plan.parts:
        cut = 0 < above < model.source_length(text)
        for sentence in sentences(text) if cut else [text]:
            parts += split(sentence, fits, fits_cut)
    return plan._replace(parts=parts, note=note and f"{note}; translated in {len(parts)} parts")

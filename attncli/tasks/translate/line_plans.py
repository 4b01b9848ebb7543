"""From a line to the texts that the model translates: none, one, or one per sentence.

Splitting and tags are imported for the lines that need them, so that one line starts faster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import combining

from attncli.data.lines import Line
from attncli.data.split import sentences, split
from attncli.tags.parse import branches
from attncli.tags.protect import MARK, QUICK, Languages, Part, protect, restore
from attncli.tags.stand_ins import stand_ins
from models.base.limits import LINE_TAGS
from models.text.normalise import APOSTROPHE_SIGNS as APOSTROPHES
from models.text.normalise import (
    PLAIN_SIGNS,
    STOPS,
    composed,
    is_all_capitals,
    is_outer,
    is_spaced_word,
    is_untranslatable,
    outer_symbols,
    prepared,
    prepared_in_place,
    sentence_case,
)
from models.text.phrases import Fixed, fixed_part
from models.use_config import VERBATIM, PrepareConfig

if TYPE_CHECKING:
    from attncli.tags.parse import TaggedLine
    from attncli.tasks.translate.engine import TranslateOptions
    from models.inference.text_translator import TextTranslator

# between texts of one line: a tab, a bar, the stroke of {price}/month
SEPARATOR = re.compile(
    r"(?<!\s)(\s*\t\s*|\s+\|\s+(?![^{}]{0,200}\}\})|(?<=[\d}])/(?=[a-z]{3,}[.!]?$))"
)
LONG_WITHOUT_STOP, LONG = 60, 120  # tokens of a sentence without or with a stop that is divided
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
CAPITALS = 1.1  # tokens in capitals per token in lower case; above it a model knows no capitals


class LinePlan(NamedTuple):
    """The texts to translate for a line, and how the output is made from their translations."""

    line: Line
    parts: list[str]  # with marks for the protected parts; none for an empty line
    gaps: Sequence[str] = ("", "")  # what is before each of them, and after the last
    note: str = ""
    refused: bool = False
    tagged: TaggedLine | None = None  # if tags are projected: the tags and the text between them
    copied: bool = False  # the line is its own output
    foreign: bool = False  # copied, because the model has no token for any of its letters
    in_target: bool = False  # copied, because it is in the target language
    capitals: bool = False  # the output is written in capitals
    protected: tuple[Part, ...] = ()
    language: str = ""  # of the line; "" if it is unknown
    key: str = ""  # & or _, which marks a letter as the key of a menu entry: "&Save"
    fixed: str = ""  # the output of a copied line that has set phrases


def plan_line(
    line: Line,
    model: TextTranslator,
    options: TranslateOptions,
    *,
    language: str = "",
    tags: bool = False,
) -> LinePlan:
    """Return the plan of a line. Text between tags keeps its spacing and its case.

    language: of the line, "" if it is unknown; a line in the target language passes unchanged.
    """
    language = language or model.source_language
    if language and language == model.to:
        return LinePlan(line, [], copied=True, in_target=True)
    if line.fault:
        note = f"line {line.number} is {line.fault}; not translated"
        return LinePlan(line, [], note=note, refused=True)
    if not line.text.strip():
        return LinePlan(line, [])
    form = _form(model, options)
    if form.copies and is_untranslatable(line.text):
        return LinePlan(line, [], copied=True)
    if not options.verbatim and _is_foreign(line.text, model):
        return LinePlan(line, [], copied=True, foreign=True)
    if tags:
        return _plan_tagged(line, model, options, language)
    return _plan_text(line, line.text, model, options, language)


def _form(model: TextTranslator, options: TranslateOptions) -> PrepareConfig:
    return VERBATIM if options.verbatim else model.prepare


def _outer(text: str, form: PrepareConfig, language: str) -> tuple[str, str]:
    """Return what is before and after the part of a text that the model reads."""
    if form.symbols and not all(map(is_outer, text)):
        before, after = outer_symbols(text)
        # "1. The end" is an item, "1. Mai" is a day
        items = language not in ("", "de") or text.isupper()
        item = ITEM.match(text, len(before)) if items else None
        return (before + item[0] if item else before), after
    if not form.spaces:
        return "", ""
    inner = text.strip()
    before, _, after = text.partition(inner)
    return before, after


def _plan_text(
    line: Line, text: str, model: TextTranslator, options: TranslateOptions, language: str = ""
) -> LinePlan:
    form = _form(model, options)
    before, after = _outer(text, form, language)
    inner = text[len(before) : len(text) - len(after)]
    keys = ACCESS.findall(inner) if form.parts and ("&" in inner or "_" in inner) else []
    key = keys[0] if len(keys) == 1 == inner.count(keys[0]) else ""
    inner = ACCESS.sub("", inner) if key else inner
    parts: tuple[Part, ...] = ()
    texts, gaps, gap = [], [], before
    separated = (branches(inner) or SEPARATOR.split(inner)) if form.parts else [inner]
    for number, segment in enumerate(separated):
        each = segment
        if found := _set_phrase(segment, model, language) if form.phrases else None:
            gap, each = gap + found.before, found.rest
            if not each or is_untranslatable(each):
                gap += each
                continue
        if form.parts:
            each, parts = _protected(each, model, language, parts)
        copied = number % 2 or (form.copies and is_untranslatable(each)) or not each.strip()
        if copied or (form.parts and KEYS.fullmatch(each)):
            gap += each
            continue
        dots = ELLIPSIS.fullmatch(each) if form.parts else None
        each, behind = dots.groups() if dots else (each, "")
        each = prepared(_plain(each, model) if form.parts else each, form)
        texts.append(composed(each, model.source_length) if not options.verbatim else each)
        gaps.append(gap)
        gap = behind
    if not texts:
        fixed = restore(gap + after, parts) if form.phrases else ""
        return LinePlan(line, [], copied=True, fixed=fixed, key=key)
    capitals = form.capitals and _has_unknown_capitals(" ".join(texts), model)
    texts = [sentence_case(each) for each in texts] if capitals else texts
    plan = LinePlan(line, texts, [*gaps, gap + after], language=language, capitals=capitals)
    return _shortened(plan._replace(protected=parts, key=key), model, options)


def _set_phrase(text: str, model: TextTranslator, language: str) -> Fixed | None:
    """Return the set phrase of a text, unless the glossary of the model has a term of it."""
    if not text.strip() or (model.glossary and model.glossary.targets(text)):
        return None
    return fixed_part(text, language or model.source_language, model.to)


def unknown_signs(model: TextTranslator, text: str) -> str:
    """Return the characters that a model has no token for, and nothing plain to read instead."""
    return "".join(
        sign
        for sign in model.unknown_characters(text)
        if not (sign in PLAIN_SIGNS or sign in APOSTROPHES or sign.isspace() or combining(sign))
    )


def _plain(text: str, model: TextTranslator) -> str:
    """Return a text with plain signs, such as ... for …, for those that a model does not know."""
    if text.isascii():
        return text
    unknown = model.unknown_characters(text)
    return text.translate({ord(sign): PLAIN_SIGNS.get(sign, sign) for sign in unknown})


def _protected(
    text: str, model: TextTranslator, language: str, parts: tuple[Part, ...]
) -> tuple[str, tuple[Part, ...]]:
    if text.isascii() and not QUICK.search(text):
        return text, parts
    if MARK.search(text):
        return text, parts
    languages = Languages(language, model.to, model.prepare.phrases)
    found = protect(text, partial(unknown_signs, model), languages)
    moved = MARK.sub(lambda mark: chr(ord(mark[0]) + len(parts)), found.text)
    return moved, (*parts, *found.parts)


def _plan_tagged(
    line: Line, model: TextTranslator, options: TranslateOptions, language: str
) -> LinePlan:
    from attncli.tags.parse import parse, too_many_tags
    from attncli.tags.spans import has_word

    if too_many_tags(line.text):
        note = f"line {line.number} has more than {LINE_TAGS:,} tags; not translated"
        return LinePlan(line, [], note=note, refused=True)
    unknown = partial(unknown_signs, model) if not options.verbatim else lambda text: ""
    languages = Languages(language, model.to, model.prepare.phrases)
    tagged = parse(line.text, unknown, languages)
    if not tagged.tags and not options.verbatim and not tagged.escaped:
        return _plan_text(line, line.text, model, options, language)
    if not has_word(tagged.text):
        return LinePlan(line, [], tagged=tagged)
    form = _form(model, options)
    if form.copies and is_untranslatable(tagged.text):
        return LinePlan(line, [], copied=True)
    if not options.verbatim:
        tagged = tagged.changed(lambda text: composed(_plain(text, model), model.source_length))
        tagged = tagged._replace(text=prepared_in_place(tagged.text, form))
    blocks = [block for block in tagged.blocks if has_word(block)]
    gaps = ["", *[" "] * (len(blocks) - 1), ""]
    plan = LinePlan(line, blocks, gaps, tagged=tagged, language=language)
    return _shortened(plan._replace(protected=tagged.parts), model, options)


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


def _shortened(plan: LinePlan, model: TextTranslator, options: TranslateOptions) -> LinePlan:
    """Split the texts of a plan at sentence ends, and further where the model needs it."""
    most, note = model.max_source_length, ""

    def length(text: str) -> int:
        return model.source_length(stand_ins(text, plan.protected, 0).text)

    longest = max(map(length, plan.parts))
    above = 0 if model.inputs else model.search.split_above  # a row is not text
    if longest > most:
        note = f"line {plan.line.number} has {longest} tokens and the model takes {most}"
        if options.text.long_lines == "refuse":
            return LinePlan(plan.line, [], note=f"{note}; not translated", refused=True)
        if not options.verbatim and _has_long_word(plan.line.text, model):
            note += "; a word without spaces, copied"
            return LinePlan(plan.line, [], note=note, copied=True)
    # a term that is forced into one sentence must not displace another
    has_terms = not options.verbatim and bool(
        model.glossary and model.glossary.targets(plan.line.text)
    )
    if longest <= most and not has_terms and not 0 < above < longest:
        return plan
    parts: list[str] = []
    gaps = [plan.gaps[0]]
    for text, gap in zip(plan.parts, plan.gaps[1:], strict=True):
        cut = has_terms or 0 < above < length(text)
        for sentence in sentences(text) if cut else [text]:
            found = split(sentence, *_fits(sentence, length, above, options, most))
            parts += found
            gaps += [" "] * len(found)
        gaps[-1] = gap
    note = note and f"{note}; translated in {len(parts)} parts"
    return plan._replace(parts=parts, gaps=gaps, note=note)


def _fits(
    sentence: str, length: Callable[[str], int], above: int, options: TranslateOptions, most: int
) -> tuple[Callable[[str], bool], Callable[[str], bool]]:
    """Return conditions for parts of a sentence (shorter without a stop), and within words."""
    if not options.verbatim and above:
        cut = options.cut_above or (LONG if sentence[-1:] in STOPS else LONG_WITHOUT_STOP)
        most = min(cut, most)
    shorter = min(above or most, most)
    return (lambda text: length(text) <= most), (lambda text: length(text) <= shorter)

"""Markup through a model: all of it, in every output, whatever the model does."""

from __future__ import annotations

from functools import partial
from random import Random

from attncli.faithful.parse import count
from attncli.faithful.result import Line, TranslatedLine
from attncli.translate.alignment import AlignTranslations, token_weights
from attncli.translate.chunks import translate_lines
from attncli.translate.engine import TranslateOptions
from models.core.use_config import SearchConfig
from models.engines.text_translator import TextTranslator
from models.engines.translator import Translator
from tests.attncli.faithful.small import line, one_to_one
from tests.upper_model import Upper


def outcomes(
    *texts: str,
    model: TextTranslator | None = None,
    align: AlignTranslations = one_to_one,
    nbest: int = 1,
) -> list[TranslatedLine]:
    chunk = [Line(number, text) for number, text in enumerate(texts, 1)]
    search = SearchConfig(nbest=nbest, max_ratio=1, max_extra=5)
    translator = (model or Upper(32)).with_search(search)
    [found] = translate_lines(
        [chunk], translator, options=TranslateOptions(verbatim=True), aligner=align
    )
    return found


def outputs(outcome: TranslatedLine) -> list[str]:
    assert outcome.translation
    return [hypothesis.text for hypothesis in outcome.translation.hypotheses]


def test_the_model_sees_no_markup_and_the_output_has_it() -> None:
    model = Upper(32)
    found = outcomes("the <b>dog</b> {x}", "3 < 4", "a &amp; b", "", model=model)
    assert list(model.asked) == ["the dog \ue000", "3 < 4", "a & b"]
    assert [outputs(outcome) for outcome in found] == [
        ["THE <b>DOG</b> {x}"],
        ["3 < 4"],
        ["A &amp; B"],
        [""],
    ]


def test_a_line_of_markup_alone_is_itself_and_the_model_is_not_called() -> None:
    model = Upper(32)
    lines = ["<br/>", " <p>{x}</p>, %s. ", "<b></b>", "{0}"]
    assert [outputs(outcome) for outcome in outcomes(*lines, model=model)] == [[x] for x in lines]
    assert not model.asked


def test_a_long_line_has_its_markup_after_it_was_split() -> None:
    text = "<i>" + "word " * 17 + "<b>end.</b></i> " + "word {x} " * 12 + "<br/><b>word</b>."
    [found] = outcomes(text)
    assert "in 3 parts" in found.note
    assert outputs(found) == [text.replace("word", "WORD").replace("end", "END")]
    assert len(outputs(outcomes(text, nbest=2)[0])) == 2


def test_blocks_are_translated_one_by_one() -> None:
    model = Upper(32)
    [found] = outcomes("<p>A <b>dog</b>.</p><p>{n} cats</p>", model=model)
    assert list(model.asked) == ["A dog.", "\ue000 cats"]
    assert outputs(found) == ["<p>A <b>DOG</b>.</p><p>{n} CATS</p>"]


def test_as_much_markup_comes_out_as_went_in(tiny_translator: Translator) -> None:
    random = Random(5)
    lines = [line(random, most=8) for _ in range(24)]
    align = partial(token_weights, tiny_translator)
    translated = outcomes(*lines, model=tiny_translator, align=align, nbest=2)
    for text, found in zip(lines, translated, strict=True):
        for output in outputs(found):
            assert count(output) == count(text), (text, output)


def test_alone_or_in_any_batch_the_markup_goes_to_the_same_place(
    tiny_translator: Translator,
) -> None:
    lines = ["The <b>old</b> dog sees {0}.", "<i>She</i> is.", "A <u>man sees</u> the {x} house."]
    align = partial(token_weights, tiny_translator)
    together = outcomes(*lines, model=tiny_translator, align=align)
    alone = [outcomes(text, model=tiny_translator, align=align)[0] for text in lines]
    assert [outputs(one) for one in together] == [outputs(one) for one in alone]

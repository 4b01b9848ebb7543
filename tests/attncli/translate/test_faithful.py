"""What the model loses is found and translated again; what it keeps is asked for once; markup."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest

from attncli.documents.tags import count
from attncli.faithful.result import Line, TranslatedLine
from attncli.shell.app import run
from attncli.translate._alignment import AlignTranslations, token_weights
from attncli.translate.chunks import translate_lines
from attncli.translate.engine import TranslateOptions
from attncli.translate.reports import OutputReport
from attncli.translate.runner import TranslateRunner
from models.core.types import Hypothesis, Translation
from models.core.use_config import SearchConfig
from models.engines.text_translator import TextTranslator
from models.engines.translator import Translator
from tests.attncli.faithful.small import line, one_to_one
from tests.upper_model import Upper

USUAL = TranslateOptions()


class Faulty(Upper):
    """A model of capitals whose best outputs are changed, and whose second best are not."""

    max_source_length = 400

    def __init__(
        self, fault: Callable[[str], str], *, unknown: str = "", reserved: int = 0
    ) -> None:
        super().__init__(reserved)
        self.changed, self.unknown = fault, unknown

    def unknown_characters(self, text: str) -> str:
        """Return the characters that this model is said not to know."""
        return "".join(sign for sign in dict.fromkeys(text) if sign in self.unknown)

    def _translation(self, text: str, search: SearchConfig) -> Translation:
        found = super()._translation(text, search)
        best = found.hypotheses[0]._replace(text=self.changed(text.upper()))
        return found._replace(hypotheses=(best, *found.hypotheses[1:]))


def outcome(
    text: str, model: Upper, options: TranslateOptions = USUAL, *, tags: bool = False
) -> TranslatedLine:
    aligner = one_to_one if tags else None
    [[found]] = translate_lines([[Line(1, text)]], model, options=options, aligner=aligner)
    return found


def output(
    text: str, model: Upper, options: TranslateOptions = USUAL, *, tags: bool = False
) -> str:
    found = outcome(text, model, options, tags=tags)
    assert found.translation and not found.checks
    return found.translation.text


LINES = [
    ("see %s and {x} now", "SEE %s AND {x} NOW"),
    ("it is 86988827 here", "IT IS 86988827 HERE"),
    ("the code 8f3K-22Lq-PPa9 is new", "THE CODE 8f3K-22Lq-PPa9 IS NEW"),
    ("from %s to %d", "FROM %s TO %d"),
    ("a | b", "A | B"),
    ("name:\tJohn", "NAME:\tJOHN"),
    ("I. the end", "I. THE END"),
    ("i. the end", "i. THE END"),
    ("b. the end", "b. THE END"),
    ("a) the end", "a) THE END"),
    ("a) THE END", "a) THE END"),
    ("the box of 😀😀 is here", "THE BOX OF 😀😀 IS HERE"),
    ("wait…", "WAIT…"),
    ("‘it’ is", "'IT' IS"),
    ("H₂O is water", "H₂O IS WATER"),
    ("&save it", "&SAVE IT"),
    ("save a&s", "&SAVE AS"),
    ("AT&T is here", "AT&T IS HERE"),
    ("a & b", "A & B"),
    ("NOËL is near", "NOËL IS NEAR"),
    ("save as…\tCtrl+S", "SAVE AS…\tCtrl+S"),
    ("open _File\tAlt+F", "_OPEN FILE\tAlt+F"),
    ("Pre_ferences", "_PREFERENCES"),
    ("my_file is here", "my_file IS HERE"),
    ("IBAN DE89 3704 0044 0532 0130 00 now", "IBAN DE89 3704 0044 0532 0130 00 NOW"),
    ('\\"%s\\" has %zu', '\\"%s\\" HAS %zu'),
    ("{price}/month", "{price}/MONTH"),
    ("it is 12,5 kg", "IT IS 12,5 kg"),
    ("{n, plural, one {# dog} other {# dogs}}", "{n, plural, one {# DOG} other {# DOGS}}"),
]


@pytest.mark.parametrize(("text", "expected"), LINES)
@pytest.mark.parametrize("tags", [False, True])
@pytest.mark.parametrize("reserved", [0, 32])
def test_protected_parts_are_in_the_output_as_they_were(
    text: str, expected: str, tags: bool, reserved: int
) -> None:
    model = Faulty(str, unknown="😀…‘₂|&", reserved=reserved)
    assert output(text, model, tags=tags) == expected
    assert not reserved or len(model.asked) == (
        2 if "|" in text or "\tJ" in text or "plural" in text else 1
    )


LOOP, LONG = "GO ON " * 9, "X" * 200


@pytest.mark.parametrize(
    ("fault", "text", "expected", "asked"),
    [
        (str, "see %s and {x}", "SEE %s AND {x}", 1),
        (lambda text: text.replace("\ue000", ""), "see %s now", "SEE %s NOW", 3),
        (lambda text: text.replace("\ue000", "\ue000 \ue000"), "see %s now", "SEE %s NOW", 3),
        (lambda text: text.replace("\ue000", ""), "it is (%s), so", "IT IS (%s), SO", 3),
        (lambda text: text.replace("27", "72"), "it is 27 here", "IT IS 27 HERE", 2),
        (lambda text: text.replace("2.5", "25"), "it is 2.5 here", "IT IS 2.5 HERE", 2),
        (lambda text: text.replace("$", ""), "it is $5 now", "IT IS $5 NOW", 2),
        (lambda text: LOOP if text.count(" ") > 4 else text, "a b c, d e f", "A B C, D E F", 3),
        (lambda text: "" if text.count(" ") > 4 else text, "a b c, d e f", "A B C, D E F", 3),
        (lambda text: LONG if text.count(" ") > 4 else text, "a b c, d e f", "A B C, D E F", 3),
    ],
)
def test_an_output_that_fails_a_check_is_translated_once_more(
    fault: Callable[[str], str], text: str, expected: str, asked: int
) -> None:
    model = Faulty(fault, reserved=8)
    assert output(text, model) == expected
    assert len(model.asked) == asked


def test_the_better_of_two_outputs_stays() -> None:
    model = Faulty(lambda text: LOOP)
    found = outcome("a b c d e f", model)
    assert found.text == LOOP.strip() and len(model.asked) == 3
    assert [one.name for one in found.checks] == ["repetition"]


def test_placeholders_without_numbers_keep_their_order() -> None:
    def turned(text: str) -> str:
        return " ".join(reversed(text.split()))

    found = outcome("from %s to %d", Faulty(turned, reserved=8)).translation
    assert found and found.text.index("%s") < found.text.index("%d")
    found = outcome("from %1$s to %2$d", Faulty(turned, reserved=8)).translation
    assert found and found.text.index("%1$s") > found.text.index("%2$d")


def test_a_text_without_stops_is_divided_where_it_can_be() -> None:
    words = ["so", "today", "we", "talk", "about", "bread", "and", "then", "we", "bake", "it"] * 20
    model = Faulty(str)
    assert output(" ".join(words), model) == " ".join(words).upper()
    assert max(map(model.source_length, model.asked)) <= 60 and len(model.asked) < 9
    starts = [text.split()[0] for text in model.asked]
    assert starts.count("and") + starts.count("then") + starts.count("so") == len(starts)
    model.asked.clear()
    output(" ".join(words), model, TranslateOptions.read(["search.split_above=20"]))
    assert max(map(model.source_length, model.asked)) <= 20


class Sentences(Faulty):
    """Writes each text as a sentence: with a capital and a stop; takes short sentences."""

    def __init__(self, fault: Callable[[str], str]) -> None:
        super().__init__(fault)
        self.search = SearchConfig(split_above=4)

    def is_small(self, word: str) -> bool:
        """Return False for a noun."""
        return word != "Dog"

    def _translation(self, text: str, search: SearchConfig) -> Translation:
        written = self.changed(text[:1].upper() + text[1:] + ".")
        return Translation(text, (Hypothesis(written, -1.0, -1.0, (), ()),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a. the end", "a. the end"),
        ("b. dog days", "b. Dog days"),
        ("The dog\tof him", "The dog\tof him"),
        ("so we go home and we eat, then we sleep", "So we go home and we eat, then we sleep"),
    ],
)
def test_a_piece_begins_and_ends_as_its_source(text: str, expected: str) -> None:
    options = TranslateOptions.read(["search.split_above=8"])
    assert output(text, Sentences(str), options) == expected


def test_a_word_at_a_seam_is_written_once() -> None:
    model = Sentences(lambda text: text[:-1] + " and." if text.startswith("So") else text)
    options = TranslateOptions.read(["search.split_above=8"])
    assert output("so we go home and we eat it", model, options) == "So we go home and we eat it"


def test_an_output_that_the_user_has_limited_is_translated_once() -> None:
    class Cut(Faulty):
        def _translation(self, text: str, search: SearchConfig) -> Translation:
            self.asked.append(text)
            return Translation(text, (Hypothesis("IT", -1.0, -1.0, (), (), truncated=True),))

    for limited in (False, True):
        model = Cut(str)
        found = outcome(
            "it is 5 here", model, TranslateOptions.read(["search.max_ratio=1"] if limited else [])
        )
        assert (len(model.asked) == 1) == limited and bool(found.checks) != limited


@pytest.mark.parametrize(
    "text", ["the dog sees it", "it's 5 o'clock: 3 dogs, 2 cats", 'a-b (c) "d" 100%']
)
def test_plain_lines_are_asked_for_once_and_as_they_are(text: str) -> None:
    model = Faulty(str)
    assert output(text, model) == text.upper() and [*model.asked] == [text]


def test_what_still_fails_is_told_once_as_message_and_data() -> None:
    class Broken(Faulty):
        def _translation(self, text: str, search: SearchConfig) -> Translation:
            wrong = tuple(Hypothesis("it is 7", -1.0, -1.0, (), ()) for _ in range(search.nbest))
            return Translation(text, wrong)

    found = outcome("it is 5", Broken(str))
    assert [*OutputReport().messages([found])] == ["line 1: other numbers: 5 is missing, 7 is new"]
    record = TranslateRunner(Upper()).record(found)
    assert record["checks"] == [{"name": "digits", "found": "5 is missing, 7 is new"}]


def test_a_given_translation_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("a.en", "5 dogs\nsee %s\n"), ("a.de", "6 Hunde\nsieh %s\n")):
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / name) for name in ("a.en", "a.de")]
    assert run(["evaluate", "--checks", *files]) == 0
    assert capsys.readouterr().out == "1\tdigits\t5 is missing, 6 is new\n"
    assert run(["evaluate", "--checks", "--json", *files]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "line": 1,
        "name": "digits",
        "found": "5 is missing, 6 is new",
    }


def test_plain_lines_need_no_torch() -> None:
    code = "import sys, attncli.translate.runner, models.engines.ctranslate2_translator\n"
    code += "assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def tagged(
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


def written(outcome: TranslatedLine) -> list[str]:
    assert outcome.translation
    return [hypothesis.text for hypothesis in outcome.translation.hypotheses]


def test_the_model_sees_no_markup_and_the_output_has_it() -> None:
    model = Upper(32)
    found = tagged("the <b>dog</b> {x}", "3 < 4", "a &amp; b", "", model=model)
    assert list(model.asked) == ["the dog \ue000", "3 \ue000 4", "a & b"]
    assert [written(outcome) for outcome in found] == [
        ["THE <b>DOG</b> {x}"],
        ["3 < 4"],
        ["A &amp; B"],
        [""],
    ]


def test_a_placeholder_between_blocks_stays_between_them() -> None:
    lines = ["<li>one</li><li>{0}</li><li>two</li>", "<h1>a</h1>{0}<p>b</p>", "{0}<p>b</p>{1}"]
    found = tagged(*lines, model=Upper(32))
    assert [written(one) for one in found] == [
        ["<li>ONE</li><li>{0}</li><li>TWO</li>"],
        ["<h1>A</h1>{0}<p>B</p>"],
        ["{0}<p>B</p>{1}"],
    ]


def test_a_line_of_markup_alone_is_itself_and_the_model_is_not_called() -> None:
    model = Upper(32)
    lines = ["<br/>", " <p>{x}</p>, %s. ", "<b></b>", "{0}"]
    assert [written(outcome) for outcome in tagged(*lines, model=model)] == [[x] for x in lines]
    assert not model.asked


def test_a_long_line_has_its_markup_after_it_was_split() -> None:
    text = "<i>" + "word " * 17 + "<b>end.</b></i> " + "word {x} " * 12 + "<br/><b>word</b>."
    [found] = tagged(text)
    assert "in 3 parts" in found.note
    assert written(found) == [text.replace("word", "WORD").replace("end", "END")]
    assert len(written(tagged(text, nbest=2)[0])) == 2


def test_blocks_are_translated_one_by_one() -> None:
    model = Upper(32)
    [found] = tagged("<p>A <b>dog</b>.</p><p>{n} cats</p>", model=model)
    assert list(model.asked) == ["A dog.", "\ue000 cats"]
    assert written(found) == ["<p>A <b>DOG</b>.</p><p>{n} CATS</p>"]


def test_as_much_markup_comes_out_as_went_in(tiny_translator: Translator) -> None:
    random = Random(5)
    lines = [line(random, most=8) for _ in range(24)]
    align = partial(token_weights, tiny_translator)
    translated = tagged(*lines, model=tiny_translator, align=align, nbest=2)
    for text, found in zip(lines, translated, strict=True):
        for output in written(found):
            assert count(output) == count(text), (text, output)


def test_alone_or_in_any_batch_the_markup_goes_to_the_same_place(
    tiny_translator: Translator,
) -> None:
    lines = ["The <b>old</b> dog sees {0}.", "<i>She</i> is.", "A <u>man sees</u> the {x} house."]
    align = partial(token_weights, tiny_translator)
    together = tagged(*lines, model=tiny_translator, align=align)
    alone = [tagged(text, model=tiny_translator, align=align)[0] for text in lines]
    assert [written(one) for one in together] == [written(one) for one in alone]


def test_pieces_stand_where_their_characters_are(tiny_translator: Translator) -> None:
    [translation] = tiny_translator.translate(["The dog sees  Ωmega é."])
    [found] = token_weights(tiny_translator, [translation])
    assert found.source[-1][1] == len(translation.source)
    assert found.target[-1][1] == len(translation.text)
    assert len(found.weights) == len(found.target)
    assert {len(row) for row in found.weights} == {len(found.source)}

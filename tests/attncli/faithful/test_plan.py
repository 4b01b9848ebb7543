"""From lines to texts: everyday input has the translation of the plain sentence."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from attncli.faithful.fit import Fitting, fitted
from attncli.faithful.kinds import KINDS
from attncli.faithful.plan import Plan
from attncli.faithful.result import Line, TranslatedLine
from attncli.translate.chunks import translate_lines
from attncli.translate.engine import TranslateOptions
from attncli.translate.writers import OutputReport
from models.core.types import Hypothesis, Translation
from models.engines.translator import Translator
from models.text.normalise import normalise
from tests.upper_model import Upper

USUAL = TranslateOptions()
PLAIN = "The old dog sees a small house."


def outcomes(
    texts: list[str], model: Translator | Upper, options: TranslateOptions = USUAL
) -> list[TranslatedLine]:
    lines = [Line(number, text) for number, text in enumerate(texts, 1)]
    [found] = translate_lines([lines], model, options=options)
    return found


def translated(
    texts: list[str], model: Translator | Upper, options: TranslateOptions = USUAL
) -> list[str]:
    found = [outcome.translation for outcome in outcomes(texts, model, options)]
    return [translation.text if translation else "" for translation in found]


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ("", "The old  dog sees\u00a0a small house.", ""),
        ("  ", PLAIN, "\t"),
        ("", PLAIN, " 😀"),
        ("👍🏽  ", PLAIN, "❤️ "),
    ],
)
def test_spaces_and_emoji_do_not_change_the_translation_and_are_kept_at_the_ends(
    before: str, text: str, after: str, tiny_translator: Translator
) -> None:
    [plain] = translated([PLAIN], tiny_translator)
    assert translated([before + text + after], tiny_translator) == [before + plain + after]


def test_a_line_of_letters_that_the_model_does_not_know_is_copied_and_reported(
    tiny_translator: Translator,
) -> None:
    lines = ["\u6771\u4eac 12", "\u6771 dog", PLAIN]
    found = outcomes(lines, tiny_translator)
    assert [outcome.foreign for outcome in found] == [True, False, False]
    assert found[0].translation and found[0].translation.text == lines[0] and not found[0].lost
    assert next(OutputReport().messages(found)).startswith("line 1: copied")
    assert not outcomes(lines, tiny_translator, TranslateOptions(verbatim=True))[0].foreign


@pytest.mark.parametrize(
    ("text", "plain"), [("it\u2019s", "it's"), ("Ma\u0308dchen", "M\u00e4dchen")]
)
def test_apostrophes_are_straight_and_accents_composed_for_the_model(text: str, plain: str) -> None:
    model = Upper()
    assert translated([text], model) == [plain.upper()]
    assert translated([text], model, TranslateOptions(verbatim=True)) == [text.upper()]


def test_lines_without_letters_and_addresses_pass_unchanged(tiny_translator: Translator) -> None:
    lines = ["600", " 12:30 ", "-----", "https://a.org/b", "a@b.org"]
    assert translated(lines, tiny_translator) == lines
    model = Upper()
    assert translated(lines, model) == lines and not model.asked
    assert translated(["600"], model, TranslateOptions(verbatim=True)) == ["600"] and list(
        model.asked
    ) == ["600"]


def test_a_line_in_capitals_is_translated_as_the_plain_sentence(
    tiny_translator: Translator,
) -> None:
    [plain] = translated([PLAIN], tiny_translator)
    assert translated([PLAIN.upper()], tiny_translator) == [plain.upper()]
    assert translated([PLAIN.upper()], tiny_translator, TranslateOptions(verbatim=True)) != [
        plain.upper()
    ]
    model = Upper()  # knows capitals: its tokens do not depend on the case
    translated(["THE DOG RUNS"], model)
    assert list(model.asked) == ["THE DOG RUNS"]


def test_a_word_that_is_longer_than_the_model_accepts_is_copied() -> None:
    model, word = Upper(), "a" * 250
    for line in (f" {word} ", f"the key is {word} today"):
        [outcome] = outcomes([line], model)
        assert outcome.translation and outcome.translation.text == line and not model.asked
    [outcome] = outcomes([word], model)
    note = "line 1 has 27 tokens and the model takes 20; a word without spaces, copied"
    assert outcome.note == note
    assert translated([word], model, TranslateOptions(verbatim=True)) != [word] and model.asked
    model.asked.clear()
    assert translated(["走" * 250], model) and model.asked  # written without spaces


class Echo(Upper):
    """A model that copies its input, and has no token for some signs."""

    max_source_length = 10_000

    def __init__(self, reserved: int) -> None:
        super().__init__(reserved)
        self.search = replace(self.search, split_above=0)

    def unknown_characters(self, text: str) -> str:
        """Return emoji and signs."""
        signs = dict.fromkeys(text)
        return "".join(sign for sign in signs if sign in "|\\^~" or ord(sign) > 0xFFFF)

    def echo(self, plan: Plan) -> TranslatedLine:
        """Return the result of a plan."""
        said = (Hypothesis(text, -1.0, -1.0, (), ()) for text in plan.texts)
        return plan.result([Translation(one.text, (one,)) for one in said])


def test_a_model_that_copies_gives_the_line_whatever_it_is() -> None:
    random = Random(5)
    signs = ["word", "Haus", "12", "$5", *"  -é\ue000\t\uf8ff", ". ", ", ", "! ", " | "]
    signs += ["😀", "👍🏽", "1️⃣", "x^2", *(one.example for one in KINDS if one.name != "message")]
    for number in range(1500):
        words = random.choices(signs, k=random.randrange(1, 12))
        text = "so " + ("".join(words) if number % 3 else " ".join(words)) + " it"
        model = Echo(random.choice([0, 3, 32]))
        options = TranslateOptions(keep_tags=bool(number % 2))
        plan = Plan.of(Line(1, text), model, options.plan, tags=bool(number % 2))
        assert not model.unknown_characters("".join(plan.texts)) or plan.copied or plan.tagged
        result = model.echo(plan)
        if plan.tagged and plan.tagged.tags:
            continue  # without the places of words
        assert normalise(plan.restored(result).text) == normalise(text), (text, plan)


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("Stop!!! It is here!!!", "Arrête ! ! ! Il est ici ! ! ! ! !", "Arrête !!! Il est ici !!!"),
        ("Really???", "Wirklich??", "Wirklich???"),
        ("What?!", "Was!!", "Was?!"),
        ("Help!! Come!", "Hilfe!", "Hilfe!"),  # another number of runs
        ("No!", "Nein!", "Nein!"),
        ("Why? Go!", "¿Por qué? ¡Ve!", "¿Por qué? ¡Ve!"),
        ('(He said "no".)', '(Er sagte "nein".', '(Er sagte "nein".)'),
        ('Type "exit".', "Tapez « exit.", "Tapez « exit »."),
        ('"No!"', "„Nein!", "„Nein!“"),
        ('"A" and (b)', '"A und (b)', '"A und (b)'),  # another pair is open
        ("in ‘bold’ style", "im Stil ‘fett'", "im Stil ‘fett’"),
        ('It is 27"', 'Es ist 27"', 'Es ist 27"'),
    ],
)
def test_signs_are_as_many_as_in_the_source_and_in_pairs(
    source: str, output: str, expected: str
) -> None:
    form = Fitting(ends=True, capitals=True, is_small=lambda word: True)
    assert fitted(("", ""), [source], [output], form) == [expected]

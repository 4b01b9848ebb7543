"""From lines to texts: everyday input has the translation of the plain sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from attncli.faithful._fit import Fitting, fitted
from attncli.faithful._kinds import KINDS
from attncli.faithful.branches import branches
from attncli.faithful.divide import sentences
from attncli.faithful.plan import Plan
from attncli.faithful.result import Line, TranslatedLine
from attncli.options.shared import check_texts
from attncli.translate.chunks import translate_lines
from attncli.translate.engine import TranslateOptions
from attncli.translate.reports import REPORTED, OutputReport
from models.core.errors import ModelError
from models.core.types import Hypothesis, Translation
from models.engines.translator import Translator
from models.text.languages import Glossary, Term
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


class Copying(Upper):
    """A model that copies characters that it does not know."""

    def __init__(self, known: Translator) -> None:
        super().__init__()
        self.unknown_characters = known.unknown_characters  # type: ignore[method-assign]


def test_outcomes_name_the_unknown_characters_that_the_output_lacks(
    tiny_translator: Translator,
) -> None:
    texts = [PLAIN, f"{PLAIN} 😀", "The 東京 dog 東 sees."]
    plain = TranslateOptions(verbatim=True)
    assert [found.lost for found in outcomes(texts, tiny_translator, plain)] == ["", "😀", "東京"]
    assert not any(found.lost for found in outcomes(texts, tiny_translator))
    assert [found.lost for found in outcomes(["東"], Copying(tiny_translator))] == [""]


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


def test_a_block_ends_a_text_and_a_line_break_does_not() -> None:
    def pieces(text: str) -> tuple[str, ...]:
        return Plan.of(Line(1, text), Upper(), USUAL.plan, tags=True).pieces

    assert pieces("<ul><li>One</li> <li>two<br>three</li></ul>") == ("One", "two three")
    assert pieces(" one <b>two</b> ") == ("one two",)


def test_a_label_has_a_key_and_a_text_with_tags_inside_has_none() -> None:
    def plan(text: str) -> Plan:
        return Plan.of(Line(1, text), Upper(), USUAL.plan, tags=True)

    found = plan("<b>Save _as</b>")
    assert (found.key, found.texts) == ("_", ["Save as"])
    assert not plan("See <b>&help</b> now").key


def test_text_between_tags_is_composed_and_tags_stay_as_they_are() -> None:
    tagged = "<b>Scho\u0308n</b> ist <a href='u\u0308'>das Ma\u0308dchen</a>."
    plan = Plan.of(Line(1, tagged), Upper(), USUAL.plan, tags=True)
    assert plan.pieces == ("Sch\u00f6n ist das M\u00e4dchen.",)
    assert plan.tagged and [tag.at for tag in plan.tagged.tags] == [0, 5, 10, 21]
    assert plan.tagged.tags[2].raw == "<a href='u\u0308'>"


def test_lines_without_letters_and_addresses_pass_unchanged(tiny_translator: Translator) -> None:
    lines = ["600", " 12:30 ", "-----", "https://a.org/b", "a@b.org"]
    assert translated(lines, tiny_translator) == lines
    model = Upper()
    assert translated(lines, model) == lines and not model.asked
    assert translated(["600"], model, TranslateOptions(verbatim=True)) == ["600"] and list(
        model.asked
    ) == ["600"]


def test_with_tags_lines_are_normalised_and_copied_as_well() -> None:
    def plan(text: str) -> Plan:
        return Plan.of(Line(1, text), Upper(), USUAL.plan, tags=True)

    assert plan("600").copied and plan("<td><b>600</b></td>").copied and plan("{n} 12").copied
    assert plan("it\u2019s  a\u00a0dog ").texts == ["it's a dog"]
    assert plan("<b>it\u2019s</b>  a\u00a0dog").texts == ["it's a dog"]


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


def test_a_long_line_is_translated_sentence_by_sentence(tiny_translator: Translator) -> None:
    texts = [PLAIN, "He ran.", "I ran."]
    parts = translated(texts, tiny_translator)
    assert tiny_translator.search.split_above == 40
    for most, count in ((5, 3), (200, 1), (0, 1)):
        model = tiny_translator.with_search(replace(tiny_translator.search, split_above=most))
        [outcome] = outcomes([" ".join(texts)], model, USUAL)
        assert len(outcome.parts) == count and not outcome.note
        assert outcome.translation
        assert count == 1 or outcome.translation.text == " ".join(parts)


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


def test_a_file_name_in_place_of_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "dev.tsv"
    path.write_text("a\tb\n")
    with pytest.raises(ModelError, match="name of a file.* -i .*dev.tsv"):
        check_texts([str(path)])
    mail = tmp_path / "a.eml"
    mail.write_text("Subject: a\n\nb\n")
    with pytest.raises(ModelError, match="mail is not read: save its body as FILE.txt"):
        check_texts([str(mail)])
    check_texts([str(path), "some text"])
    check_texts(["x" * 10_000, "\0"])
    with pytest.raises(ModelError, match="no file film2.srt; expected text to translate.* -i"):
        check_texts(["film2.srt"])
    check_texts(["I read film2.srt"])
    check_texts(["https://example.org/film2.srt"])
    check_texts(["e.g."])
    check_texts([])


def test_sentences_end_at_sentence_ends_only() -> None:
    assert sentences("Mr. A. Smith came. He left!") == ["Mr. A. Smith came.", "He left!"]
    assert sentences("He said 3. Then he left.") == ["He said 3. Then he left."]
    assert sentences("What? no. Yes... maybe") == ["What? no.", "Yes... maybe"]
    assert sentences("走吧。好。") == ["走吧。", "好。"]
    assert sentences("one") == ["one"]


def outcome_of(number: int, text: str, *, truncated: bool = False) -> TranslatedLine:
    best = Hypothesis(text, -0.5, -2.0, ("a",), (4,), truncated)
    return TranslatedLine(Line(number, "source"), Translation("source", (best,)))


def test_suspicious_outputs_are_reported_with_their_lines_and_counted() -> None:
    report = OutputReport()
    cut = [outcome_of(n, "a", truncated=True) for n in range(1, REPORTED + 3)]
    lost = replace(outcome_of(8, "a"), lost="東京")
    messages = list(report.messages([outcome_of(9, "no " * 9), lost, *cut, outcome_of(10, "a b")]))
    assert messages[0] == "line 9: the output repeats 'no' 9 times in a row (score -0.50)"
    assert messages[1] == "line 8: the output lacks '東京', which the model does not know"
    assert messages[2].startswith("line 1: the output was cut at its length limit, after 1 token ")
    assert len(messages) == 2 + REPORTED
    total = f"outputs cut at their length limit: {REPORTED + 2}"
    assert list(report.totals(above=REPORTED)) == [total] and len(list(report.totals())) == 3


def test_a_line_with_a_term_of_the_glossary_is_translated_sentence_by_sentence() -> None:
    model = Upper()
    line = Line(1, "The dog sees. The old cat sleeps.")
    assert Plan.of(line, model, USUAL.plan).texts == [line.text]
    model.glossary = Glossary((Term("cat", "Kater"),))
    assert Plan.of(line, model, USUAL.plan).texts == ["The dog sees.", "The old cat sleeps."]


def test_parts_that_are_cut_within_a_word_are_no_longer_than_usual_texts() -> None:
    model, text = Upper(), "see " + "走" * 250 + " and " + "word " * 15
    model.search = replace(model.search, split_above=5)
    [long] = translated([text], model)
    parts = [part for part in model.asked if set(part) == {"走"}]
    assert max(map(model.source_length, parts)) <= 5
    assert long.replace(" ", "") == text.upper().replace(" ", "")
    assert max(map(model.source_length, model.asked)) > 5  # cut at spaces: as the model accepts


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


def test_runs_of_signs_are_checked_as_the_output_has_them() -> None:
    plan = Plan.of(Line(1, "Stop!!! It is here!!!"), Upper(), USUAL.plan)
    said = [Hypothesis("STOP!!! IT IS HERE ! ! ! !", -1.0, -1.0, (), ())]
    result = plan.result([Translation("", tuple(said)) for _ in plan.pieces])
    assert not result.checks and result.text.endswith("!!!") and "! !" not in result.text


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
        ("No!", " Nein!", "Nein!"),
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You see {{A:x|dog|dogs}}.", ["{{A:x|", "You see dog.", "|", "You see dogs.", "}}"]),
        ("{{A:x|0=no|many}}", ["{{A:x|0=", "no", "|", "many", "}}"]),
        ("{{A:x|he|[[b|c]]}}", ["{{A:x|", "he", "|", "[[b|c]]", "}}"]),
        ("{{A:x||b}}", ["{{A:x|", "", "|", "b", "}}"]),
        ("{{ n | x }}", []),
        ("{{A:x|" * 3000, []),
    ],
)
def test_a_plural_of_mediawiki_has_branches(text: str, expected: list[str]) -> None:
    assert branches(text)[1:-1] == expected


def test_three_messages_of_a_text_have_the_branches_of_all_their_forms() -> None:
    texts = [*filter(None, branches("{{PLURAL:$1|a|b}} so " * 3)[::2])]
    assert len(texts) == len({*texts}) == 8

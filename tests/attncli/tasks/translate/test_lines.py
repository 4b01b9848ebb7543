"""An outcome for each line, in order, whatever the lines are."""

from __future__ import annotations

from attncli.data.lines import Line, TranslatedLine
from attncli.data.split import split
from attncli.tasks.translate.lines import translate_lines
from models.base.types import Translation
from models.config.tables import SearchConfig
from tests.upper_model import Upper


def outcomes(*texts: str, model: Upper | None = None, nbest: int = 1) -> list[TranslatedLine]:
    chunk = [Line(number, text) for number, text in enumerate(texts, 1)]
    [found] = translate_lines([chunk], (model or Upper()).with_search(SearchConfig(nbest=nbest)))
    return found


def translation(outcome: TranslatedLine) -> Translation:
    assert outcome.translation is not None
    return outcome.translation


def test_a_long_line_is_split_at_sentence_ends_and_rejoined() -> None:
    model = Upper()
    text = "Is it one? (Yes.) “It is.” " + "word " * 15 + "3.14 here."
    [outcome] = outcomes(text, model=model)
    assert list(model.asked) == ["Is it one?", "(Yes.)", "“It is.”", "word " * 15 + "3.14 here."]
    assert translation(outcome).text == text.upper()
    assert outcome.note == "line 1 has 24 tokens and the model takes 20; translated in 4 parts"


def test_the_parts_of_a_line_are_joined_rank_by_rank() -> None:
    [outcome] = outcomes("word " * 17 + ". word word", nbest=2)
    best, second = translation(outcome).hypotheses
    assert (best.text.count("WORD"), best.text.count("!")) == (19, 0)
    assert second.text.count("!") == 2
    assert (second.score, second.log_prob) == (-1.5, -6.0)


def test_splitting_prefers_sentences_then_clauses_then_words_then_letters() -> None:
    def fits(text: str) -> bool:
        return len(text) <= 12

    assert split("Go home. Go.", fits) == ["Go home. Go."]
    assert split("Go home now. Go.", fits) == ["Go home now.", "Go."]
    assert split("go home, then sleep", fits) == ["go home,", "then sleep"]
    assert split("go home then sleep", fits) == ["go home", "then sleep"]
    assert split("gohomethensleep", fits) == ["gohomet", "hensleep"]
    assert split("走吧。今天我们去公园看花好不好", fits) == ["走吧。", "今天我们去公园看花好不好"]
    assert not any(part.startswith("\u0301") for part in split("e\u0301" * 99, fits))

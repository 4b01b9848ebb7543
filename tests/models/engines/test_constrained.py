"""Outputs that contain given phrases, against brute force."""

from __future__ import annotations

import pytest

from models.core.errors import InputError
from models.core.limits import GIVE_TURN, TERM_TOKENS
from models.core.use_config import SearchConfig
from models.engines._constrained import (
    RequiredPhrase,
    constrained_search,
    contains,
)
from models.engines.translator import Translator
from models.search.hypotheses import Finished
from models.text.languages import Glossary, Term
from tests.models.search.exhaustive import (
    WORDS,
    agree,
    every_output,
    log_prob_of,
    memory_of,
    one_of_each_family,
    outputs,
)
from tests.models.small import FIRST_WORD, small_model

pytestmark = pytest.mark.usefixtures("no_gradients")
A, B, C = range(FIRST_WORD, FIRST_WORD + WORDS)


def constrained(
    preset: str,
    phrases: list[RequiredPhrase],
    config: SearchConfig,
    limit: int,
    vocabulary: int,
    inside: tuple[int, ...] = (),
) -> list[Finished]:
    model = small_model(preset, vocabulary)
    return constrained_search(model, memory_of(model, 3), limit, phrases, config, inside)


@one_of_each_family
@pytest.mark.parametrize("phrases", [[(A,)], [(A, B)], [(A, A)], [(C,), (B,)], [(A, B), (C,)]])
def test_a_wide_beam_ranks_all_outputs_with_the_phrases_as_brute_force(
    preset: str, phrases: list[RequiredPhrase]
) -> None:
    config = SearchConfig(beam=100, nbest=100)
    vocabulary = FIRST_WORD + WORDS
    limit = 4 - sum(map(len, phrases))
    found = constrained(preset, phrases, config, limit, vocabulary)
    every = every_output(small_model(preset, vocabulary), [3], 0, config.length_penalty)
    agree(found, [one for one in every if all(contains(one.ids, p) for p in phrases)])


@one_of_each_family
def test_a_phrase_ends_with_its_word(preset: str) -> None:
    config, vocabulary = SearchConfig(beam=100, nbest=100), FIRST_WORD + WORDS
    found = constrained(preset, [(A,)], config, 3, vocabulary, inside=(B,))
    every = every_output(small_model(preset, vocabulary), [3], 0, config.length_penalty)
    agree(found, [one for one in every if A in one.ids and not joined(one.ids)])


def joined(ids: tuple[int, ...]) -> bool:
    """Return True if B follows the first A."""
    return ids[ids.index(A) :][1:2] == (B,)


@one_of_each_family
@pytest.mark.parametrize("beam", [2, 3, 5])
def test_a_narrow_beam_finds_outputs_with_many_phrases(preset: str, beam: int) -> None:
    phrases = [(7, 8, 9), (7, 10), (11,), (12, 12)]
    found = constrained(preset, phrases, SearchConfig(beam=beam, nbest=beam), 6, 30)
    assert found
    for one in found:
        assert all(contains(one.ids, phrase) for phrase in phrases)
        expected = log_prob_of(small_model(preset, 30), [3], 0, one.ids)
        assert one.log_prob == pytest.approx(expected, abs=1e-3)


@one_of_each_family
def test_without_phrases_the_outputs_are_those_of_beam_search(preset: str) -> None:
    config = SearchConfig(beam=4, nbest=4)
    [expected] = outputs(small_model(preset), [3], 8, config)
    agree(constrained(preset, [], config, 8, 30)[:1], expected[:1])


def test_terms_are_whole_words_and_the_longest_is_found() -> None:
    glossary = Glossary((Term("dog", "Hund"), Term("hot dog", "Hotdog"), Term("C++", "C++")))
    assert glossary.targets("A Hot Dog, a dog, a dog and C++.") == ["Hotdog", "Hund", "C++"]
    assert glossary.targets("dogs hotdog") == []


@pytest.mark.parametrize(
    "term, text",
    [
        ("caf\u00e9", "The Cafe\u0301."),
        ("cafe\u0301", "the CAF\u00c9"),
        ("l'eau", "de l\u2019eau"),
        ("l\u2019eau", "de l'eau"),
        ("hot  dog", "a hot\u00a0dog"),
    ],
)
def test_a_term_is_found_in_each_of_its_spellings(term: str, text: str) -> None:
    assert Glossary((Term(term, "x"),)).targets(text) == ["x"]


def test_a_translation_contains_the_terms_alone_and_in_a_batch(tiny_translator: Translator) -> None:
    glossary = Glossary((Term("dog", "Hund"), Term("house", "Haus")))
    model = tiny_translator.with_glossary(glossary)
    texts = ["the dog sees a house", "nothing", "a dog"]
    found = model.translate(texts)
    assert "Hund" in found[0].text and "Haus" in found[0].text and "Hund" in found[2].text
    assert found[1].text == tiny_translator.translate(texts)[1].text
    assert [model.translate([text])[0].text for text in texts] == [one.text for one in found]


def test_terms_of_too_many_tokens_are_refused_before_the_search(
    tiny_translator: Translator,
) -> None:
    model = tiny_translator.with_glossary(Glossary((Term("dog", "Hund " * TERM_TOKENS),)))
    with pytest.raises(InputError, match=f"at most {TERM_TOKENS}"):
        model.translate(["a dog"])


def test_a_search_gives_others_a_turn_at_each_step(tiny_translator: Translator) -> None:
    turns = list[int]()
    before = GIVE_TURN.set(lambda: turns.append(1))
    for model in (
        tiny_translator,
        tiny_translator.with_glossary(Glossary((Term("dog", "Hund " * 9),))),
    ):
        [found] = model.translate(["a dog"])
        assert len(turns) >= len(found.hypotheses[0].ids)
        turns.clear()
    GIVE_TURN.reset(before)

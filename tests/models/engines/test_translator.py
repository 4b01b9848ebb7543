"""A translator: texts in, typed results out, in order, whatever the batch."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import pytest

from attncli.data.embedded import Pair
from models import load
from models.core.errors import ModelError
from models.core.types import Translation
from models.core.use_config import SearchConfig
from models.engines.translator import Translator
from models.search.batching import length_batches
from models.storage.installed import BOX, is_bundle
from models.text.languages import Glossary, Term


def same(one: list[Translation], other: list[Translation]) -> None:
    assert [t.source for t in one] == [t.source for t in other]
    for a, b in zip(one, other, strict=True):
        assert [h.text for h in a.hypotheses] == [h.text for h in b.hypotheses]
        assert [h.score for h in a.hypotheses] == pytest.approx(
            [h.score for h in b.hypotheses], abs=1e-4
        )


def test_an_empty_text_gives_an_empty_output_and_the_model_is_not_called(
    tiny_translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["He ran.", "", " \t\u3000", "I ran."]
    [before, empty, spaces, after] = tiny_translator.translate(texts)
    assert empty.text == spaces.text == "" and before.text and after.text
    assert len(empty.hypotheses) == 1 and empty.hypotheses[0].ids == ()
    monkeypatch.setattr(tiny_translator, "_search", None)
    assert [t.text for t in tiny_translator.translate(["", " "])] == ["", ""]
    assert tiny_translator.translate([]) == []


def test_a_text_that_is_too_long_is_refused_and_named(tiny_translator: Translator) -> None:
    longest = "a" * 600
    assert tiny_translator.source_length(longest) > tiny_translator.max_source_length
    with pytest.raises(ModelError, match="text 2 has .* tokens") as refused:
        tiny_translator.translate(["He ran.", longest])
    assert "\n" not in str(refused.value)


def test_batches_hold_every_sentence_once_within_the_budget() -> None:
    lengths = [3, 9, 1, 0, 4, 4, 30, 2]
    order = [2, 7, 0, 4, 5, 1, 6]  # by length; an empty one has no place
    batches = length_batches(lengths, max_tokens=12)
    assert [i for batch in batches for i in batch] == order
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= 12
    longest_first = length_batches(lengths, max_tokens=12, longest_first=True)
    assert longest_first == [[6], [1], [4, 5, 0], [7, 2]]
    assert [len(batch) for batch in length_batches(lengths, max_count=3)] == [3, 3, 1]


def test_a_stream_gives_the_same_in_order_and_reads_no_further_than_its_window(
    tiny_translator: Translator, tiny_pairs: list[Pair]
) -> None:
    texts = [pair.source for pair in tiny_pairs[:10]] + ["", tiny_pairs[10].source]
    read: list[str] = []
    done: list[int] = []

    def endless() -> Iterator[str]:
        for text in itertools.cycle(texts):
            read.append(text)
            yield text

    stream = tiny_translator.stream(endless(), window=4, on_batch=done.append)
    same(tiny_translator.translate(texts), list(itertools.islice(stream, len(texts))))
    assert len(read) == len(texts) and done[-1] <= len(texts)


def test_an_output_cut_at_its_limit_is_marked(tiny_translator: Translator) -> None:
    text = "The old man sleeps and the dog runs."
    [whole] = tiny_translator.translate([text], search=SearchConfig(method="greedy"))
    ids = whole.hypotheses[0].ids
    for method in ("beam", "greedy", "sample"):
        for extra in (len(ids), len(ids) + 1):
            search = SearchConfig(method=method, top_k=1, max_ratio=0, max_extra=extra, beam=1)
            [cut] = tiny_translator.translate([text], search=search)
            assert cut.hypotheses[0].truncated is (extra == len(ids)), method
            assert cut.hypotheses[0].ids == ids[: extra - 1]


def test_a_term_that_costs_much_replaces_one_word_and_moves_no_other() -> None:
    if not is_bundle(BOX / "everyday"):
        pytest.skip("the models are not in the box")
    model = load(BOX / "everyday", "translate").for_direction("de", "en")
    texts = ["The delivery will arrive on Monday.", "Our customer service is closed today."]
    free = [found.text.split() for found in model.translate(texts)]
    terms = Glossary((Term("delivery", "Zustellung"), Term("customer", "Mandant")))
    first, second = (found.text.split() for found in model.with_glossary(terms).translate(texts))
    assert [word for word, old in zip(first, free[0], strict=True) if word != old] == ["Zustellung"]
    assert any("Mandant" in word for word in second)


@pytest.mark.parametrize("method", ["beam", "sample"])
def test_more_outputs_never_change_the_first(method: str, tiny_translator: Translator) -> None:
    texts = ["The dog sleeps.", *(f"The old dog sees {number} houses." for number in range(5))]
    config = SearchConfig(method=method, beam=2, max_ratio=1, max_extra=4)
    ones = tiny_translator.translate(texts, search=config)
    for nbest in (2, 5, 9):
        more = dataclasses.replace(config, nbest=nbest)
        for one, many in zip(ones, tiny_translator.translate(texts, search=more), strict=True):
            assert many.hypotheses[0].ids == one.hypotheses[0].ids
            scores = [each.score for each in many.hypotheses[1:]]
            assert scores == sorted(scores, reverse=True)

"""A search by shortlist outputs listed tokens only, and does not depend on the batch."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from attncli.embedded.grammar import Pair
from models import load_translator
from models.base.errors import ConfigurationError
from models.base.types import Translation
from models.config.tables import SearchConfig
from models.inference.captioner import Captioner
from models.inference.ensemble.translator import EnsembleTranslator
from models.inference.search.beam import search
from models.inference.search.hypotheses import Finished
from models.inference.search.joined_search import JoinedSearch
from models.inference.search.shortlist import ShortlistBackend, TokensOfColumns, distinct
from models.inference.translator import Translator
from models.storage.shortlist import Shortlist
from models.text.glossary import Glossary, Term
from models.text.tokenizer import END, PAD
from tests.models.inference.test_translator import same
from tests.models.small import (
    TEXT_PRESETS,
    VOCABULARY,
    imaged,
    reads_images,
    small_model,
    sources,
)
from tests.models.test_decoding import agree

RESERVED = torch.arange(END + 1)
EVERY = torch.arange(VOCABULARY)
TEXT = [preset for preset in TEXT_PRESETS if not reads_images(preset)]
SEARCHES = [
    SearchConfig(beam=3, nbest=3),
    SearchConfig(method="greedy"),
    SearchConfig(method="sample", nbest=3, top_k=9),
]


def whole_as_common() -> Shortlist:
    return Shortlist(EVERY, torch.full((VOCABULARY, 1), PAD))


def whole_in_rows() -> Shortlist:
    return Shortlist(RESERVED, EVERY[END + 1 :].expand(VOCABULARY, -1))


def random_lists(vocabulary: int = VOCABULARY, common: int = 5) -> Shortlist:
    """Return a shortlist of some common tokens, and four or fewer others for each token."""
    others = torch.randperm(vocabulary - END - 1) + END + 1
    rows = others[common:][torch.randint(len(others) - common, (vocabulary, 4))]
    rows[torch.rand(rows.shape) < 0.3] = PAD
    return Shortlist(torch.cat([RESERVED, others[:common].sort().values]), rows)


def listed(shortlist: Shortlist, ids: Sequence[int]) -> set[int]:
    return {*shortlist.common.tolist(), *shortlist.rows[list(ids)].flatten().tolist()}


@torch.no_grad()
def found_by(
    preset: str, shortlist: Shortlist | None, ids: Tensor, mask: Tensor, config: SearchConfig
) -> list[list[Finished]]:
    model, columns = small_model(preset), TokensOfColumns()
    backend = ShortlistBackend(model, shortlist) if shortlist else model
    memory = backend.encode(ids, mask)
    columns.add(range(len(ids)), memory)
    limits, keys = [9] * len(ids), [str(each[each != PAD].tolist()) for each in ids]
    outputs = search(backend, memory, limits, keys, config)
    return [each for _, each in columns.restored(enumerate(outputs))]


@pytest.mark.parametrize("preset", TEXT)
@pytest.mark.parametrize("config", SEARCHES, ids=lambda one: one.method)
def test_the_whole_vocabulary_as_shortlist_changes_nothing(
    preset: str, config: SearchConfig
) -> None:
    ids, mask = sources(7, 4, 2)
    expected = found_by(preset, None, ids, mask, config)
    for whole in (whole_as_common(), whole_in_rows()):
        for one, other in zip(found_by(preset, whole, ids, mask, config), expected, strict=True):
            agree(one, other)


@pytest.mark.parametrize("preset", TEXT)
@pytest.mark.parametrize("config", SEARCHES, ids=lambda one: one.method)
def test_outputs_are_listed_and_the_same_alone(preset: str, config: SearchConfig) -> None:
    shortlist, (ids, mask) = random_lists(), sources(7, 4, 2, 1)
    together = found_by(preset, shortlist, ids, mask, config)
    for row, outputs in zip(ids, together, strict=True):
        own = row[row != PAD]
        allowed = listed(shortlist, own.tolist())
        assert all(set(one.ids) <= allowed for one in outputs)
        [alone] = found_by(preset, shortlist, own[None], own[None] != PAD, config)
        agree(alone, outputs)


@pytest.mark.parametrize("preset", ["transformer-nano", "rnnsearch-nano"])
@torch.no_grad()
def test_joined_searches_equal_those_of_each_batch(preset: str) -> None:
    model = copy.deepcopy(small_model(preset))
    model.output.bias[END] -= 5  # long outputs
    backend, config = ShortlistBackend(model, random_lists()), SearchConfig(beam=3)
    searches, columns, number = JoinedSearch(backend, config), TokensOfColumns(), 0
    found: dict[int, list[Finished]] = {}
    expected: list[list[Finished]] = []
    for lengths in [(9, 8, 7, 6, 5, 4, 3, 2), (4, 3, 2, 1)]:
        memory = backend.encode(*sources(*lengths))
        limits = [4 * length for length in lengths]
        numbers = range(number, number := number + len(lengths))
        columns.add(numbers, memory)
        expected += search(backend, memory, limits, [""] * len(lengths), config)
        found.update(searches.add(memory, limits, numbers))
        assert searches.paused or number > 8
    found.update(searches.finish())
    for one, other in zip((found[n] for n in range(number)), expected, strict=True):
        agree(one, other)
    assert columns.restored(found.items()) and not columns.tokens


def test_the_tokens_of_a_row_are_distinct_and_sorted() -> None:
    rows = torch.tensor([[7, 5, 0, 5], [0, 0, 0, 0], [9, 8, 7, 6]])
    expected = [[5, 7, 0, 0], [0, 0, 0, 0], [6, 7, 8, 9]]
    assert distinct(rows).tolist() == expected
    assert distinct(rows[1:2]).shape == (1, 0)


@pytest.fixture
def limited(tiny_bundle: Path) -> Translator:
    """Return the tiny translator with a shortlist."""
    translator = load_translator(tiny_bundle)
    sizes = len(translator.tokenizer.target)
    translator.shortlists = {"": random_lists(sizes, common=sizes // 3)}
    return translator.with_search(SearchConfig(shortlist=True, beam=3))


def check_listed(translator: Translator, found: Sequence[Translation]) -> None:
    for one in found:
        allowed = listed(translator.shortlists[""], translator.encode(one.source))
        assert all(set(each.ids) <= allowed for each in one.hypotheses)


@pytest.mark.parametrize(
    "changes", [{"nbest": 3}, {"method": "greedy"}, {"method": "sample", "nbest": 2}]
)
def test_a_translator_with_a_shortlist_does_not_depend_on_the_batch(
    changes: dict[str, object], limited: Translator, tiny_pairs: list[Pair]
) -> None:
    config = replace(limited.search, **changes)  # type: ignore[arg-type]
    texts = [pair.source for pair in tiny_pairs[:20]]
    together = limited.translate(texts, search=config)
    check_listed(limited, together)
    whole = limited.translate(texts, search=replace(config, shortlist=False))
    assert [one.text for one in together] != [one.text for one in whole]
    same(together, limited.translate(texts, search=config, max_batch_tokens=40))
    same(together, [limited.translate([text], search=config)[0] for text in texts])


@pytest.mark.parametrize("method", ["beam", "sample"])
def test_minimum_bayes_risk_chooses_among_listed_candidates(
    method: str, limited: Translator, tiny_pairs: list[Pair]
) -> None:
    texts = [pair.source for pair in tiny_pairs[:6]]
    search = replace(limited.search, method=method, mbr="chrf", candidates=8)
    found = limited.translate(texts, search=search)
    check_listed(limited, found)
    others = limited.translate(texts, search=replace(search, mbr="none", nbest=8, beam=8))
    for one, candidates in zip(found, others, strict=True):
        assert one.hypotheses[0].ids in {candidate.ids for candidate in candidates.hypotheses}
    assert any(a.text != b.text for a, b in zip(found, others, strict=True))
    every = torch.arange(len(limited.tokenizer.target))
    whole = Shortlist(every, torch.full((len(limited.tokenizer.source), 1), PAD))
    expected = limited.translate(texts, search=replace(search, shortlist=False))
    limited.shortlists = {"": whole}
    same(limited.translate(texts, search=search), expected)


def test_a_source_that_the_pairs_did_not_cover_is_searched_over_the_whole_vocabulary(
    limited: Translator,
) -> None:
    texts = ["the dog sees a house", "the dog sees \u6771\u4eac"]
    whole = limited.translate(texts, search=replace(limited.search, shortlist=False))
    listed_only = limited.translate(texts)
    seen = torch.tensor(limited.encode(texts[0]))
    every = torch.arange(len(limited.tokenizer.source))
    shortlist = limited.shortlists[""]._replace(unseen=every[~torch.isin(every, seen)])
    limited.shortlists = {"": shortlist}
    found = limited.translate(texts)
    same(found, [listed_only[0], whole[1]])
    assert listed_only[1].text != whole[1].text
    check_listed(limited, found[:1])


def test_terms_of_a_glossary_are_found_outside_the_shortlist(limited: Translator) -> None:
    text = "the dog sees a house"
    model = limited.with_glossary(Glossary((Term("dog", "Qu"),)))
    [found] = model.translate([text])
    allowed = listed(limited.shortlists[""], limited.encode(text))
    assert "Qu" in found.text and not set(found.hypotheses[0].ids) <= allowed


def test_a_search_that_cannot_be_limited_is_refused(
    tiny_translator: Translator, soft_captioner: Path
) -> None:
    config = SearchConfig(shortlist=True)
    with pytest.raises(ConfigurationError, match="attn models shortlist"):
        tiny_translator.with_search(config)
    with pytest.raises(ConfigurationError, match="attn models shortlist"):
        tiny_translator.translate(["a dog"], search=config)
    with pytest.raises(ConfigurationError, match="one text model, run by torch"):
        EnsembleTranslator([tiny_translator] * 2).translate(["a dog"], search=config)
    model = Captioner.read(soft_captioner).model
    ids, mask = sources(3)
    with pytest.raises(ConfigurationError, match="one text model, run by torch"):
        search(model, model.encode(imaged(ids), mask), [5], [""], config)

"""Alignments of pairs of texts: alone or together, with one model or two, of its own output."""

from __future__ import annotations

import pytest
import torch

from attncli.data.embedded import Pair
from models.alignment import (
    AlignConfig,
    align,
    align_translations,
    choose_head,
    head_weights,
    symmetrise,
)
from models.alignment.align import NEAR, score_heads
from models.core.use_config import SearchConfig, TokenizerConfig
from models.engines.translator import Translator
from models.networks.bundle import Bundle
from models.text.tokenizer import Tokenizer
from tests.models.small import small_model

PAIRS = [
    ("The dog sees a house.", "Der Hund sieht ein Haus."),
    ("", "x"),
    ("She is.", "Sie"),
    ("My old dog sleeps in the garden today.", "Mein alter Hund schläft heute im Garten."),
]


def translator_of(preset: str, tokenizer: Tokenizer) -> Translator:
    """Return a model of random weights in use."""
    model = small_model(preset, len(tokenizer.target))
    return Translator(Bundle(model, tokenizer, TokenizerConfig(), SearchConfig()))


@pytest.mark.parametrize("units", ["word", "piece", "char"])
@pytest.mark.parametrize("shift", [0, 1])
def test_rows_are_distributions(units: str, shift: int, tiny_translator: Translator) -> None:
    for found in align(
        tiny_translator, PAIRS, config=AlignConfig(units=units, shift=shift, extract="argmax")
    ):
        if not found.note:
            rows = found.weights.sum(1) + found.null
            torch.testing.assert_close(rows, torch.ones(len(found.target)))
            assert {j for _, j in found.links} == set(range(len(found.target)))


TYPOGRAPHY = {
    "accents": ("It's cafe\u0301.", "Ma\u0308rz ist's."),
    "spaces": ("  It's\u00a0  caf\u00e9. ", " M\u00e4rz\u2003 ist's.  "),
    "apostrophes": ("It\u2019s caf\u00e9.", "M\u00e4rz ist\u2019s."),
}


@pytest.mark.parametrize("units", ["word", "piece", "char"])
@pytest.mark.parametrize("name", TYPOGRAPHY)
def test_typography_does_not_change_an_alignment(
    name: str, units: str, tiny_translator: Translator
) -> None:
    pairs = [("It's caf\u00e9.", "M\u00e4rz ist's."), TYPOGRAPHY[name]]
    plain, found = align(tiny_translator, pairs, config=AlignConfig(units=units))
    assert found.links == plain.links and found.score == pytest.approx(plain.score)
    torch.testing.assert_close(found.weights, plain.weights)
    if name == "apostrophes" and units == "word":  # shown as they are written
        assert (found.source, found.target) == tuple(tuple(text.split()) for text in pairs[1])
    elif name != "apostrophes":
        assert (found.source, found.target) == (plain.source, plain.target)


def test_links_count_the_words_of_str_split(tiny_translator: Translator) -> None:
    source, target = "\u3000a\u00a0b\x1fc \t d\u2028e", "x  y\x0bz\u200a"
    [found] = align(tiny_translator, [(source, target)])
    assert found.source == tuple(source.split()) and found.target == tuple(target.split())


def test_a_pair_that_cannot_be_aligned_says_why(tiny_translator: Translator) -> None:
    long = "dog " * tiny_translator.max_source_length
    found = align(tiny_translator, [("", "x y"), ("x", " "), (long, "Hund")])
    assert [one.note for one in found[:2]] == ["an empty side"] * 2
    assert "source tokens, at most 512 allowed" in found[2].note
    assert found[0].target == ("x", "y") and found[0].weights.shape == (2, 0)
    assert found[2].weights.shape == (1, 512) and not found[2].links


def test_the_score_is_that_of_the_search(tiny_translator: Translator) -> None:
    [translation] = tiny_translator.translate(["The dog sees a house."])
    [found] = align_translations(tiny_translator, [translation])
    best = translation.hypotheses[0]
    assert found.target == tuple(translation.text.split())
    assert found.score == pytest.approx(best.log_prob / (len(best.ids) + 1), abs=1e-5)


def test_own_output_is_aligned_by_its_own_pieces(tiny_translator: Translator) -> None:
    translations = tiny_translator.translate(["", *(source for source, _ in PAIRS if source)])
    found = align_translations(tiny_translator, translations)
    assert found[0].note == "an empty side"
    for translation, one in zip(translations, found, strict=True):
        assert one.target == tuple(translation.text.split())
    pieces = align_translations(tiny_translator, translations, config=AlignConfig(units="piece"))
    assert [one.target for one in pieces] == [t.hypotheses[0].tokens for t in translations]


def test_heads_of_an_output_are_those_of_its_alignment(tiny_translator: Translator) -> None:
    """The model read the two spaces of the source, which a pair of texts would not keep."""
    config = AlignConfig(units="piece", layer=1, head=1)
    translations = tiny_translator.translate(["The  dog sees a house."])
    [found] = align_translations(tiny_translator, translations, config=config)
    [heads] = head_weights(tiny_translator, translations, config=config)
    assert heads is not None and heads.shape[2:] == found.weights.shape
    torch.testing.assert_close(heads[0, 0], found.weights)


@pytest.mark.parametrize("preset", ["transformer-tiny", "rnnsearch-small", "luong-small"])
def test_a_layer_and_a_head_are_those_of_all_heads(preset: str, tiny_tokenizer: Tokenizer) -> None:
    translator = translator_of(preset, tiny_tokenizer)
    layers, heads = translator.model.decoder.attention_shape
    [every] = head_weights(translator, PAIRS[:1])
    assert every is not None and every.shape == (layers, heads, 5, 5)
    for layer in range(layers):
        for head in range(heads):
            config = AlignConfig(layer=layer + 1, head=head + 1)
            [one] = align(translator, PAIRS[:1], config=config)
            torch.testing.assert_close(one.weights, every[layer, head])
        [mean] = align(translator, PAIRS[:1], config=AlignConfig(layer=layer + 1))
        torch.testing.assert_close(mean.weights, every[layer].mean(0))
    [default] = align(translator, PAIRS[:1])
    torch.testing.assert_close(default.weights, every[translator.model.decoder.shown_layer].mean(0))


def test_two_directions_are_symmetrised(tiny_translator: Translator) -> None:
    config = AlignConfig(symmetrise="union")
    turned = [(target, source) for source, target in PAIRS]
    forward = align(tiny_translator, PAIRS)
    backward = align(tiny_translator, turned)
    both = align(tiny_translator, PAIRS, config=config, reverse=tiny_translator)
    for one, other, found in zip(forward, backward, both, strict=True):
        links = {(i, j) for j, i in other.links}
        assert found.links == symmetrise(one.links, links, "union")
        assert torch.equal(found.weights, one.weights)


def test_a_head_is_scored_by_the_weight_on_which_both_sides_agree(
    tiny_translator: Translator, tiny_pairs: list[Pair]
) -> None:
    pairs = [(pair.source, pair.target) for pair in tiny_pairs[:5]]
    for config, score in score_heads(tiny_translator, pairs):
        total, words = 0.0, 0
        for each in head_weights(tiny_translator, pairs, config=config):
            assert each is not None
            rows = each[config.layer - 1]  # (H, J, I)
            weights = (rows[config.head - 1] if config.head else rows.mean(0)).tolist()
            for j, row in enumerate(weights):
                for i, weight in enumerate(row):
                    column = [other[i] for other in weights]
                    total += weight * (weight == max(row) and j == column.index(max(column)))
            words += max(len(weights), len(weights[0]))
        assert score == pytest.approx(total / words, abs=1e-5)


def test_the_best_head_is_chosen_unless_the_mean_of_its_layer_is_nearly_as_good(
    tiny_translator: Translator, tiny_pairs: list[Pair]
) -> None:
    pairs = [(pair.source, pair.target) for pair in tiny_pairs[:5]]
    scores = dict(score_heads(tiny_translator, pairs))
    best, chosen = max(scores.values()), choose_head(tiny_translator, pairs)
    assert scores[chosen] >= NEAR * best
    assert scores[chosen] == best or not chosen.head

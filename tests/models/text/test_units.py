"""Units of a text and what each piece stands for; sampled segmentations."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
import torch

from attncli.data.embedded import Pair
from attncli.translate.mixture import SubwordSampler
from models.alignment.weights import pooled
from models.core.errors import ModelError
from models.core.use_config import TokenizerConfig
from models.text.tokenizer import Tokenizer, train
from models.text.units import Units, decoded_spans, unit_spans, units
from tests.models.text.small import learned

TEXTS = [
    "The dog sees.",
    "  two  spaces ",
    "a\tb\u00a0c",
    "Ωmega 😀 x",
    "",
    " ",
    "▁ literal▁mark",
    "日本語",
]


@pytest.mark.parametrize("text", TEXTS)
def test_ids_spell_the_text_they_were_made_from(text: str, tiny_tokenizer: Tokenizer) -> None:
    ids = tiny_tokenizer.encode(text)
    spoken, spans = decoded_spans(tiny_tokenizer.source, ids)
    assert spoken == text.replace("▁", " ")
    assert len(spans) == len(ids) and spans[-1] == (0, 0)  # the end mark stands nowhere
    covered = {place for start, end in spans[:-1] for place in range(start, end)}
    assert not text or covered == set(range(-1, len(text)))


@pytest.mark.parametrize("text", ["K AH0 T", "  K  T ", "QQ9 K", "日 K"])
def test_a_word_outside_the_vocabulary_is_spelled_with_its_space(text: str) -> None:
    tokenizer = train(["a"], ["K T"] * 9, 400, TokenizerConfig(kind="word", joint=False))
    ids = tokenizer.encode_target(text)
    found, spans = decoded_spans(tokenizer.target, ids)
    assert found == text == tokenizer.decode(ids)
    covered = {place for start, end in spans[:-1] for place in range(start, end)}
    assert covered == set(range(-1, len(text)))


def test_an_output_may_begin_within_a_word(tiny_tokenizer: Tokenizer) -> None:
    """As SentencePiece decodes it: nothing of its first piece is taken for a space."""
    processor = tiny_tokenizer.source
    bare = [i for i in range(len(processor)) if processor.id_to_piece(i).isalpha()]
    ids = [bare[-1], *tiny_tokenizer.encode("a dog")]
    spoken, spans = decoded_spans(processor, ids)
    assert spoken == processor.decode(ids)
    assert spoken[slice(*spans[0])] == processor.id_to_piece(bare[-1])
    assert not any(start < 0 for start, _ in spans)


@pytest.mark.parametrize("text", TEXTS)
def test_words_are_those_between_spaces(text: str, tiny_tokenizer: Tokenizer) -> None:
    processor, ids = tiny_tokenizer.source, tiny_tokenizer.encode(text)
    found = units(processor, ids, text, marks=True)
    assert found.texts == tuple(text.split())
    assert [text[a:b] for a, b in found.spans] == text.split()
    assert found.shares.shape == (len(ids), len(found.texts))
    assert not found.shares[-1].any()
    for number, word in enumerate(found.texts):
        pieces = [i for i, share in zip(ids, found.shares[:, number], strict=True) if share]
        assert processor.decode(pieces).strip() == word.replace("▁", " ").strip()


def test_characters_stand_with_their_marks_and_without_spaces() -> None:
    text = "日本 de\u0301ja\u0300 👩\u200d🌾"
    assert [text[a:b] for a, b in unit_spans(text, "char")] == [
        *("日", "本", "d", "e\u0301", "j", "a\u0300", "👩\u200d🌾")
    ]
    with pytest.raises(ModelError, match="did you mean|word, piece"):
        unit_spans(text, "words")


def test_characters_share_their_piece_and_bytes_make_up_a_character() -> None:
    tokenizer = train(["dog dogs the"] * 9, ["Hund"] * 9, 300, TokenizerConfig())
    ids = tokenizer.encode("dog 犬")
    pieces = tokenizer.source.id_to_piece(ids)
    assert pieces[-4:] == ["<0xE7>", "<0x8A>", "<0xAC>", "</s>"]
    found = units(tokenizer.source, ids, "dog 犬", kind="char", marks=False)
    assert found.texts == ("d", "o", "g", "犬")
    torch.testing.assert_close(found.shares[-4:-1, 3], torch.ones(3))
    torch.testing.assert_close(found.shares[:-1].sum(1), torch.ones(len(ids) - 1))


def test_every_piece_is_a_unit_but_for_the_end_mark(tiny_tokenizer: Tokenizer) -> None:
    ids = tiny_tokenizer.encode("The dog sees.")
    found = units(tiny_tokenizer.source, ids, kind="piece", marks=False)
    assert found.texts == tuple(tiny_tokenizer.source.id_to_piece(ids[:-1]))
    assert torch.equal(found.shares, torch.eye(len(ids))[:, :-1])


def test_weights_are_summed_over_source_pieces_and_averaged_over_target_pieces() -> None:
    weights = torch.tensor(
        [[0.3, 0.1, 0.5, 0.1], [0.2, 0.3, 0.5, 0.0], [0.0, 0.1, 0.8, 0.1], [0.9, 0.0, 0.0, 0.1]]
    )  # (T, S): two words of two pieces and one on either side, then the end mark
    sides = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    words = Units(("a", "b"), ((0, 1), (2, 3)), sides)
    looked = pooled(weights, words, words)
    torch.testing.assert_close(looked.weights, torch.tensor([[0.45, 0.5], [0.1, 0.8]]))
    torch.testing.assert_close(looked.null, torch.tensor([0.05, 0.1]))


SAMPLED = [
    "The old dog sees a small house.",
    "Größe, naïveté",
    "犬 and 🇩🇪!",
    "two  spaces",
    " ",
    "",
    "x",
]
KINDS = ["unigram", "bpe"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_sample_decodes_to_the_text(kind: str, tiny_pairs: list[Pair]) -> None:
    processor = learned(tiny_pairs, TokenizerConfig(kind=kind)).source
    sampler, rng = SubwordSampler(processor, kind, 0.3), random.Random(1)
    for text in SAMPLED:
        for _ in range(20):
            assert processor.decode(sampler.encode(text, rng)) == text
    seen = {tuple(sampler.encode(SAMPLED[0], rng)) for _ in range(20)}
    assert len(seen) > 10


def test_bpe_without_dropout_is_the_usual_segmentation(tiny_pairs: list[Pair]) -> None:
    processor = learned(tiny_pairs, TokenizerConfig(kind="bpe")).source
    sampler = SubwordSampler(processor, "bpe", 0.0)
    for text in [*SAMPLED, *(pair.target for pair in tiny_pairs[:50])]:
        assert sampler.encode(text, random.Random(1)) == processor.encode(text)


def test_unigram_samples_by_the_probabilities_to_the_power_alpha(tiny_pairs: list[Pair]) -> None:
    """Kudo 2018: P(x) ~ prod p(x_i)^alpha, counted over many samples of one word."""
    processor, alpha, word = (
        learned(tiny_pairs, TokenizerConfig(kind="unigram")).source,
        0.5,
        "houses",
    )
    sampler, rng = SubwordSampler(processor, "unigram", alpha), random.Random(3)
    counts = Counter(tuple(sampler.encode(word, rng)) for _ in range(4000))
    candidates = processor.nbest_encode_as_ids(word, 32)
    weights = [math.exp(alpha * sum(map(processor.get_score, ids))) for ids in candidates]
    for ids, weight in zip(candidates, weights, strict=True):
        assert counts[tuple(ids)] / 4000 == pytest.approx(weight / sum(weights), abs=0.03)

"""Captions and labels get other nouns together; everything else of a batch stays."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from models.base.types import Batch, Memory, TokenMemory
from models.config import ImageConfig
from models.images.labels import TOKENS, ImageLabels, nouns, padded, swap_nouns, with_swaps
from models.text.tokenizer import END, PAD, START

FEATURES = 4
DOG, UNLIKELY, ARTICLE = "dog", "cat", 9
NOUNS = [noun.text for noun in nouns()]


def tokens(noun: str) -> list[int]:
    """Return one to three tokens of a noun, which no other noun has."""
    number = 10 + 3 * NOUNS.index(noun)
    return [number + n for n in range(1 + len(noun) % 3)]


@pytest.fixture
def labels() -> ImageLabels:
    """Labels of every noun."""
    found = ImageLabels(ImageConfig(labels=2), FEATURES)
    found.set_nouns(tokens)
    return found


def memory(rows: int) -> TokenMemory:
    """Return the labels of images that probably show a dog, and hardly a cat."""
    slots = torch.tensor([padded(tokens(DOG)), padded(tokens(UNLIKELY))])  # (2, TOKENS)
    before = torch.nn.functional.pad(slots[:, :-1], (1, 0), value=PAD)
    log_prob = torch.tensor([0.9, 0.05]).log()[:, None].expand(slots.shape)
    parts = (slots, before, log_prob, slots != PAD)
    return TokenMemory(*(part.flatten().repeat(rows, 1) for part in parts))


def captions(*rows: list[int]) -> Batch:
    """Return a batch of captions without images."""
    width = max(map(len, rows))
    out = torch.tensor([row + [PAD] * (width - len(row)) for row in rows])
    start = torch.full((len(rows), 1), START)
    source = torch.zeros(len(rows), 1, FEATURES)
    return Batch(source, source[..., 0] == 0, torch.cat([start, out[:, :-1]], 1), out, out != PAD)


def real(ids: Tensor) -> list[int]:
    return [int(token) for token in ids if token != PAD]


def test_caption_and_label_get_the_same_other_noun(labels: ImageLabels) -> None:
    caption = [ARTICLE, *tokens(DOG), ARTICLE, END]
    batch, found = swap_nouns(captions(*[caption] * 50), memory(50), labels, share=1)
    seen = set()
    for target, read, ids in zip(batch.target_out, batch.target_in, found.ids, strict=True):
        slots = ids.view(2, TOKENS)
        new = real(slots[0])
        seen.add(tuple(new))
        assert new != tokens(DOG) and real(target) == [ARTICLE, *new, ARTICLE, END]
        assert read.tolist() == [START, *target.tolist()][:-1]
        assert real(slots[1]) == tokens(UNLIKELY)
    assert torch.equal(batch.target_mask, batch.target_out != PAD)
    assert torch.equal(found.mask, found.ids != PAD) and len(seen) > 20
    assert torch.equal(found.log_prob, memory(50).log_prob)


def test_the_article_agrees_with_the_new_noun(labels: ImageLabels) -> None:
    by_tokens = {tuple(tokens(noun)): noun for noun in NOUNS}
    for noun, vowel in ((DOG, False), ("airplane", True)):
        slots = memory(50).ids.view(50, 2, TOKENS).clone()
        slots[:, 0] = torch.tensor(padded(tokens(noun)))
        given = memory(50)._replace(ids=slots.flatten(1))
        _, found = swap_nouns(captions(*[[*tokens(noun), END]] * 50), given, labels, share=1)
        news = [by_tokens[tuple(real(ids.view(2, TOKENS)[0]))] for ids in found.ids]
        assert all((new[0] in "aeiou") == vowel for new in news)


@pytest.mark.parametrize(
    ("caption", "share"),
    [
        ([ARTICLE, END], 1.0),
        ([*tokens(UNLIKELY), END], 1.0),
        ([*tokens(DOG), END], 0.0),
    ],
    ids=["no label", "an improbable label", "share 0"],
)
def test_other_captions_stay(caption: list[int], share: float, labels: ImageLabels) -> None:
    given = captions(caption)
    batch, found = swap_nouns(given, memory(1), labels, share)
    assert torch.equal(batch.target_out, given.target_out)
    assert torch.equal(batch.target_in, given.target_in)
    assert torch.equal(found.ids, memory(1).ids) and torch.equal(found.before, memory(1).before)


def test_a_model_without_labels_keeps_its_captions(labels: ImageLabels) -> None:
    """A batch and its memory change together, and only if the encoder has labels."""
    batch = captions([ARTICLE, *tokens(DOG), END])
    image = Memory(batch.source, batch.source_mask, tokens=memory(1))
    model = torch.nn.Module()
    model.encoder = torch.nn.Module()
    assert with_swaps(model, batch, image, 1.0) == (batch, image)
    model.encoder.labels = labels
    assert with_swaps(model, batch, image, 0.0) == (batch, image)
    torch.manual_seed(1)
    swapped, changed = with_swaps(model, batch, image, 1.0)
    torch.manual_seed(1)
    expected, label_tokens = swap_nouns(batch, memory(1), labels, 1.0)
    assert real(swapped.target_out[0]) == real(expected.target_out[0]) != real(batch.target_out[0])
    assert changed.tokens is not None and changed.tokens.ids.equal(label_tokens.ids)

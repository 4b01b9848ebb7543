"""A token memory: what is read and copied from it; swapped nouns teach a captioner to copy."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from models.core.config import ImageConfig
from models.core.types import Batch, TokenMemory, VocabularySizes
from models.core.use_config import SearchConfig, TokenizerConfig
from models.engines.captioner import Captioner
from models.networks.bundle import Bundle, build, read, save
from models.networks.decoder import Copying, mixture_loss
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.image_encoder import ImageEncoder
from models.search.beam import search
from models.signals.imagenet import (
    LABELS,
    TOKENS,
    ImageLabels,
    nouns,
    padded,
    swap_nouns,
)
from models.text.tokenizer import END, PAD, START, Tokenizer
from tests.models.contracts import check_alone, check_steps
from tests.models.small import VOCABULARY, pairs, random_model, small_config

FEATURES = 1280  # of the last grid
LABELLED = ImageConfig(encoder="mobilenet-edgetpu", weights="none", size=32, labels=3)


def config() -> Any:
    return replace(small_config("show-attend-tell-soft-nano"), image=LABELLED)


def labels_of(model: EncoderDecoder) -> ImageLabels:
    """Return the labels of a captioner's encoder."""
    assert isinstance(model.encoder, ImageEncoder) and model.encoder.labels is not None
    return model.encoder.labels


@cache
def model() -> EncoderDecoder:
    """Return a captioner whose labels are terms of one to three random tokens."""
    made = random_model(config(), VocabularySizes(0, VOCABULARY, False), noise=0.1)
    labels = labels_of(made)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        labels.noun.copy_(torch.randint(LABELS, (LABELS,)))
        ids = torch.randint(5, VOCABULARY, (LABELS, TOKENS))
        lengths = torch.randint(1, 4, (LABELS, 1))
        labels.tokens.copy_(ids.where(torch.arange(TOKENS) < lengths, PAD))
    return made


def batch() -> Batch:
    """Return features of three images, and captions."""
    ids = pairs([4, 4, 4], [5, 3, 6])
    random = torch.Generator().manual_seed(1)
    return ids._replace(source=torch.rand(3, 4, FEATURES, generator=random))


@torch.no_grad()
def test_steps_and_rows_alone_equal_teacher_forcing() -> None:
    check_steps(model(), batch())
    check_alone(model(), batch())


def test_the_mixture_is_a_distribution_and_its_loss_is_the_negative_logarithm() -> None:
    random = torch.Generator().manual_seed(1)
    features = torch.randn(2, 3, 8, generator=random, requires_grad=True)
    weight, bias = torch.randn(VOCABULARY, 8, generator=random), torch.zeros(VOCABULARY)
    gate = torch.rand(2, 3, generator=random)
    attention = torch.rand(2, 3, 4, generator=random).softmax(-1)
    copying = Copying(gate, attention, torch.tensor([[5, 6, 6, 7], [8, 9, 9, 9]]))
    log_probs = copying.mixed(features @ weight.T + bias)
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(2, 3))
    target = torch.tensor([[6, 7, 20], [9, 8, 5]])
    wanted = -log_probs.gather(-1, target[..., None]).squeeze(-1)
    copied = copying.of(target).flatten(), gate.flatten()
    logits = (features @ weight.T + bias).flatten(0, 1)
    loss, nll = mixture_loss(logits, target.flatten(), copied, 0.0)
    torch.testing.assert_close(nll, wanted.flatten())
    [ours] = torch.autograd.grad(loss, features, retain_graph=True)
    [theirs] = torch.autograd.grad(wanted.sum(), features)
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_an_open_gate_copies_the_most_probable_nouns() -> None:
    with torch.random.fork_rng():
        made = build(config(), VocabularySizes(0, VOCABULARY, False)).eval()
    made.load_state_dict(model().state_dict())
    made.get_parameter("reader.gate.bias").fill_(50.0)
    given = batch()
    memory = made.encode(given.source, given.source_mask)
    assert memory.tokens is not None
    found = search(made, memory, [5] * 3, ["a", "b", "c"], SearchConfig(beam=2))
    for row, outputs in enumerate(found):
        tokens = memory.tokens.ids[row][memory.tokens.mask[row]].tolist()
        assert outputs[0].ids and set(outputs[0].ids[:-1]) <= set(tokens)


@torch.no_grad()
def test_a_token_is_copied_at_most_once() -> None:
    made, given = model(), batch()
    memory = made.encode(given.source, given.source_mask)
    assert memory.tokens is not None
    ids = memory.tokens.ids[:, :1].expand(-1, 4)  # (B, T): the first token of the labels, 4 times
    forced = made.teacher_force(given._replace(target_in=ids, target_out=ids, target_mask=ids > 0))
    assert isinstance(forced.copying, Copying) and (forced.copying.of(ids) == 0).all()
    other = memory.tokens.ids[:, 1:2].where(memory.tokens.mask[:, 1:2], ids[:, :1])
    differs = (other != ids[:, :1]).expand_as(ids)
    assert differs.any() and (forced.copying.of(other.expand_as(ids))[differs] > 0).all()


def test_a_bundle_keeps_labels_and_their_nouns(tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    tokenizer = tiny_tokenizer
    made = build(config(), VocabularySizes(0, len(tokenizer.target), False))
    labels_of(made).set_nouns(lambda noun: tokenizer.encode_target(noun)[:-1])
    save(Bundle(made, tokenizer, TokenizerConfig(), SearchConfig()), tmp_path, weights="int8")
    again = read(tmp_path).model
    for name, tensor in labels_of(made).named_buffers():
        assert torch.equal(labels_of(again).get_buffer(name), tensor)
    captioner = Captioner.read(tmp_path)
    random = torch.Generator().manual_seed(1)
    [caption] = captioner.caption([torch.rand(1, FEATURES, generator=random)], attention=True)
    assert caption.attention is not None and caption.attention.copied is not None
    assert len(caption.attention.copied) == len(caption.attention.words)


CLASSES = 4
DOG, UNLIKELY, ARTICLE = "dog", "cat", 9
NOUNS = [noun.text for noun in nouns()]


def tokens(noun: str) -> list[int]:
    """Return one to three tokens of a noun, which no other noun has."""
    number = 10 + 3 * NOUNS.index(noun)
    return [number + n for n in range(1 + len(noun) % 3)]


@pytest.fixture
def labels() -> ImageLabels:
    """Labels of every noun."""
    found = ImageLabels(ImageConfig(labels=2), CLASSES)
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
    source = torch.zeros(len(rows), 1, CLASSES)
    return Batch(source, source[..., 0] == 0, torch.cat([start, out[:, :-1]], 1), out, out != PAD)


def real(ids: Tensor) -> list[int]:
    return [int(token) for token in ids if token != PAD]


def test_caption_and_label_get_the_same_other_noun(labels: ImageLabels) -> None:
    caption = [ARTICLE, *tokens(DOG), ARTICLE, END]
    batch, found = swap_nouns(captions(*[caption] * 50), memory(50), labels, share=1)
    seen = set()
    for target, given, ids in zip(batch.target_out, batch.target_in, found.ids, strict=True):
        slots = ids.view(2, TOKENS)
        new = real(slots[0])
        seen.add(tuple(new))
        assert new != tokens(DOG) and real(target) == [ARTICLE, *new, ARTICLE, END]
        assert given.tolist() == [START, *target.tolist()][:-1]
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

"""A token memory: what is read of it and copied from it, stepwise and by teacher forcing."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from operator import itemgetter
from pathlib import Path

import pytest
import torch

from models.base.errors import ModelError
from models.base.types import Batch, VocabularySizes, select
from models.bundle import Bundle, build, read, save
from models.config import ImageConfig, ModelConfig
from models.decoders.base import Copying, mixture_loss
from models.encoders.image import ImageEncoder
from models.families.encoder_decoder import EncoderDecoder
from models.images.labels import LABELS, TOKENS, ImageLabels, nouns
from models.inference.captioner import Captioner
from models.inference.search.beam import search
from models.text.tokenizer import PAD, Tokenizer
from models.use_config import SearchConfig, TokenizerConfig
from tests.models.small import VOCABULARY, add_noise, pairs, small_config, steps

FEATURES = 1280  # of the last grid
LABELLED = ImageConfig(encoder="mobilenet-edgetpu", weights="none", size=32, labels=3)


def config() -> ModelConfig:
    return replace(small_config("show-attend-tell-soft-nano"), image=LABELLED)


def labels_of(model: EncoderDecoder) -> ImageLabels:
    """Return the labels of a captioner's encoder."""
    assert isinstance(model.encoder, ImageEncoder) and model.encoder.labels is not None
    return model.encoder.labels


@cache
def model() -> EncoderDecoder:
    """Return a captioner whose labels are terms of one to three random tokens."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        made = build(config(), VocabularySizes(0, VOCABULARY, False))
        add_noise(made, 0.1)
        with torch.no_grad():
            labels = labels_of(made)
            labels.noun.copy_(torch.randint(LABELS, (LABELS,)))
            ids = torch.randint(5, VOCABULARY, (LABELS, TOKENS))
            lengths = torch.randint(1, 4, (LABELS, 1))
            labels.tokens.copy_(ids.where(torch.arange(TOKENS) < lengths, PAD))
    return made.eval()


def batch() -> Batch:
    """Return features of three images, and captions."""
    ids = pairs([4, 4, 4], [5, 3, 6])
    random = torch.Generator().manual_seed(1)
    return ids._replace(source=torch.rand(3, 4, FEATURES, generator=random))


@torch.no_grad()
def test_stepwise_alone_and_in_a_beam_equal_teacher_forcing() -> None:
    made, given = model(), batch()
    forced = made.log_probs(made.teacher_force(given))
    torch.testing.assert_close(steps(made, given)[0], forced, atol=1e-4, rtol=1e-4)
    for row in range(3):
        alone = given.map(itemgetter(slice(row, row + 1)))
        found = made.log_probs(made.teacher_force(alone))
        torch.testing.assert_close(found, forced[row : row + 1], atol=1e-4, rtol=1e-4)
    prepared, state = made.start(made.encode(given.source, given.source_mask))
    tokens = torch.tensor([5, 6, 7, 8, 9, 10])
    pairs_of_rows = select(state, torch.arange(3).repeat_interleave(2))
    both = made.step(tokens, pairs_of_rows, prepared).logits
    first = made.step(tokens[::2], state, prepared).logits
    torch.testing.assert_close(both[::2], first, atol=1e-5, rtol=1e-5)


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


def test_gradients_reach_the_reader_but_not_the_classifier() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        made = build(config(), VocabularySizes(0, VOCABULARY, False))
    made.load_state_dict(model().state_dict())
    given = batch()
    made.log_probs(made.teacher_force(given)).sum().backward()
    found = {name for name, p in made.named_parameters() if p.grad is not None}
    assert {name for name, _ in made.named_parameters() if name.startswith("reader.")} <= found
    assert not any(name.startswith("encoder.") for name in found)


def test_every_label_has_at_most_one_noun() -> None:
    listed = [label for noun in nouns() for label in noun.labels]
    assert len(set(listed)) == len(listed) > 800
    assert all(0 < label < LABELS for label in listed)
    by_label = {label: noun.text for noun in nouns() for label in noun.labels}
    assert (by_label[340], by_label[968], by_label[286]) == ("horse", "cup of coffee", "cat")


def test_labels_need_the_grid_that_their_classifier_reads() -> None:
    for image in (replace(LABELLED, grid="stem"), replace(LABELLED, encoder="small-cnn")):
        with pytest.raises(ModelError, match="labels"):
            build(replace(config(), image=image), VocabularySizes(0, VOCABULARY, False))


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

"""Captions of one image share its way through an encoder that learns; images are augmented."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from attncli.data.batching import epoch_plan, gather
from attncli.data.images.captions import (
    CaptionExamples,
    CaptionStages,
    ImageInputs,
    augmented,
)
from attncli.data.text.tokens import Side
from models.base.types import Batch
from models.bundle import build, sizes_of
from models.catalogue.presets import model_config
from models.config import AttentionLossConfig
from models.families.encoder_decoder import EncoderDecoder
from models.losses import AttentionLoss
from models.text.tokenizer import Tokenizer, train
from models.use_config import TokenizerConfig

CPU = torch.device("cpu")
IMAGES, EACH = 40, 5


@pytest.fixture
def examples() -> CaptionExamples:
    """Five captions of 3 to 11 pieces for each of forty images, in no order."""
    random = np.random.default_rng(1)
    lengths = random.integers(3, 12, IMAGES * EACH)
    offsets = np.concatenate([[0], lengths.cumsum()])
    target = Side(random.integers(4, 200, offsets[-1]), offsets)
    rows = random.permutation(np.repeat(np.arange(IMAGES), EACH))
    pixels = random.integers(0, 256, (IMAGES, 3, 64, 64), dtype=np.uint8)
    return CaptionExamples(target, rows, ImageInputs(pixels, 64), together=True)


def plan(examples: CaptionExamples, tokens: int = 200, epoch: int = 0) -> list[np.ndarray]:
    return epoch_plan(examples, tokens, seed=1, epoch=epoch)


def test_every_caption_comes_once_and_with_the_others_of_its_image(
    examples: CaptionExamples,
) -> None:
    batches = plan(examples)
    assert sorted(np.concatenate(batches)) == list(range(IMAGES * EACH))
    assert all(len(b) * examples.target.lengths[b].max() <= 200 for b in batches)
    shown = sum(len(gather(examples, numbers, CPU).source) for numbers in batches)
    assert shown < 1.5 * IMAGES  # an image at the end of a batch may come again in the next
    assert [list(b) for b in plan(examples, epoch=1)] != [list(b) for b in batches]
    alone = dataclasses.replace(examples, together=False)
    assert gather(alone, batches[0], CPU).rows is None


def test_stages_say_what_is_shown_and_from_when_an_image_is_shared(
    examples: CaptionExamples,
) -> None:
    features = ImageInputs(np.zeros((IMAGES, 16, 8), np.float16), 16)
    first = CaptionExamples(examples.target, examples.rows, features)
    for turn, together_from in ((3, 2), (2, 3)):
        last = (examples.target, examples.rows, examples.inputs, None, True)
        stages = CaptionStages(*last, first, turn, together_from)
        shown = [(part.inputs.are_pixels, part.together) for part in map(stages.at, range(5))]
        assert shown == [(epoch >= turn, epoch >= together_from) for epoch in range(5)]
        batch = stages.batch(np.arange(10))  # of the last stage
        assert batch.source.ndim == 4 and batch.rows is not None and stages.shared is not None


def model() -> EncoderDecoder:
    torch.manual_seed(1)
    config = model_config("show-attend-tell-soft-nano")
    return build(config, sizes_of(pieces(), config.family)).eval()


def pieces() -> Tokenizer:
    return train(["abc " * 9] * 9, [], 300, TokenizerConfig())


def unshared(batch: Batch) -> Batch:
    assert batch.rows is not None
    return batch._replace(source=batch.source[batch.rows], source_mask=batch.slots, rows=None)


def test_a_shared_image_gives_what_an_image_each_would(examples: CaptionExamples) -> None:
    batch, whole = gather(examples, max(plan(examples), key=len), CPU), model()
    penalty = AttentionLoss(AttentionLossConfig(coverage="doubly_stochastic"), whole)
    found = []
    for one in (batch, unshared(batch)):
        whole.zero_grad()
        forced = whole.teacher_force(one, want_weights=True)
        terms, _ = penalty(forced, one, torch.zeros(int(one.target_mask.sum())), None)
        (forced.features[one.target_mask].square().sum() + terms).backward()
        found.append([forced.features.detach(), *(p.grad for p in whole.encoder.parameters())])
    assert len(batch.source) < len(batch.target_in)
    for left, right in zip(*found, strict=True):
        torch.testing.assert_close(left, right, rtol=1e-4, atol=1e-5)


SHOWN = torch.rand(6, 3, 16, 16, generator=torch.Generator().manual_seed(1))


def test_none_or_all_are_mirrored() -> None:
    torch.testing.assert_close(augmented(SHOWN, flip=0.0, crop=1.0), SHOWN)
    torch.testing.assert_close(augmented(SHOWN, flip=1.0, crop=1.0), SHOWN.flip(-1))


def test_some_are_mirrored_as_the_seed_says() -> None:
    torch.manual_seed(1)
    first = augmented(SHOWN, flip=0.5, crop=0.7)
    again = augmented(SHOWN, flip=0.5, crop=0.7)
    torch.manual_seed(1)
    assert torch.equal(augmented(SHOWN, flip=0.5, crop=0.7), first)
    assert not torch.equal(again, first)


def test_a_crop_shows_a_part_and_no_more() -> None:
    ramp = torch.linspace(0, 1, 32).expand(500, 3, 32, 32)
    seen = augmented(ramp, flip=0.0, crop=0.5)
    widths = (seen[:, 0, 0, -1] - seen[:, 0, 0, 0]) / (ramp[0, 0, 0, -1] - ramp[0, 0, 0, 0])
    assert 0.68 < widths.min() < 0.75 and 0.95 < widths.max() < 1.001  # the root of 0.5, and 1
    assert seen.min() >= 0 and seen.max() <= 1
    assert (seen[..., 1:] - seen[..., :-1]).min() > -1e-6

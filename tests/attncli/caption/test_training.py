"""Self-critical training and regions: gradients, and where the attention goes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from attncli.caption._self_critical import SelfCritical, likelihoods
from attncli.train._stepper import Stepper, UpdateBatch
from attncli.train.run import fresh_state
from attncli.training.config import RunConfig
from attncli.training.examples import epoch_plan
from attncli.training.sources import source_of_run
from models.core.errors import ModelError
from models.core.types import Batch, Memory
from models.core.use_config import SearchConfig
from models.engines.captioner import Captioner
from models.networks.encoder_decoder import EncoderDecoder
from models.search.batching import pad, teacher_forcing_batch
from models.text.tokenizer import END
from tests.attncli.files import write
from tests.attncli.training.small import load, run
from tests.attncli.training.small_captions import PATCHES, Files, small_config, write_images

CPU = torch.device("cpu")
CRITICAL = ("train.self_critical_lr=0.005", "model.dropout=0")
Begun = tuple[SelfCritical, EncoderDecoder, Batch, np.ndarray]


@pytest.fixture
def begun(tmp_path: Path) -> Begun:
    """Return a reward_loss, an untrained model and a batch of captions with their images."""
    config = small_config(write_images(tmp_path), *PATCHES, *CRITICAL)
    prepared = load(config, tmp_path / "run")
    assert isinstance(prepared.reward_loss, SelfCritical)
    examples = prepared.examples.at(0)
    numbers = max(epoch_plan(examples, 60, seed=1, epoch=0), key=len)
    model = fresh_state(source_of_run(config), prepared, CPU).model
    return prepared.reward_loss, model, examples.batch(numbers), numbers


def test_a_caption_of_the_image_is_worth_more_than_another(begun: Begun) -> None:
    reward_loss, *_ = begun
    texts = ["a black square on the left", "a red square on the left", "a red square on the"]
    ends = [f"{text} endofcaption" for text in texts]
    rewards, black = reward_loss.reward(ends, 1), reward_loss.reward(ends, 20)
    assert rewards[1] > rewards[0] and rewards[1] > rewards[2]
    assert black[0] > black[1]


def test_each_image_of_a_batch_is_sampled_for_itself(begun: Begun) -> None:
    reward_loss, model, batch, numbers = begun
    asked: list[int] = []
    reward_loss.reward = lambda texts, image: asked.append(image) or [0.0] * len(texts)  # type: ignore
    found = reward_loss(model, batch, numbers)
    images = reward_loss.images[numbers]
    assert len(set(images.tolist())) == len(batch.source) < len(numbers)
    assert asked == sorted(set(images.tolist()))
    assert found.loss == 0 and found.reward == 0  # nothing is better than usual


def test_the_gradient_favours_captions_above_the_mean_reward(
    begun: Begun, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_loss, model, batch, numbers = begun
    torch.manual_seed(3)
    said, say = [], reward_loss.decode

    def remembered(*arguments: Any) -> Any:
        said.append(say(*arguments))
        return said[-1]

    monkeypatch.setattr(reward_loss, "decode", remembered)
    reward_loss.reward = lambda texts, image: [float(len(text)) for text in texts]  # type: ignore
    found = reward_loss(model, batch, numbers)
    gradients = torch.autograd.grad(found.loss, list(model.parameters()), allow_unused=True)

    direct, gains, tokens = torch.zeros(()), [], 0
    for number, captions in enumerate(said[0]):
        worth = [len(reward_loss.text(ids)) for ids in captions]
        for k, ids in enumerate(captions):
            usual = worth[:k] + worth[k + 1 :]
            gains.append(worth[k] - sum(usual) / len(usual))
            tokens += len(ids) + 1
            one, where = batch.source[[number]], batch.source_mask[[number]]
            alone = teacher_forcing_batch(one, where, *pad([[*ids, END]], CPU))
            memory = model.eval().encode_batch(alone)
            direct = direct + gains[-1] * likelihoods(model, alone, memory).sum()
    assert any(gains) and found.tokens == tokens
    expected = torch.autograd.grad(direct, list(model.parameters()), allow_unused=True)
    for one, other in zip(gradients, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_the_likelihood_of_the_references_is_mixed_in_by_its_weight(begun: Begun) -> None:
    reward_loss, model, batch, numbers = begun
    mixes: list[list[torch.Tensor]] = []
    for share in (0.0, 0.25):
        reward_loss.config = replace(reward_loss.config, self_critical_likelihood=share)
        torch.manual_seed(3)
        found = reward_loss(model, batch, numbers)
        per_token = found.loss / found.tokens
        mixes.append(list(torch.autograd.grad(per_token, list(model.output.parameters()))))
    references = likelihoods(model, batch, model.eval().encode_batch(batch)).sum()
    direct = torch.autograd.grad(references, list(model.output.parameters()))
    tokens = batch.target_mask.sum()
    for rewards, mixed, own in zip(*mixes, direct, strict=True):
        torch.testing.assert_close(mixed, 0.75 * rewards + 0.25 * own / tokens)


def test_the_loss_of_the_references_has_the_terms_on_their_attention(begun: Begun) -> None:
    reward_loss, model, batch, _ = begun
    memory, tokens = model.encode(batch.source, batch.source_mask), batch.target_mask.sum()
    plain = reward_loss.reference_loss(model, batch, memory)
    attention = replace(reward_loss.config.attention, peaked=2.0, coverage="none")
    reward_loss.config = replace(reward_loss.config, attention=attention)
    weights = model.teacher_force(batch, want_weights=True).weights
    assert weights is not None
    spread = (torch.special.entr(weights).sum(-1) * batch.target_mask).sum()
    found = reward_loss.reference_loss(model, batch, memory)
    torch.testing.assert_close(found, plain + 2 * spread / tokens)


def test_feature_dropout_is_the_same_for_sampling_and_for_the_loss(
    begun: Begun,
) -> None:
    reward_loss, model, batch, numbers = begun
    model.encoder.feature_dropout.p = 0.5  # type: ignore[union-attr]
    memories, say, force = [], reward_loss.decode, model.teacher_force

    def said(model: EncoderDecoder, memory: Memory, config: SearchConfig) -> Any:
        memories.append(memory)
        return say(model, memory, config)

    def learned(batch: Batch, *, memory: Memory, **wanted: Any) -> Any:
        memories.append(memory)
        return force(batch, memory=memory, **wanted)

    reward_loss.decode, model.teacher_force = said, learned  # type: ignore[method-assign, assignment]
    reward_loss(model, batch, numbers)
    first, last = memories[0].values, memories[-1].values
    assert len(last) == 2 * len(first)  # two captions each
    assert torch.equal(last, first.repeat_interleave(len(last) // len(first), 0))
    assert 0.3 < (first == 0).float().mean() < 0.7


def test_rewards_rise(tmp_path: Path) -> None:
    """Of captions that are rewarded for every e."""
    config = small_config(write_images(tmp_path), *PATCHES, *CRITICAL)
    prepared = load(config, tmp_path / "run")
    state = fresh_state(source_of_run(config), prepared, CPU)
    reward_loss, stepper = prepared.reward_loss, Stepper(state, config.train, torch.float32)
    assert isinstance(reward_loss, SelfCritical)
    reward_loss.reward = lambda texts, image: [float(text.count("e")) for text in texts]  # type: ignore
    numbers, rewards = np.arange(8), []
    update = UpdateBatch(prepared.examples.at(0), numbers, reward_loss)
    for _ in range(40):
        reward = stepper.train_on(update, 0.0).reward
        assert reward is not None
        rewards.append(reward)
    assert np.mean(rewards[-5:]) > 2 * np.mean(rewards[:5])


CELL = 5  # of 4 x 4
WORDS = 7  # of each caption, the stop included
SHORT = ("train.steps=30", "train.metric=loss")


def with_regions(files: Files, lines: list[str], *more: str) -> RunConfig:
    """Return the settings of a minute run whose file of regions has the given lines."""
    path = write(files.train.with_suffix(".regions"), lines)
    changes = [f"data.regions={path}", "train.attention.regions=4", *SHORT, *more]
    return small_config(files, *changes)


def attention_on_the_cell(folder: Path, files: Files) -> float:
    """Return the mean attention of a captioner's words on the cell."""
    images = [Image.open(path) for path in sorted(files.images.iterdir())]
    found = [one.attention for one in Captioner.read(folder).caption(images, attention=True)]
    shares = [float(m[CELL]) for one in found if one for m in one.maps.flatten(1)]
    return sum(shares) / len(shares)


def test_attention_is_where_the_regions_are(files: Files, tmp_path: Path) -> None:
    captions = len(files.train.read_text("utf-8").splitlines())
    line = " ".join(f"{CELL}-{word}" for word in range(WORDS - 1))
    run(with_regions(files, [line] * captions), tmp_path / "drawn")
    run(small_config(files, *SHORT), tmp_path / "free")
    assert attention_on_the_cell(tmp_path / "drawn", files) > 0.5
    assert attention_on_the_cell(tmp_path / "free", files) < 0.2


@pytest.mark.parametrize(
    ("line", "count", "fault"),
    [
        ("0-0", 1, "1 line for 44 captions"),
        ("0-0", 45, "45 lines for 44 captions"),
        ("16-0", 44, "link 16-0 of a pair with 16 source"),
        ("0:0", 44, "line 1: '0:0' is not a link"),
    ],
)
def test_regions_that_do_not_fit_are_refused(
    line: str, count: int, fault: str, files: Files, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=fault):
        run(with_regions(files, [line] * count), tmp_path / "run")

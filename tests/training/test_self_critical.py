"""Self-critical training: its gradient is that of the expected reward, and rewards rise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from attncli.data.batching import gather
from attncli.data.tokens import forced
from attncli.training.events import Stepped
from attncli.training.loop import Stepper
from attncli.training.prepare import load_data
from attncli.training.run import fresh_state
from attncli.training.self_critical import SelfCritical, likelihoods
from models.model import EncoderDecoder
from models.tokenizer import END
from models.translator import padded
from tests.training.small import run
from tests.training.small_captions import PATCHES, small_config, write_pictures

CPU = torch.device("cpu")
CRITICAL = ("train.self_critical_lr=0.02", "train.self_critical_from=1", "model.dropout=0")


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[SelfCritical, EncoderDecoder, object]:
    """A critic, an untrained model and a batch of its pictures."""
    folder = tmp_path_factory.mktemp("critic")
    config = small_config(write_pictures(folder), *PATCHES, *CRITICAL)
    prepared = load_data(config, folder / "run", lambda *progress: None).prepared
    assert isinstance(prepared.critic, SelfCritical)
    state = fresh_state(config, prepared, CPU)
    return prepared.critic, state.model, gather(prepared.examples, np.arange(4), CPU)


def test_a_caption_of_the_picture_is_worth_more_than_another(begun) -> None:  # type: ignore[no-untyped-def]
    critic, _, _ = begun
    texts = ["a black square on the left", "a red square on the left", "a red square on the"]
    rewards = critic.reward([f"{text} endofcaption" for text in texts], [1, 1, 1])
    black = critic.reward([f"{text} endofcaption" for text in texts], [20, 20, 20])
    assert rewards[1] > rewards[0] and rewards[1] > rewards[2]
    assert black[0] > black[1]


def test_what_is_better_than_usual_becomes_likelier(begun) -> None:  # type: ignore[no-untyped-def]
    critic, model, batch = begun
    torch.manual_seed(3)
    samples = []
    said = critic.say

    def remembered(*arguments):  # type: ignore[no-untyped-def]
        samples.append(said(*arguments))
        return samples[-1]

    critic.say = remembered
    critic.reward, reward = (lambda texts, pictures: [float(len(t)) for t in texts]), critic.reward
    try:
        found = critic(model, batch, np.arange(4))
        gains = [len(critic.text(s)) - len(critic.text(g)) for g, s in zip(*samples, strict=True)]
    finally:
        critic.say, critic.reward = said, reward
    gradients = torch.autograd.grad(found.loss, list(model.parameters()), allow_unused=True)
    assert any(gain != 0 for gain in gains) and found.tokens == sum(len(s) + 1 for s in samples[1])
    direct = 0.0
    again = forced(batch.source, batch.source_mask, *padded([[*s, END] for s in samples[1]], CPU))
    for gain, nll in zip(gains, likelihoods(model.eval(), again).sum(1), strict=True):
        direct = direct + gain * nll
    expected = torch.autograd.grad(direct, list(model.parameters()), allow_unused=True)  # type: ignore[arg-type]
    for one, other in zip(gradients, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other)


def test_rewards_rise(tmp_path: Path) -> None:
    """Of captions that are rewarded for being short, as the quickest thing to learn."""
    config = small_config(write_pictures(tmp_path), *PATCHES, *CRITICAL)
    prepared = load_data(config, tmp_path / "run", lambda *progress: None).prepared
    state = fresh_state(config, prepared, CPU)
    critic, stepper = prepared.critic, Stepper(state, config.train, torch.float32)
    assert isinstance(critic, SelfCritical)
    critic.reward = lambda texts, pictures: [-float(len(text)) for text in texts]  # type: ignore[assignment]
    numbers, rewards = np.arange(8), []
    batch = gather(prepared.examples, numbers, CPU)
    for _ in range(40):
        reward = stepper.criticise(critic, [(batch, numbers)], 0.0).reward
        assert reward is not None
        rewards.append(reward)
    assert np.mean(rewards[-5:]) > np.mean(rewards[:5]) / 2  # half as long


def test_it_begins_with_its_epoch(tmp_path: Path) -> None:
    changes = ("train.self_critical_from=3", "train.epochs=3", "train.steps=0")
    config = small_config(write_pictures(tmp_path), *PATCHES, *changes, "train.batch_tokens=300")
    events = [event for event in run(config, tmp_path / "run") if isinstance(event, Stepped)]
    assert {event.epoch for event in events if event.reward is not None} == {2}
    assert {event.epoch for event in events if event.reward is None} == {0, 1}

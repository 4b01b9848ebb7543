"""Runs with a vocabulary of one's own, and with new tokens for a trained model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from attncli.training.command_line import settings
from attncli.training.folder import RunFolder
from attncli.training.interfaces import Compared
from attncli.training.run import open_run
from models.core.errors import ModelError
from models.core.types import Batch
from models.networks.bundle import Bundle, read
from models.text.tokenizer import START, new_parts
from tests.attncli.training.small import SMALL, Texts, load, run, write_texts

WITHOUT_SIZE = tuple(one for one in SMALL if "tokenizer.size" not in one)
FEW = ("train.steps=2", "train.evaluate_every=2")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Texts:
    return write_texts(tmp_path_factory.mktemp("texts"))


def logits(bundle: Bundle, source: str, target: str) -> torch.Tensor:
    """Return the logits (T, Y) of a pair."""
    tokenizer, model = bundle.tokenizer, bundle.model.eval()
    ids = torch.tensor([tokenizer.encode(source)])
    wanted = torch.tensor([tokenizer.encode_target(target)])
    begun = torch.nn.functional.pad(wanted[:, :-1], (1, 0), value=START)
    mask = ids > 0
    batch = Batch(ids, mask, begun, wanted, wanted > 0)
    state = model.start(model.encode_batch(batch))
    found = []
    for token in begun.unbind(1):
        step = model.step(token, state[1], state[0])
        state = state[0], step.state
        found.append(step.logits)
    return torch.cat(found)


@pytest.mark.parametrize(
    "preset, joint", [("transformer-nano", "true"), ("rnnsearch-nano", "false")]
)
def test_new_tokens_begin_as_the_mean_of_their_parts(
    preset: str, joint: str, texts: Texts, tmp_path: Path
) -> None:
    """Old texts keep their logits; the logit of a new token is the mean of those of its parts."""
    sizes = ("tokenizer.size=330", f"tokenizer.joint={joint}")
    named = ([texts.train], [texts.dev], preset)
    run(settings(*named, [*WITHOUT_SIZE, *sizes, *FEW]), tmp_path / "old")
    (tmp_path / "new.txt").write_text("zebra\nsharks\n", "utf-8")
    new = [f"tokenizer.model={tmp_path / 'new.txt'}", "train.precision=fp32"]
    config = settings(*named[:2], None, [*new, *FEW], start=tmp_path / "old")
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    data = load(config, folder.path)
    begun = open_run(folder, config, data, torch.device("cpu"))
    before, after = read(tmp_path / "old"), begun.bundle(begun.state.model)
    source, target = next(line.split("\t") for line in texts.dev.read_text().splitlines())
    old, now = logits(before, source, target), logits(after, source, target)
    torch.testing.assert_close(now[:, :-2], old)
    for number, parts in enumerate(new_parts(before.tokenizer, after.tokenizer)[1]):
        expected = old[:, parts].mean(1)
        torch.testing.assert_close(now[:, old.shape[1] + number], expected)
    assert len(after.tokenizer.encode("zebra")) == 2
    if joint == "true":  # the whole run, which also scores the initial model
        events = run(config, tmp_path / "trained")
        assert any(isinstance(event, Compared) for event in events)


def test_a_run_has_the_tokens_of_ones_own(texts: Texts, tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("the\ndog\nder\nHund\n", "utf-8")
    own = f"tokenizer.model={tmp_path / 'own.txt'}"
    named = ([texts.train], [texts.dev], "transformer-nano")
    config = settings(*named, [*WITHOUT_SIZE, *FEW, own])
    run(config, tmp_path / "run")
    bundle = read(tmp_path / "run")
    assert bundle.tokenizer_config.kind == "word" and bundle.tokenizer_config.model == ()
    assert bundle.tokenizer.pieces(bundle.tokenizer.encode("the dog")[:-1]) == ("▁the", "▁dog")
    for wrong in (["tokenizer.size=500"], ["tokenizer.model=none.model"]):
        with pytest.raises(ModelError):
            settings(*named, [own, *wrong])

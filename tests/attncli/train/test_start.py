"""Runs that begin with a trained model, or with tokens of one's own."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attncli.caption import features as image_features
from attncli.data.alignments import token_links
from attncli.data.embedded import as_table, generate
from attncli.train._state import State
from attncli.train._stepper import Stepper, UpdateBatch
from attncli.train.command_line import settings
from attncli.train.events import Interrupted
from attncli.train.folder import RunFolder
from attncli.train.run import fresh_state, open_run
from attncli.training.interfaces import Compared
from attncli.training.sources import source_of_run
from attncli.translate.source import as_links
from models.core.errors import ModelError
from models.core.types import Batch
from models.core.use_config import SearchConfig
from models.networks.bundle import Bundle, read
from models.networks.image_encoder import ImageEncoder, SmallCnn
from models.networks.losses import region_loss
from models.storage.weights import weights_of
from models.text.tokenizer import START, new_parts
from tests.attncli.training.small import (
    SMALL,
    Texts,
    assert_same,
    load,
    run,
    small_config,
    write_texts,
)
from tests.attncli.training.small_captions import PRETRAINED, fill, write_images
from tests.attncli.training.small_captions import small_config as small_captioner

CPU = torch.device("cpu")
Data = tuple[list[Path], list[Path]]  # training files, dev files
SHORT = (
    *("train.steps=6", "train.evaluate_every=3", "train.log_every=1"),
    *("train.samples=0", "train.metric=loss"),
)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trained model of texts."""
    folder = tmp_path_factory.mktemp("begun")
    run(small_config(write_texts(folder), preset="rnnsearch-nano"), folder / "run")
    return folder / "run"


@pytest.fixture
def texts(tmp_path: Path) -> Data:
    """Return the training files and the dev files of a shorter run."""
    train, dev = write_texts(tmp_path, train=20, dev=4)
    return [train], [dev]


def test_a_run_begins_with_the_weights_pieces_and_settings_of_a_model(
    begun: Path, texts: Data, tmp_path: Path
) -> None:
    config = settings(*texts, None, ["train.precision=fp32"], start=begun)
    bundle = read(begun)
    assert (config.preset, config.model) == ("rnnsearch-nano", bundle.model.config)
    assert SearchConfig(**vars(config.search)) == bundle.search
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    steps: set[str] = set()
    data = source_of_run(config).loaded(folder.path, lambda step, *_: steps.add(step))
    assert "tokenising" in steps and "learning the vocabulary" not in steps
    assert data.tokenizer.files() == bundle.tokenizer.files()
    opened = open_run(folder, config, data, CPU)
    for name, tensor in weights_of(opened.state.model).items():
        assert torch.equal(tensor, weights_of(bundle.model)[name])


def test_soft_attention_becomes_hard_and_a_broken_run_continues(
    begun: Path, texts: Data, tmp_path: Path
) -> None:
    changes = [*SHORT, "model.attention.read=hard", "train.ema=0.5"]
    config = settings(*texts, None, changes, start=begun)
    run(config, tmp_path / "whole")
    stops = iter([False, False, True])
    with pytest.raises(Interrupted):
        run(config, tmp_path / "broken", stop=lambda: next(stops, True))
    run(config, tmp_path / "broken")
    assert_same(tmp_path / "broken", tmp_path / "whole")
    assert read(tmp_path / "whole").model.config.attention.read == "hard"
    assert "Initial model: run" in (tmp_path / "whole" / "card.md").read_text("utf-8")
    again = settings([tmp_path / "whole" / "config.toml"])
    assert again.train.precision in ("fp32", "bf16")  # chosen for auto
    assert replace(again, train=replace(again.train, precision="auto")) == config


def test_the_model_to_begin_with_may_move_but_not_change(
    begun: Path, texts: Data, tmp_path: Path
) -> None:
    start = Path(shutil.copytree(begun, tmp_path / "start"))
    config = settings(*texts, None, SHORT, start=start)
    with pytest.raises(Interrupted):
        run(config, tmp_path / "run", stop=lambda: True)
    moved = start.rename(tmp_path / "moved")
    with pytest.raises(ModelError, match="no model at"):
        run(config, tmp_path / "run")
    config = settings(*texts, None, SHORT, start=moved)
    run(settings(*texts, None, SHORT, start=begun), tmp_path / "other")
    for name in ("model.safetensors", "SHA256SUMS"):
        shutil.copy(tmp_path / "other" / name, moved)
    for other in (config, replace(config, start_from="")):
        with pytest.raises(ModelError, match="the initial model has changed"):
            run(other, tmp_path / "run")
    for name in ("model.safetensors", "SHA256SUMS"):
        shutil.copy(begun / name, moved)
    run(config, tmp_path / "run")
    with pytest.raises(ModelError, match="is the initial model"):
        run(config, moved)


def test_a_bundle_alone_continues_by_a_preset_of_its_family(begun: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copytree(begun, tmp_path / "alone"))
    for content in ("preset = 'gone'", "[damaged"):
        (alone / "config.toml").write_text(content, "utf-8")
        assert settings([Path("a"), Path("b")], start=alone).preset == "rnnsearch-small"
    (alone / "config.toml").unlink()
    assert settings([Path("a"), Path("b")], start=alone).model == read(begun).model.config


def test_a_captioner_continues_with_what_its_image_network_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frozen from now on, its features are those of the tuned network, not the pretrained one's."""
    monkeypatch.setattr(SmallCnn, "load", fill)
    files = write_images(tmp_path)
    style = "data.caption_style=plain"
    tuned = small_captioner(files, *PRETRAINED, style, "train.encoder_from=1", "train.epochs=1")
    run(tuned, tmp_path / "first")
    images = {"images": files.images, "captions": files.train, "dev_captions": files.dev}
    where = f"data.features={tmp_path / 'features'}"
    config = settings([], [], None, [*SHORT, where], start=tmp_path / "first", inputs=images)
    assert config.data.caption_style == "plain"
    first = read(tmp_path / "first").model.encoder
    assert isinstance(first, ImageEncoder)
    pixels = torch.rand(2, 3, 32, 32)
    with torch.inference_mode():
        expected = first.features(pixels)
        encoders = [
            image_features.first_encoder(each.model, each.start_from, each.train.seed)
            for each in (config, tuned)
        ]
        assert torch.equal(encoders[0].features(pixels), expected)
        fresh = encoders[1].features(pixels)
    assert not torch.allclose(fresh, expected)
    run(config, tmp_path / "second")
    for name, tensor in first.state_dict().items():
        if name.startswith("body."):
            assert torch.equal(read(tmp_path / "second").model.encoder.state_dict()[name], tensor)


def test_word_vectors_are_the_first_embeddings(tmp_path: Path) -> None:
    texts = write_texts(tmp_path)
    words = {word for line in texts.train.read_text().split("\n") for word in line.split()}
    rng = np.random.default_rng(1)
    table = {word: rng.normal(size=16) * 9 for word in sorted(words)}
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"{w} {' '.join(map(str, v))}\n" for w, v in table.items()))
    config = small_config(texts, f"model.vectors={path}", "tokenizer.kind=word")
    assert config.model.vectors == (str(path),)
    data = load(config, tmp_path / "run")
    state = fresh_state(source_of_run(config), data, torch.device("cpu"))
    encoder: Any = state.model.encoder
    weight = encoder.embedding.weight.detach()
    processor = data.tokenizer.source
    same = [
        float(torch.cosine_similarity(weight[n], torch.tensor(table[piece[1:]]).float(), 0))
        for n in range(len(weight))
        if (piece := processor.id_to_piece(n))[1:] in table and piece.startswith("▁")
    ]
    assert len(same) > 20 and min(same) > 0.999
    assert float(weight.square().mean().sqrt()) == pytest.approx(16**-0.5, rel=0.2)
    assert state.model.config.vectors == ()
    with pytest.raises(ModelError, match="of 16 numbers in .* for embeddings of 8.*embedding=16"):
        other = small_config(texts, f"model.vectors={path}", "model.embedding=8")
        fresh_state(source_of_run(other), data, torch.device("cpu"))


def test_attention_learns_given_links(tmp_path: Path) -> None:
    """Guided alignment: the loss falls on the links, also with held-out pairs and long ones."""
    pairs = list(generate(60))
    (tmp_path / "train.tsv").write_bytes(as_table((pair.source, pair.target) for pair in pairs))
    (tmp_path / "links").write_text("".join(map(as_links, pairs)))
    for preset in ("transformer-nano", "rnnsearch-nano"):
        texts = Texts(tmp_path / "train.tsv", tmp_path / "train.tsv")
        changes = [f"data.links={tmp_path / 'links'}", "data.dev=", "data.dev_share=0.2"]
        assert small_config(texts, *changes).train.attention.regions == 0.05
        strong = ("train.attention.regions=5", "train.lr=0.02", "train.schedule=constant")
        config = small_config(texts, *changes, *strong, preset=preset)
        folder = tmp_path / preset
        folder.mkdir()
        examples = load(config, folder)
        for number in range(examples.examples.count):
            batch = examples.examples.batch(np.array([number]))
            [source], [target] = batch.source, batch.target_out
            text = examples.tokenizer.source.decode(source.tolist())
            [pair] = [one for one in pairs if one.source == text]
            links = {(i, j) for j, i in batch.regions[0].nonzero().tolist()}  # type: ignore[index]
            expected = token_links(pair.links, source.tolist(), target.tolist(), examples.tokenizer)
            assert links == {*map(tuple, expected.tolist())} and links
        state = fresh_state(source_of_run(config), examples, torch.device("cpu"))
        stepper = Stepper(state, config.train, torch.float32)
        batch = examples.examples.batch(np.arange(10))

        @torch.no_grad()
        def distance(batch: Batch = batch, state: State = state) -> float:
            forced = state.model.eval().teacher_force(batch, want_weights=True)
            return float(region_loss(forced.weights, batch.regions))  # type: ignore[arg-type]

        before = distance()
        for _ in range(15):
            stepper.train_on(UpdateBatch(examples.examples, np.arange(10)), 0.0)
        assert distance() < 0.95 * before


WITHOUT_SIZE = tuple(one for one in SMALL if "tokenizer.size" not in one)
TWO = ("train.steps=2", "train.evaluate_every=2")


@pytest.fixture(scope="module")
def pairs_of_texts(tmp_path_factory: pytest.TempPathFactory) -> Texts:
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
    preset: str, joint: str, pairs_of_texts: Texts, tmp_path: Path
) -> None:
    """Old texts keep their logits; that of a new token is the mean of those of its parts."""
    sizes = ("tokenizer.size=330", f"tokenizer.joint={joint}")
    named = ([pairs_of_texts.train], [pairs_of_texts.dev], preset)
    run(settings(*named, [*WITHOUT_SIZE, *sizes, *TWO]), tmp_path / "old")
    (tmp_path / "new.txt").write_text("zebra\nsharks\n", "utf-8")
    new = [f"tokenizer.model={tmp_path / 'new.txt'}", "train.precision=fp32"]
    config = settings(*named[:2], None, [*new, *TWO], start=tmp_path / "old")
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    data = load(config, folder.path)
    begun = open_run(folder, config, data, torch.device("cpu"))
    before, after = read(tmp_path / "old"), begun.bundle(begun.state.model)
    source, target = next(line.split("\t") for line in pairs_of_texts.dev.read_text().splitlines())
    old, now = logits(before, source, target), logits(after, source, target)
    torch.testing.assert_close(now[:, :-2], old)
    for number, parts in enumerate(new_parts(before.tokenizer, after.tokenizer)[1]):
        expected = old[:, parts].mean(1)
        torch.testing.assert_close(now[:, old.shape[1] + number], expected)
    assert len(after.tokenizer.encode("zebra")) == 2
    if joint == "true":  # the whole run, which also scores the initial model
        events = run(config, tmp_path / "trained")
        assert any(isinstance(event, Compared) for event in events)


def test_a_run_has_the_tokens_of_ones_own(pairs_of_texts: Texts, tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("the\ndog\nder\nHund\n", "utf-8")
    own = f"tokenizer.model={tmp_path / 'own.txt'}"
    named = ([pairs_of_texts.train], [pairs_of_texts.dev], "transformer-nano")
    config = settings(*named, [*WITHOUT_SIZE, *TWO, own])
    run(config, tmp_path / "run")
    bundle = read(tmp_path / "run")
    assert bundle.tokenizer_config.kind == "word" and bundle.tokenizer_config.model == ()
    assert bundle.tokenizer.pieces(bundle.tokenizer.encode("the dog")[:-1]) == ("▁the", "▁dog")
    for wrong in (["tokenizer.size=500"], ["tokenizer.model=none.model"]):
        with pytest.raises(ModelError):
            settings(*named, [own, *wrong])

"""Training on images and captions: one cache, broken runs, what is missing or broken; labels."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from attncli.caption import _captions as captions
from attncli.caption import features as image_features
from attncli.classify._table import LabelledText, read_labelled
from attncli.classify.data import learn, set_aside
from attncli.data.embedded import split_tenses
from attncli.train.command_line import settings
from attncli.train.events import Evaluated, FinalModel, Interrupted, Started, Stepped
from attncli.training.config import RunConfig
from models import load
from models.core.config import ImageConfig
from models.core.errors import DamagedError, ModelError
from models.core.use_config import SearchConfig, TokenizerConfig
from models.engines.captioner import Captioner
from models.networks.bundle import Bundle, build, read, save, sizes_of
from models.networks.edgetpu import read_classifier
from models.networks.image_encoder import ImageEncoder, SmallCnn
from models.signals.imagenet import LABELS, ImageLabels
from models.signals.images import open_image
from models.storage.presets import model_config
from models.text.tokenizer import LabelTokenizer, Tokenizer
from tests.attncli.command_line import Attn
from tests.attncli.labels import toy_rows, write_toy
from tests.attncli.training.small import TINY, after, assert_same, run
from tests.attncli.training.small_captions import (
    PATCHES,
    PRETRAINED,
    Files,
    as_tar,
    random_weights,
    small_config,
    write_images,
)

HARD = "show-attend-tell-hard-nano"


@pytest.fixture(autouse=True)
def pretrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that the small image network can start from."""
    monkeypatch.setattr(SmallCnn, "load", random_weights)


def test_a_run_learns_and_leaves_a_captioner(files: Files, tmp_path: Path, attn: Attn) -> None:
    changes = ["train.steps=280", "train.evaluate_every=70", "train.batch_tokens=200"]
    changes += ["train.metric=auto", "train.lr=0.01", "model.dropout=0", "model.hidden=32"]
    config = small_config(files, *PATCHES, *changes)
    started, *events, kept = run(config, tmp_path / "run")
    assert isinstance(started, Started) and isinstance(kept, FinalModel)
    assert (started.pairs, started.dev, started.unit) == (44, 8, "captions")
    scores = [event.scores for event in events if isinstance(event, Evaluated)]
    assert kept.score is not None and kept.score > 65
    assert all(s.bleu is not None and s.cider is not None for s in scores)
    captioner = Captioner.read(tmp_path / "run")
    for name in ("red-left-0.png", "blue-left-2.png"):
        [caption] = captioner.caption([open_image(files.images / name)])
        assert name.split("-")[0] in caption.text.split()
    evaluate = ["evaluate", "captions", "-m", tmp_path / "run", "--json"]
    given = ["--images", files.images, files.dev]
    # by the run's own search: greedy
    [system] = json.loads(attn(*map(str, [*evaluate, *given])).out)["systems"]
    assert system["scores"]["BLEU-4"]["score"] == pytest.approx(kept.score)


def test_features_are_computed_once_for_all_runs(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []

    def opening(data: bytes, *, name: str, least: int) -> Image.Image:
        opened.append(1)
        return open_image(data, name=name, least=least)

    monkeypatch.setattr(image_features, "open_image", opening)
    config = small_config(files, *PATCHES, "train.steps=2")
    run(config, tmp_path / "one")
    assert len(opened) == 30
    tar = files._replace(images=as_tar(files.images, tmp_path / "images.tar"))
    hard = small_config(tar, *PATCHES, "train.steps=2", preset=HARD)
    run(hard, tmp_path / "two")
    run(small_config(tar, *PATCHES, "train.steps=2"), tmp_path / "three")
    assert len(opened) == 30
    assert_same(tmp_path / "one", tmp_path / "three")
    run(small_config(files, *PATCHES, "train.steps=2", "model.image.fit=squash"), tmp_path / "four")
    assert len(opened) == 60


def test_a_run_continues_after_its_features_were_removed(files: Files, tmp_path: Path) -> None:
    config = small_config(files, *PATCHES)
    run(config, tmp_path / "unbroken")
    with pytest.raises(Interrupted):
        run(config, tmp_path / "broken", after(6))
    shutil.rmtree(tmp_path / "features")
    run(config, tmp_path / "broken")
    assert_same(tmp_path / "broken", tmp_path / "unbroken")
    shutil.rmtree(tmp_path / "features")
    (files.images / "red-left-2.png").write_bytes(b"other")
    fresh = tmp_path / "begun"
    shutil.copytree(tmp_path / "unbroken", fresh)
    (fresh / "checkpoint.safetensors").unlink()
    with pytest.raises(ModelError, match="red-left-2.png changed or was removed"):
        run(config, fresh)


def test_missing_and_broken_images_are_counted_and_named(files: Files, tmp_path: Path) -> None:
    (files.images / "red-left-2.png").unlink()
    (files.images / "red-left-4.png").write_bytes(b"no image")
    whole = (files.images / "red-right-0.png").read_bytes()
    (files.images / "red-right-0.png").write_bytes(whole[: len(whole) // 2])
    with files.train.open("a") as file:
        file.write("red-left-0.png\t.\nred-left-0.png\t" + "red " * 300 + "\n")
    started = run(small_config(files, *PATCHES, "train.steps=2"), tmp_path / "run")[0]
    assert isinstance(started, Started)
    assert (started.pairs, started.empty, started.long) == (44 - 3 * 2, 1, 1)
    assert len(started.notes) == 2
    assert started.notes[0] == (
        "1 captioned image cannot be found: red-left-2.png; its captions are excluded"
    )
    assert started.notes[1].startswith(
        "2 images cannot be decoded: red-left-4.png is not a readable image, red-right-0.png cannot"
    )
    assert started.notes[1].endswith("; their captions are excluded")
    again = run(small_config(files, *PATCHES, "train.steps=2"), tmp_path / "again")[0]
    assert isinstance(again, Started) and again.notes == started.notes
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.png").write_bytes(b"")
    wrong = small_config(files._replace(images=tmp_path / "other"), *PATCHES)
    with pytest.raises(ModelError, match="none of the 30 captioned images is in .*other"):
        run(wrong, tmp_path / "wrong")


def test_captions_as_they_were_written(files: Files, tmp_path: Path) -> None:
    run(small_config(files, *PATCHES, "train.steps=1"), tmp_path / "words")
    plain = small_config(files, *PATCHES, "train.steps=1", "data.caption_style=plain")
    run(plain, tmp_path / "plain")
    texts = []
    for name in ("words", "plain"):
        bundle = read(tmp_path / name)
        ids = bundle.tokenizer.encode_target("A red square .")
        texts.append(bundle.tokenizer.pieces(ids))
    assert "<0x41>" in texts[0] and "<0x41>" not in texts[1]  # no capital was ever seen


def encoder_of(folder: Path) -> dict[str, torch.Tensor]:
    """Return the image network's weights in a bundle."""
    found = load_file(folder / "model.safetensors")
    return {name: tensor for name, tensor in found.items() if name.startswith("encoder.body.")}


def test_frozen_weights_are_in_the_bundle_and_no_part_of_the_state(
    files: Files, tmp_path: Path
) -> None:
    run(small_config(files, *PRETRAINED, "train.epochs=1", "train.ema=0.5"), tmp_path / "run")
    fresh = SmallCnn(small_config(files).model.image)
    fresh.load("DEFAULT")
    kept = encoder_of(tmp_path / "run")
    for name, parameter in fresh.named_parameters():
        assert torch.equal(kept[f"encoder.body.{name}"], parameter), name
    names = load_file(tmp_path / "run" / "checkpoint.safetensors")
    assert names and not any("encoder." in name for name in names)
    snapshots = list((tmp_path / "run" / "snapshots").iterdir())
    assert snapshots and not any("encoder." in name for name in load_file(snapshots[0]))


def test_the_encoder_learns_from_its_epoch_on(files: Files, tmp_path: Path) -> None:
    weights = []
    for number, epoch in enumerate((0, 3, 2, 2)):
        changes = [f"train.encoder_from={epoch}", "train.epochs=2", "train.average=0"]
        changes += ["train.encoder_lr=1e-9"] if number == 3 else []
        config = small_config(files, *PRETRAINED, *changes)
        run(config, tmp_path / str(number))
        weights.append(encoder_of(tmp_path / str(number)))
    never, later, then, still = weights
    for name in never:
        assert torch.equal(later[name], never[name]), name
        assert torch.allclose(still[name], never[name], atol=1e-6), name
    assert not all(torch.allclose(then[name], never[name], atol=1e-4) for name in never)


@pytest.fixture
def unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither mirror nor crop images."""
    still = partial(captions.augmented, flip=0.0, crop=1.0)
    monkeypatch.setattr(captions, "augmented", still)


@pytest.mark.usefixtures("unchanged")
def test_pixels_and_features_lead_to_the_same_model_but_for_rounding(
    files: Files, tmp_path: Path
) -> None:
    losses = []
    for name, changes in {
        "features": ["train.encoder_from=0"],
        "pixels": ["train.encoder_from=1", "train.encoder_lr=1e-9"],
    }.items():
        more = ["train.precision=fp32", "model.dropout=0", "train.epochs=3", *changes]
        more.append("train.batch_tokens=5000")  # one batch: the two make them of other captions
        events = run(small_config(files, *PRETRAINED, *more), tmp_path / name)
        losses.append([event.nll for event in events if isinstance(event, Stepped)])
    assert losses[0] == pytest.approx(losses[1], rel=2e-3)


def test_a_file_with_splits_is_also_the_dev_set(files: Files, tmp_path: Path) -> None:
    images = [
        {"filename": name, "split": split, "sentences": [{"raw": f"a {name.split('-')[0]} one"}]}
        for split, path in (("train", files.train), ("val", files.dev))
        for name in dict.fromkeys(row.split("\t")[0] for row in path.read_text().splitlines())
    ]
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps({"images": images}))
    chosen = (*PATCHES, "train.steps=1", "train.precision=fp32")
    config = small_config(files._replace(train=path, dev=None), *chosen)  # type: ignore[arg-type]
    assert config.data.dev_captions == config.data.captions
    started = run(config, tmp_path / "run")[0]
    assert isinstance(started, Started) and (started.pairs, started.dev) == (22, 8)
    assert settings([tmp_path / "run" / "config.toml"]) == config


LABELLED = ("model.image.encoder=mobilenet-edgetpu", "model.image.labels=2", "train.steps=4")
BRIEF = ("train.evaluate_every=2", "train.average=0", "train.samples=0", "train.precision=fp32")


def labelled(folder: Path, tokenizer: Tokenizer) -> Path:
    """Write a captioner with a random classifier and the nouns of the table."""
    image = ImageConfig(encoder="mobilenet-edgetpu", weights="none", size=32, labels=2)
    config = replace(model_config("show-attend-tell-soft-nano"), embedding=16, hidden=16)
    model = build(replace(config, image=image), sizes_of(tokenizer, "captioner"))
    torch.nn.init.normal_(labels_of(model.encoder).weight)
    labels_of(model.encoder).set_nouns(lambda noun: tokenizer.encode_target(noun)[:-1])
    folder.mkdir()
    save(Bundle(model, tokenizer, TokenizerConfig(), SearchConfig()), folder)
    return folder


def labels_of(encoder: torch.nn.Module) -> ImageLabels:
    assert isinstance(encoder, ImageEncoder) and encoder.labels is not None
    return encoder.labels


def test_training_continues_and_leaves_the_classifier_alone(
    tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    files = write_images(tmp_path)
    begun = labelled(tmp_path / "start", tiny_tokenizer)
    changes = [*LABELLED, *BRIEF, "model.image.weights=none", "tokenizer.size=0"]
    config = replace(small_config(files, *changes, "data.dev_share=0"), start_from=str(begun))
    config = replace(config, data=replace(config.data, dev_captions=""))  # the last weights stay
    run(config, tmp_path / "whole")
    with pytest.raises(Interrupted):
        run(config, tmp_path / "parts", after(3))
    run(config, tmp_path / "parts")
    assert_same(tmp_path / "parts", tmp_path / "whole")
    old, ours = (read(tmp_path / name).model.state_dict() for name in ("start", "whole"))
    for name, tensor in old.items():
        if name.startswith("encoder.labels."):
            assert torch.equal(tensor, ours[name])
    assert not torch.equal(old["reader.gate.weight"], ours["reader.gate.weight"])


def test_the_stored_classifier_is_restored_from_8_bits(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    parts: dict[str, Any] = {
        "logits.weight_q": random.integers(256, size=(LABELS, 8, 1, 1), dtype=np.uint8),
        "logits.zero": random.integers(256, size=LABELS, dtype=np.uint8),
        "logits.scale": random.random(LABELS, dtype=np.float32),
        "logits.bias": random.random(LABELS, dtype=np.float32),
    }
    np.savez(tmp_path / "weights.npz", **parts)
    weight, bias = read_classifier(tmp_path)
    q, zero = parts["logits.weight_q"][5, 3, 0, 0], parts["logits.zero"][5]
    assert float(weight[5, 3]) == pytest.approx((float(q) - zero) * parts["logits.scale"][5])
    assert torch.equal(bias, torch.from_numpy(parts["logits.bias"]))
    del parts["logits.bias"]
    np.savez(tmp_path / "weights.npz", **parts)
    with pytest.raises(DamagedError, match="classifier"):
        read_classifier(tmp_path)


def labels_config(folder: Path, preset: str, *changes: str, dev: Path | None = None) -> RunConfig:
    table = folder / "labels.tsv"
    files = {"labels": table if table.exists() else write_toy(table, 120), "dev_labels": dev}
    return settings([], preset=preset, assignments=[*TINY, *changes], inputs=files)


def test_accuracy_and_macro_f1_are_measured_and_accuracy_decides(tmp_path: Path) -> None:
    chosen = labels_config(tmp_path, "bilstm-attention-nano", "train.metric=auto")
    start, *others, final = run(chosen, tmp_path / "run")
    assert isinstance(start, Started) and isinstance(final, FinalModel)
    assert (start.metric, start.unit) == ("accuracy", "labelled texts")
    assert start.vocabulary.endswith("3 labels")
    scores = [event.scores for event in others if isinstance(event, Evaluated)]
    assert all(s.accuracy is not None and s.macro_f1 is not None and s.bleu is None for s in scores)
    assert final.score == max(s.accuracy for s in scores if s.accuracy is not None)


def test_a_run_continues_from_a_classifier_with_the_same_labels(tmp_path: Path) -> None:
    run(labels_config(tmp_path, "bilstm-attention-nano"), tmp_path / "first")
    other = {"labels": write_toy(tmp_path / "other.tsv", 40, seed=5)}
    chosen = settings([], assignments=TINY, start=tmp_path / "first", inputs=other)
    run(chosen, tmp_path / "second")
    assert load(tmp_path / "second", "classify").labels == ("animal", "colour", "none")
    (tmp_path / "other.tsv").write_text("plant\tthe tree\nanimal\tthe dog\n" * 9)
    with pytest.raises(
        ModelError, match="'plant' in .* its labels: animal.*leave out --start-from"
    ):
        run(chosen, tmp_path / "third")


def test_no_text_is_both_for_training_and_for_evaluation() -> None:
    rows = [LabelledText(*row) for row in toy_rows(300)]
    train, dev = set_aside(rows, 0.1, seed=1)
    assert sorted(train + dev) == sorted(rows) and dev
    assert not {row.text for row in train} & {row.text for row in dev}
    assert set_aside(rows, 0.1, seed=1) == (train, dev) != set_aside(rows, 0.1, seed=2)
    assert set_aside(rows, 0.0, seed=1) == (rows, [])


def test_labels_are_composed_and_those_of_earlier_models_are_found(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("cafe\u0301\tone\ncaf\u00e9\ttwo\nx\tthree\n", "utf-8")
    assert [row.label for row in read_labelled(path)] == ["caf\u00e9", "caf\u00e9", "x"]
    labels, texts = zip(*read_labelled(path), strict=True)
    vocabulary = learn(texts, sorted({*labels}), TokenizerConfig())
    assert vocabulary.labels == ("caf\u00e9", "x")
    earlier = LabelTokenizer(vocabulary.files()["tokenizer.model"], ["cafe\u0301", "x"])
    assert earlier.encode_target("caf\u00e9") == earlier.encode_target("cafe\u0301") == [0]
    assert earlier.decode([0]) == "cafe\u0301"


def test_sentences_of_the_grammar_are_labelled_with_their_tense() -> None:
    parts = split_tenses(300, 50)
    assert {tense for tense, _ in parts.train} == {"present", "past", "future", "modal"}
    assert all(" will " in f" {text.lower()}" for tense, text in parts.train if tense == "future")
    held = {text for _, text in (*parts.dev, *parts.test)}
    assert len(held) == 100 and not held & {text for _, text in parts.train}


def test_labels_that_cannot_be_meant_are_named(tmp_path: Path) -> None:
    path = tmp_path / "other.tsv"
    path.write_text("".join(f"the dog {n}\tanimal\n" for n in range(9)), "utf-8")
    with pytest.raises(ModelError, match="9 labels for 1 different text; expected label, tab"):
        run(settings([], assignments=TINY, inputs={"labels": path}), tmp_path / "run")
    for labels, found in (("a", "1 label; expected 2"), ("ab", "1 different text in .*other.tsv")):
        path.write_text("".join(f"{label}\tgood morning\n" for label in labels) * 9)
        with pytest.raises(ModelError, match=found):
            run(settings([], assignments=TINY, inputs={"labels": path}), tmp_path / "same")
    path.write_text("plant\ta tree\n")
    events = run(
        labels_config(tmp_path, "bilstm-attention-nano", "train.steps=1", dev=path),
        tmp_path / "run",
    )
    assert isinstance(events[0], Started)
    assert "label 'plant' of the dev set has no training example" in events[0].notes[0]

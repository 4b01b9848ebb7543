"""A captioner with labels trains, stops and continues; its classifier stays as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attncli.training.interfaces import Interrupted
from models.core.config import ImageConfig
from models.core.errors import DamagedError
from models.core.use_config import SearchConfig, TokenizerConfig
from models.networks.bundle import Bundle, build, read, save, sizes_of
from models.networks.edgetpu import read_classifier
from models.networks.image_encoder import ImageEncoder
from models.signals.imagenet import LABELS, ImageLabels
from models.storage.presets import model_config
from models.text.tokenizer import Tokenizer
from tests.attncli.training.small import after, assert_same, run
from tests.attncli.training.small_captions import small_config, write_images

LABELLED = ("model.image.encoder=mobilenet-edgetpu", "model.image.labels=2", "train.steps=4")
MORE = ("train.evaluate_every=2", "train.average=0", "train.samples=0", "train.precision=fp32")


def start(folder: Path, tokenizer: Tokenizer) -> Path:
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
    begun = start(tmp_path / "start", tiny_tokenizer)
    changes = [*LABELLED, *MORE, "model.image.weights=none", "tokenizer.size=0"]
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

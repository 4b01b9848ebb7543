"""Bundles in fewer bits, with shared weights and digests: nothing is lost or changed unnoticed."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from models import load, load_translator
from models.base.errors import ModelError
from models.base.registry import source_name
from models.bundle import Bundle, build, read, save, sizes_of
from models.catalogue.presets import PRESETS, model_config
from models.encoders.image import pretrained_parameters
from models.storage.digests import NAME as SUMS
from models.storage.digests import read_digests
from models.storage.settings import Shared, write_alignment
from models.storage.weights import quantised, restored, stored_as, weights_of
from models.text.tokenizer import Tokenizer
from models.use_config import AlignConfig, SearchConfig, TokenizerConfig
from tests.models.small import small_model

NETWORK = Shared("photos", "encoder.body.")
SMALL = [name for name in PRESETS if "nano" in name]


def copied(bundle: Path, folder: Path) -> Path:
    return Path(shutil.copytree(bundle, folder))


def flip(path: Path, at: float = 0.9) -> None:
    content = bytearray(path.read_bytes())
    content[int(len(content) * at)] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("preset", SMALL)
def test_storing_restored_weights_stores_the_same(preset: str) -> None:
    weights = weights_of(small_model(preset))
    stored = stored_as("int8", weights)
    again = stored_as("int8", restored(stored))
    assert stored.keys() == again.keys() and restored(stored).keys() == weights.keys()
    for name, tensor in stored.items():
        assert tensor.dtype == again[name].dtype and torch.equal(tensor, again[name]), name


def test_int8_is_within_half_a_step_of_each_row() -> None:
    weights = torch.randn(50, 40, generator=torch.Generator().manual_seed(1))
    weights *= torch.logspace(-30, 30, 50)[:, None]
    weights[3] = 0
    q, scale = quantised(weights)
    error = (restored({"w": q, "w.scale": scale})["w"] - weights).abs()
    assert q.dtype == torch.int8 and (q.abs().amax(1) == 127).sum() == 49
    largest = scale.float()[:, None] * 127
    assert (
        error <= torch.maximum(scale.float()[:, None] / 2, weights.abs() - largest) * 1.001
    ).all()
    assert torch.equal(restored({"w": q, "w.scale": scale})["w"][3], torch.zeros(40))


def test_a_bundle_in_fewer_bits_is_small_and_translates_alike(
    tiny_bundle: Path, tmp_path: Path
) -> None:
    bundle = read(tiny_bundle)
    save(bundle, tmp_path, weights="int8")
    sizes = [(folder / "model.safetensors").stat().st_size for folder in (tmp_path, tiny_bundle)]
    assert sizes[0] < 0.30 * sizes[1]
    assert json.loads((tmp_path / "config.json").read_text())["weights"] == "int8"
    with torch.no_grad():
        for name, tensor in weights_of(bundle.model).items():
            torch.testing.assert_close(
                weights_of(read(tmp_path).model)[name], tensor, atol=0.01, rtol=0.01
            )
    texts = ["The old dog sees a house.", "He sleeps."]
    assert len(load_translator(tmp_path).translate(texts)) == 2
    again = tmp_path / "again"
    again.mkdir()
    save(read(tmp_path), again, weights="int8")
    assert (again / SUMS).read_text() == (tmp_path / SUMS).read_text()


@pytest.mark.parametrize("preset", SMALL)
def test_a_model_is_built_within_the_room_of_its_weights(
    preset: str, tiny_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from models.storage import weights

    config = model_config(preset)
    if source_name(config.family) == "image":
        image = dataclasses.replace(config.image, encoder="small-cnn", weights="none", size=32)
        config = dataclasses.replace(config, image=image)
    model = build(config, sizes_of(tiny_tokenizer, config.family))
    save(Bundle(model, tiny_tokenizer, TokenizerConfig(), SearchConfig()), tmp_path)
    monkeypatch.setattr(weights, "SPARE", 20_000)
    found = read(tmp_path).model.state_dict()
    assert all(value.equal(found[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("setting", ["embedding", "hidden", "encoder_layers", "decoder_layers"])
def test_settings_larger_than_the_weights_allocate_nothing(
    setting: str, tiny_bundle: Path, tmp_path: Path
) -> None:
    folder = copied(tiny_bundle, tmp_path / "bundle")
    settings = json.loads((folder / "config.json").read_text())
    settings["model"][setting] = 2_000_000
    (folder / "config.json").write_text(json.dumps(settings))
    with pytest.raises(ModelError):
        load(folder)


def test_a_changed_byte_of_any_file_is_noticed(tiny_bundle: Path, tmp_path: Path) -> None:
    names = ["config.json", "model.safetensors", "tokenizer.model", SUMS]
    for number, name in enumerate(names):
        for at in (0.0, 0.31, 0.999):
            folder = copied(tiny_bundle, tmp_path / f"{number}-{at}")
            flip(folder / name, at)
            with pytest.raises(ModelError) as refused:
                load(folder)
            assert "\n" not in str(refused.value)
    folder = copied(tiny_bundle, tmp_path / "weights")
    flip(folder / "model.safetensors")
    with pytest.raises(ModelError, match="model.safetensors differs from its digest"):
        load(folder)


def test_a_bundle_without_digests_loads(tiny_bundle: Path, tmp_path: Path) -> None:
    folder = copied(tiny_bundle, tmp_path / "bundle")
    (folder / SUMS).unlink()
    flip(folder / "model.safetensors")
    load(folder)
    write_alignment(folder, AlignConfig(head=2))
    assert load_translator(folder).alignment.head == 2


def test_digests_follow_a_change_and_other_programs_read_them(
    tiny_bundle: Path, tmp_path: Path
) -> None:
    folder, config = copied(tiny_bundle, tmp_path / "bundle"), AlignConfig(head=2)
    before = json.loads((folder / "config.json").read_text("utf-8"))
    write_alignment(folder, config)
    after = json.loads((folder / "config.json").read_text("utf-8"))
    assert {**before, "alignment": dataclasses.asdict(config)} == after
    assert load_translator(folder).alignment == config
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "--check", "--quiet", SUMS], cwd=folder, check=True)


def test_a_save_that_is_killed_leaves_a_bundle_that_loads(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = read(tiny_bundle)
    with torch.no_grad():
        bundle.model.output.bias.add_(1)
    replace, replaced = os.replace, 0
    for last in range(7):
        folder = copied(tiny_bundle, tmp_path / str(last))
        replaced = 0

        def counted(*paths: Path, last: int = last) -> None:
            nonlocal replaced
            if replaced == last:
                raise KeyboardInterrupt
            replaced += 1
            replace(*paths)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", counted)
            try:
                save(bundle._replace(search=SearchConfig(beam=7)), folder)
            except KeyboardInterrupt:
                load(folder)
            else:
                break
    assert last == 5 and all(len(found) == 1 for found in read_digests(folder).values())


def test_weights_that_an_earlier_version_stored_in_fp16_load(
    tiny_bundle: Path, tmp_path: Path
) -> None:
    folder = copied(tiny_bundle, tmp_path / "bundle")
    (folder / SUMS).unlink()
    path = folder / "model.safetensors"
    save_file({name: tensor.half() for name, tensor in load_file(path).items()}, path)
    bias = read(folder).model.output.bias
    assert bias.dtype == torch.float32
    torch.testing.assert_close(bias, read(tiny_bundle).model.output.bias, atol=0.01, rtol=0.01)


def test_weights_that_are_no_numbers_are_refused(tiny_bundle: Path, tmp_path: Path) -> None:
    for number, value in enumerate((float("nan"), float("inf"), float("-inf"))):
        folder = copied(tiny_bundle, tmp_path / str(number))
        (folder / SUMS).unlink()
        tensors = load_file(folder / "model.safetensors")
        tensors["output.bias"][5] = value
        save_file(tensors, folder / "model.safetensors")
        with pytest.raises(ModelError, match="first at output.bias"):
            load(folder)


@pytest.fixture
def pair(soft_captioner: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two captioners that differ in their decoders and share the image network."""
    photos, hard = tmp_path / "photos", tmp_path / "photos-hard"
    bundle = read(soft_captioner)
    for folder in (photos, hard):
        folder.mkdir()
    save(bundle, photos, weights="int8")
    with torch.no_grad():
        bundle.model.output.bias.add_(1)
    save(bundle, hard, weights="int8", shared=NETWORK)
    return photos, hard


def test_shared_weights_are_stored_once(pair: tuple[Path, Path]) -> None:
    photos, hard = pair
    one, other = (weights_of(read(folder).model) for folder in pair)
    assert torch.equal(one["output.bias"] + 1, other["output.bias"])
    assert all(torch.equal(one[n], other[n]) for n in one if n.startswith(NETWORK.prefix))
    stored = [set(load_file(folder / "model.safetensors")) for folder in pair]
    assert {name for name in stored[0] if name.startswith(NETWORK.prefix)} == stored[0] - stored[1]
    flip(photos / "model.safetensors")
    with pytest.raises(ModelError, match="photos/model.safetensors differs"):
        read(hard)
    shutil.rmtree(photos)
    with pytest.raises(ModelError, match="photos/model.safetensors is missing"):
        read(hard)


@pytest.mark.parametrize("name", ["../photos", "..", "", "/etc", "a\\b", 3])
def test_only_a_bundle_beside_is_shared(name: object, pair: tuple[Path, Path]) -> None:
    settings = json.loads((pair[1] / "config.json").read_text())
    settings["shared"]["bundle"] = name
    (pair[1] / "config.json").write_text(json.dumps(settings))
    with pytest.raises(ModelError, match="shares weights with"):
        read(pair[1])


def test_weights_that_differ_are_not_shared(pair: tuple[Path, Path], tmp_path: Path) -> None:
    bundle = read(pair[0])
    with torch.no_grad():
        next(iter(pretrained_parameters(bundle.model))).add_(1)
    (tmp_path / "other").mkdir()
    with pytest.raises(ModelError, match="weights differ from those of photos"):
        save(bundle, tmp_path / "other", weights="int8", shared=NETWORK)

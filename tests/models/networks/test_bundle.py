"""A bundle gives back the model it was made of, and a damaged one says what is wrong."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import torch
from safetensors.torch import load_file, save_file

from attncli.data.embedded import Pair
from models import load
from models.core.errors import ModelError
from models.core.use_config import AlignConfig, SearchConfig, TokenizerConfig
from models.engines.ctranslate2_translator import CTranslate2Translator
from models.networks.bundle import Bundle, build, read, save, sizes_of
from models.networks.image_encoder import pretrained_parameters
from models.storage.digests import NAME as SUMS
from models.storage.digests import read_digests
from models.storage.presets import PRESETS
from models.storage.settings import Shared, write_alignment
from models.storage.weights import quantised, restored, stored_as, weights_of
from models.text.tokenizer import Tokenizer, train
from tests.models.damage import flip
from tests.models.small import changed, small_config, small_model
from tests.torture.mutate import damage

SEARCH = SearchConfig(beam=3, length_penalty=0.7)
SMALL = [name for name in PRESETS if "nano" in name]


@pytest.fixture(scope="module")
def separate_tokenizer(tiny_pairs: list[Pair]) -> Tokenizer:
    sources, targets = [p.source for p in tiny_pairs], [p.target for p in tiny_pairs]
    return train(sources, targets[:100], 350, TokenizerConfig(joint=False))


def untrained(preset: str, tokenizer: Tokenizer, *, tied: bool) -> Bundle:
    torch.manual_seed(1)
    config = changed(small_config(preset), tied=tied)
    model = build(config, sizes_of(tokenizer, config.family)).eval()
    return Bundle(model, tokenizer, TokenizerConfig(joint=tokenizer.joint), SEARCH)


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("joint", [True, False], ids=["joint", "separate"])
@pytest.mark.parametrize("preset", SMALL)
def test_a_bundle_reads_as_it_was_saved_within_the_room_of_its_weights(
    preset: str,
    joint: bool,
    tied: bool,
    tiny_tokenizer: Tokenizer,
    separate_tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bundle = untrained(preset, tiny_tokenizer if joint else separate_tokenizer, tied=tied)
    save(bundle, tmp_path, card="A card.")
    monkeypatch.setattr("models.storage.weights.SPARE", 20_000)
    again = read(tmp_path)
    assert again.model.config == bundle.model.config and not again.model.training
    assert again[2:] == bundle[2:]
    assert again.tokenizer.files() == bundle.tokenizer.files()
    assert (tmp_path / "card.md").read_text() == "A card."
    assert again.model.parameter_count() == bundle.model.parameter_count()
    found = again.model.state_dict()
    assert all(value.equal(found[name]) for name, value in bundle.model.state_dict().items())


@pytest.mark.parametrize("preset", ["transformer-nano", "rnnsearch-nano"])
def test_a_shared_matrix_is_stored_and_trained_once(
    preset: str, tiny_tokenizer: Tokenizer, separate_tokenizer: Tokenizer
) -> None:
    counts = {
        (tied, tokenizer.joint): untrained(preset, tokenizer, tied=tied).model.parameter_count()
        for tied in (True, False)
        for tokenizer in (tiny_tokenizer, separate_tokenizer)
    }
    width, vocabulary = small_config(preset).embedding, len(tiny_tokenizer.source)
    assert counts[False, True] - counts[True, True] == 2 * vocabulary * width
    target = len(separate_tokenizer.target)
    assert counts[False, False] - counts[True, False] == target * width


def removed(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def damage_weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def damaged(folder: Path) -> None:
        (folder / SUMS).unlink()
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors")

    return damaged


def turned_into_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("x")


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no-folder": (shutil.rmtree, "no model at"),
    "a-file": (turned_into_a_file, "is a file; expected a folder"),
    "no-config": (removed("config.json"), "no config.json"),
    "no-weights": (removed("model.safetensors"), "model.safetensors is missing"),
    "no-tokenizer": (removed("tokenizer.model"), "the tokenizer of "),
    "pickled": (lambda f: torch.save({"a": torch.zeros(3)}, f / "model.safetensors"), "damaged"),
    **{
        f"weights-{value}": (
            damage_weights(lambda w, v=value: w["output.bias"].fill_(v)),  # type: ignore[misc]
            "first at output.bias",
        )
        for value in (float("nan"), float("inf"), float("-inf"))
    },
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_bundle_says_so_in_one_line(
    damage: str, tiny_bundle: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(tiny_bundle, folder)
    change, seen = DAMAGES[damage]
    change(folder)
    with pytest.raises(ModelError) as refused:
        load(folder)
    message = str(refused.value)
    assert seen in message and "\n" not in message


@pytest.mark.parametrize("opened", [load, CTranslate2Translator.read])
@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_file_is_refused_in_one_line_or_does_not_matter(
    seed: int, opened: Callable[[Path], object], tiny_bundle: Path, tmp_path: Path
) -> None:
    folder, random = copied(tiny_bundle, tmp_path / "bundle"), Random(f"bundle {seed}")
    if seed % 4:
        (folder / SUMS).unlink()
    damage(random.choice(sorted(folder.iterdir())), random)
    try:
        opened(folder)
    except ModelError as error:
        assert "\n" not in str(error)
    else:
        assert seed % 4 or opened is not load, "the digests differ"


NETWORK = Shared("photos", "encoder.body.")


def copied(bundle: Path, folder: Path) -> Path:
    return Path(shutil.copytree(bundle, folder))


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
    assert load(folder, "translate").alignment.head == 2


def test_digests_follow_a_change_and_other_programs_read_them(
    tiny_bundle: Path, tmp_path: Path
) -> None:
    folder, config = copied(tiny_bundle, tmp_path / "bundle"), AlignConfig(head=2)
    before = json.loads((folder / "config.json").read_text("utf-8"))
    write_alignment(folder, config)
    after = json.loads((folder / "config.json").read_text("utf-8"))
    assert {**before, "alignment": dataclasses.asdict(config)} == after
    assert load(folder, "translate").alignment == config
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

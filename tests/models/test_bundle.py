"""A bundle gives back the model it was made of, and a damaged one says what is wrong."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from attncli.embedded.grammar import Pair
from models import load
from models.base.errors import ModelError
from models.base.files import write_folder, write_text
from models.base.types import Batch
from models.bundle import Bundle, build, read, save, sizes_of
from models.inference.translator import Translator
from models.text.tokenizer import Tokenizer, train
from models.use_config import SearchConfig, TokenizerConfig
from tests.models.small import pairs, small_config

SEARCH = SearchConfig(beam=3, length_penalty=0.7)
FAMILIES = ["transformer-nano", "rnnsearch-nano", "luong", "luong-nano", "seq2seq-nano"]


@pytest.fixture(scope="module")
def separate_tokenizer(tiny_pairs: list[Pair]) -> Tokenizer:
    sources, targets = [p.source for p in tiny_pairs], [p.target for p in tiny_pairs]
    return train(sources, targets[:100], 350, TokenizerConfig(joint=False))


def untrained(preset: str, tokenizer: Tokenizer, *, tied: bool) -> Bundle:
    torch.manual_seed(1)
    config = dataclasses.replace(small_config(preset), tied=tied)
    model = build(config, sizes_of(tokenizer, config.family)).eval()
    return Bundle(model, tokenizer, TokenizerConfig(joint=tokenizer.joint), SEARCH)


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("joint", [True, False], ids=["joint", "separate"])
@pytest.mark.parametrize("preset", FAMILIES)
def test_a_bundle_reads_as_it_was_saved(
    preset: str,
    joint: bool,
    tied: bool,
    tiny_tokenizer: Tokenizer,
    separate_tokenizer: Tokenizer,
    tmp_path: Path,
) -> None:
    bundle = untrained(preset, tiny_tokenizer if joint else separate_tokenizer, tied=tied)
    save(bundle, tmp_path, card="A card.")
    again = read(tmp_path)
    assert again.model.config == bundle.model.config
    assert again[2:] == bundle[2:]
    assert again.tokenizer.files() == bundle.tokenizer.files()
    assert (tmp_path / "card.md").read_text() == "A card."
    assert not again.model.training
    assert again.model.parameter_count() == bundle.model.parameter_count()
    batch: Batch = pairs([4, 6], [5, 3])
    with torch.no_grad():
        one, other = (
            b.model.output(b.model.teacher_force(batch).features) for b in (bundle, again)
        )
    assert torch.equal(one, other)
    texts = ["The old dog sees a house.", "", "He sleeps."]
    assert Translator(bundle).translate(texts) == Translator(again).translate(texts)


@pytest.mark.parametrize("preset", FAMILIES)
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


def test_the_best_output_of_a_trained_bundle_is_a_sentence(
    tiny_translator: Translator, tiny_pairs: list[Pair]
) -> None:
    texts = [pair.source for pair in tiny_pairs[:20]]
    found = tiny_translator.translate(texts)
    assert sum(f.text[-1] in ".?!" for f in found) >= 18
    assert sum(f.text == pair.target for f, pair in zip(found, tiny_pairs, strict=False)) >= 3


def removed(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def changed(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def damage_config(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], object]:
    def damaged(content: bytes) -> bytes:
        settings = json.loads(content)
        result = change(settings)
        return json.dumps(settings if result is None else result).encode()

    return changed("config.json", damaged)


def turned_into_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("x")


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no-folder": (shutil.rmtree, "no model at"),
    "a-file": (turned_into_a_file, "is a file; expected a folder"),
    "no-config": (removed("config.json"), "no config.json"),
    "half-a-config": (changed("config.json", half), "config.json is damaged"),
    "empty-config": (changed("config.json", lambda content: b""), "config.json is damaged"),
    "binary-config": (changed("config.json", lambda content: b"\xff\x00"), "is damaged"),
    "config-of-a-list": (damage_config(lambda s: [s]), "config.json is damaged"),
    "no-format": (damage_config(lambda s: s.pop("format") and None), "config.json is damaged"),
    "other-format": (damage_config(lambda s: s.update(format=99)), "format 99; expected format 1"),
    "no-model": (damage_config(lambda s: s.pop("model") and None), "the model"),
    "number-for-model": (damage_config(lambda s: s.update(model=3)), "the model"),
    "null-for-search": (damage_config(lambda s: s.update(search=None)), "the search"),
    "unknown-setting": (damage_config(lambda s: s["model"].update(hiden=3)), "mean hidden"),
    "wrong-type": (damage_config(lambda s: s["model"].update(hidden="x")), "model.hidden = 'x'"),
    "unknown-family": (damage_config(lambda s: s["model"].update(family="x")), "family 'x'"),
    "other-vocabulary": (damage_config(lambda s: s["vocabulary"].update(source=9)), "tokenizer"),
    "odd-vocabulary": (damage_config(lambda s: s["vocabulary"].update(x=9)), "tokenizer"),
    "other-shapes": (damage_config(lambda s: s["model"].update(hidden=8)), "does not fit"),
    "fewer-layers": (damage_config(lambda s: s["model"].update(encoder_layers=3)), "not fit"),
    "no-weights": (removed("model.safetensors"), "model.safetensors is missing"),
    "half-the-weights": (changed("model.safetensors", half), "model.safetensors is damaged"),
    "empty-weights": (
        changed("model.safetensors", lambda content: b""),
        "model.safetensors is damaged",
    ),
    "no-tokenizer": (removed("tokenizer.model"), "the tokenizer of "),
    "tokenizer-not-in-utf-8": (
        changed("tokenizer.model", lambda content: content.replace(b"<0x18>", b"<\xb0x18>")),
        "the tokenizer of ",
    ),
    "half-a-tokenizer": (changed("tokenizer.model", half), "tokenizer"),
    "empty-tokenizer": (changed("tokenizer.model", lambda content: b""), "tokenizer"),
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


def test_nothing_is_unpickled(tiny_bundle: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(tiny_bundle, folder)
    torch.save({"weight": torch.zeros(3)}, folder / "model.safetensors")
    with pytest.raises(ModelError, match="is (missing|damaged)"):
        load(folder)


def no_room(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_folder_is_put_in_place_whole(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    write_folder(folder, lambda part: write_text(part / "one", "old"))
    assert contents(folder) == {"one": "old"}
    write_folder(folder, lambda part: write_text(part / "two", "new"))
    assert contents(folder) == {"two": "new"}
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "full"), ValueError("x")])
def test_a_folder_that_cannot_be_filled_leaves_the_old_one(
    failure: Exception, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    write_folder(folder, lambda part: write_text(part / "file", "old"))

    def fill(part: Path) -> None:
        (part / "other").write_text("new")
        raise failure

    with pytest.raises(ModelError if isinstance(failure, OSError) else ValueError):
        write_folder(folder, fill)
    assert contents(folder) == {"file": "old"} and list(tmp_path.iterdir()) == [folder]


def test_a_folder_that_cannot_be_renamed_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, rename = tmp_path / "folder", os.replace
    write_folder(folder, lambda part: write_text(part / "file", "old"))

    def fail_into_place(source: Path, target: Path) -> None:
        if target == folder and source.name.endswith(".part"):
            no_room()
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail_into_place)
        with pytest.raises(ModelError, match="No space left"):
            write_folder(folder, lambda part: write_text(part / "file", "new"))
    assert contents(folder) == {"file": "old"} and list(tmp_path.iterdir()) == [folder]

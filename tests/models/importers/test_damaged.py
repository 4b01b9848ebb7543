"""Published weights as people find them: each fault is one line, and nothing is left behind."""

from __future__ import annotations

import json
import os
import pickle
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file

from attncli.catalogue._packages import add
from models import load
from models.core.errors import ModelError
from models.importers.base import import_model
from models.storage.installed import user_folder
from tests.forks import Program
from tests.models.importers import published
from tests.torture.mutate import damage


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    published.marian(folder)
    return folder


@pytest.fixture
def folder(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Path(shutil.copytree(good, tmp_path / "m"))


def changed(name: str, change: Callable[[Any], None]) -> Callable[[Path], None]:
    """Return a fault of a JSON file."""

    def fault(folder: Path) -> None:
        content = json.loads((folder / name).read_text())
        change(content)
        (folder / name).write_text(json.dumps(content))

    return fault


def truncated(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-500])


def without_a_layer(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["model.encoder.layers.1.fc1.weight"]
    save_file(weights, folder / "model.safetensors")


def with_more(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["model.adapter.weight"] = torch.zeros(2)
    save_file(weights, folder / "model.safetensors")


def not_finite(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["model.encoder.layers.1.fc1.weight"][0, 0] = torch.nan
    save_file(weights, folder / "model.safetensors")


class Code:
    """An object whose unpickling writes a file."""

    def __reduce__(self) -> Any:
        return Path.write_text, (Path("was_run"), "x")


def with_code(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Code()}))


def expanded(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    name = "model.encoder.layers.1.fc1.weight"
    weights[name] = torch.zeros(1, 1).expand(weights[name].shape)
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")


def one_storage(folder: Path) -> None:
    changed("config.json", lambda c: c.update(encoder_layers=200, decoder_layers=200))(folder)


def linked(name: str, target: str) -> Callable[[Path], None]:
    """Return a fault: a file that is a link."""

    def fault(folder: Path) -> None:
        (folder.parent / "secret").write_text("secret")
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return fault


def piped(folder: Path) -> None:
    (folder / "source.spm").unlink()
    os.mkfifo(folder / "source.spm")


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (truncated, "model.safetensors is damaged"),
    "other shapes": (
        changed("config.json", lambda c: c.update(encoder_ffn_dim=64, decoder_ffn_dim=64)),
        "of shape",
    ),
    "fewer layers": (without_a_layer, "no weights model.encoder.layers.1.fc1.weight"),
    "unknown weights": (with_more, "not known, such as model.adapter.weight"),
    "not finite": (not_finite, "infinite or not numbers"),
    "code": (with_code, "code in it, which was not run"),
    "no end": (
        changed("config.json", lambda c: c.update(eos_token_id=9999)),
        "without an end mark",
    ),
    "no settings": (
        changed("config.json", lambda c: c.pop("d_model")),
        "config.json: d_model is missing",
    ),
    "pre-norm": (
        changed("config.json", lambda c: c.update(normalize_before=True)),
        "normalize_before",
    ),
    "odd ids": (changed("vocab.json", lambda c: c.update(x=9999)), "missing or repeated ids"),
    "no tokens": (lambda folder: (folder / "source.spm").unlink(), "source.spm"),
    "bad tokens": (
        lambda folder: (folder / "source.spm").write_bytes(b"\x0a\xff\x01"),
        "SentencePiece",
    ),
    "expanded": (expanded, "other things than whole tensors"),
    "more layers than weights": (one_storage, "describes .* weights, more than its files have"),
    "pipe": (piped, "source.spm is not a regular file"),
    "device": (linked("source.spm", "/dev/zero"), "source.spm is not a regular file"),
    "link": (linked("README.md", "../secret"), "README.md is a link to a file outside"),
}


@pytest.mark.parametrize(("fault", "said"), FAULTS.values(), ids=[*FAULTS])
def test_a_fault_is_one_line_and_nothing_is_left(
    folder: Path, fault: Callable[[Path], object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    fault(folder)
    with pytest.raises(ModelError, match=said) as found:
        add(folder)
    assert "\n" not in str(found.value)
    assert not (user_folder() / "m").exists() and [*user_folder().iterdir()] == []
    assert not (folder / "was_run").exists()


def test_weights_that_are_only_in_pytorchs_file_and_in_fp16_stay_fp16(
    folder: Path, tmp_path: Path
) -> None:
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(
        {name: tensor.half() for name, tensor in weights.items()}, folder / "pytorch_model.bin"
    )
    (tmp_path / "back").mkdir()
    import_model(folder, tmp_path / "back", name="m")
    stored = load_file(tmp_path / "back" / "model.safetensors")
    assert {tensor.dtype for tensor in stored.values()} == {torch.float16}
    assert load(tmp_path / "back", "translate").model.output.weight.dtype == torch.float32


@pytest.mark.parametrize("seed", range(60))
def test_damaged_settings_and_tokens_are_one_line(folder: Path, seed: int) -> None:
    random = Random(f"marian {seed}")
    damage(random.choice(sorted(folder.glob("*.json"))), random)
    try:
        add(folder)
    except ModelError as error:
        assert "\n" not in str(error)
        assert [*user_folder().iterdir()] == []


MAX_FILE_BYTES = 50_000  # bytes of a file: the weights need more


class Full(Program):
    """The command line where no file can grow beyond MAX_FILE_BYTES bytes."""

    @staticmethod
    def _run(*given: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, MAX_FILE_BYTES))
        Program._run(*given)  # type: ignore[arg-type]


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    published.marian(tmp_path / "opus", learns=False)
    home = {"XDG_DATA_HOME": str(tmp_path / "home")}
    program = Full(["models", "add", str(tmp_path / "opus")], changes=home)
    _, said = program.communicate()
    last = said.splitlines()[-1]
    assert program.returncode == 1 and last.startswith("attn: cannot write"), said
    assert "Traceback" not in said
    assert [path for path in (tmp_path / "home").rglob("*") if path.is_file()] == []

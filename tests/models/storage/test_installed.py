"""A name finds a model by a fixed precedence; for an unknown one, near names are suggested."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from models.core.errors import ModelError
from models.storage import installed
from models.storage.installed import default_model, find_model


@pytest.fixture
def spots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Empty places, so that nothing of this machine is found."""
    folders = {name: tmp_path / name for name in ("here", "user", "one", "two", "box")}
    for folder in folders.values():
        folder.mkdir()
    monkeypatch.chdir(folders["here"])
    monkeypatch.setenv("XDG_DATA_HOME", str(folders["user"]))
    monkeypatch.setenv("ATTN_MODELS", f"{folders['one']}{os.pathsep}{folders['two']}")
    monkeypatch.setattr(installed, "BOX", folders["box"])
    models = folders["user"] / "attn" / "models"
    models.mkdir(parents=True)
    return {**folders, "user": models, "runs": folders["here"] / "runs"}


def put(bundle: Path, place: Path, name: str) -> Path:
    shutil.copytree(bundle, place / name)
    return place / name


def test_places_are_searched_in_order(tiny_bundle: Path, spots: dict[str, Path]) -> None:
    for place in ("box", "two", "one", "user", "runs", "here"):
        folder = put(tiny_bundle, spots[place], "small")
        assert find_model("small").resolve() == folder.resolve()


def test_a_path_is_returned_as_it_is(tiny_bundle: Path, spots: dict[str, Path]) -> None:
    put(tiny_bundle, spots["box"], "small")
    assert find_model("./small") == Path("./small")
    assert find_model(tiny_bundle) == tiny_bundle
    assert find_model("none/such") == Path("none/such")


def test_a_folder_without_a_model_does_not_hide_one(
    tiny_bundle: Path, spots: dict[str, Path]
) -> None:
    (spots["here"] / "photos").mkdir()
    assert find_model("photos") == Path("photos")  # reading it reports that it is no model
    folder = put(tiny_bundle, spots["box"], "photos")
    assert find_model("photos") == folder


def test_an_unknown_name_is_reported_with_near_ones(
    tiny_bundle: Path, soft_captioner: Path, spots: dict[str, Path]
) -> None:
    with pytest.raises(ModelError, match="no model 'everydya'.*attn train"):
        find_model("everydya")
    put(tiny_bundle, spots["box"], "everyday")
    with pytest.raises(ModelError, match="did you mean everyday"):
        find_model("everydya")
    put(soft_captioner, spots["box"], "photos")
    with pytest.raises(ModelError, match="one of everyday$"):
        find_model("other", "translate")


def test_the_shipped_model_of_a_task_is_the_default(
    tiny_bundle: Path, soft_captioner: Path, spots: dict[str, Path]
) -> None:
    for name, age in (("old", 3), ("new", 1), ("mid", 2)):
        folder = put(tiny_bundle, spots["runs"], name)
        os.utime(folder / "model.safetensors", (10**9 - age, 10**9 - age))
    put(soft_captioner, spots["user"], "seen")
    with pytest.raises(ModelError, match="no model given") as one:
        default_model("translate")
    assert "runs/new, runs/mid, runs/old" in str(one.value) and "seen" not in str(one.value)
    with pytest.raises(ModelError, match="one of seen"):
        default_model("caption")
    put(tiny_bundle, spots["runs"], "everyday")
    folder = put(tiny_bundle, spots["box"], "everyday")
    assert default_model("translate") == folder


def test_a_packed_model_is_not_a_folder(spots: dict[str, Path]) -> None:
    Path("small.zip").write_bytes(b"")
    with pytest.raises(ModelError, match="attn models add small.zip"):
        find_model("small.zip")

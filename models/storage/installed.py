"""Names of models on disk, and the folders that contain them.

A model given as NAME is the first of these that exists:

    NAME                 a path; a plain name only if that folder is a bundle
    ./runs/NAME          a run
    $XDG_DATA_HOME/attn/models/NAME      installed by the user (`attn models add`)
    FOLDER/NAME          for every folder in ATTN_MODELS, separated as in PATH
    models/pretrained/NAME               shipped with attn

Nothing here imports torch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from models.core.errors import InputError, NotFoundError, unknown_name

BOX = Path(__file__).parents[1] / "pretrained"
RUNS = Path("runs")
SEED = re.compile(r"seed-(\d+)")  # name of the folder of a run of a comparison, in its variant's
MODELS_VARIABLE = "ATTN_MODELS"
LISTED = 8  # models named in a message
# used where no model is given
DEFAULTS = {
    **{"translate": "everyday", "caption": "photos", "classify": "languages"},
    "transcribe": "digits",
}


class Place(NamedTuple):
    """A folder that contains models."""

    name: str  # runs, user, ATTN_MODELS or box
    folder: Path


class Installed(NamedTuple):
    """A model on disk."""

    name: str
    place: Place

    @property
    def folder(self) -> Path:
        """The folder of the bundle."""
        return self.place.folder / self.name


def find_model(name: str | Path, task: str = "") -> Path:
    """Return the folder of the model with a name, or the path if it is one.

    Raises NotFoundError for a plain name that no place contains, with near names suggested, of
    models for the task if one is given. A path that does not exist is returned unchanged; reading
    it reports the error.
    """
    if not str(name):
        raise NotFoundError("an empty name of a model", "a name or a folder", "see `attn models`")
    path = Path(name)
    if path.suffix == ".zip" and path.is_file():
        raise InputError(
            f"{path} is a packed model", "a folder", f"install it with `attn models add {path}`"
        )
    is_path = str(name).startswith(".") or "/" in str(name) or os.sep in str(name)
    if is_path or is_bundle(path):
        return path
    for place in places():
        if is_bundle(place.folder / name):
            return place.folder / name
    if path.exists():
        return path
    models = _for_task(task) if task else installed()
    known = list(dict.fromkeys(model.name for model in models))
    if not known:
        raise NotFoundError(
            f"no model '{name}'", "the folder of a model", "train one: `attn train`"
        )
    raise unknown_name("model", str(name), known)


def chosen_model(model: str | Path | None, task: str) -> Path:
    """Return the folder of the named model; of the shipped one for the task if none is named."""
    return find_model(model, task) if model else default_model(task)


def default_model(task: str) -> Path:
    """Return the shipped model that a task (translate, caption, classify) uses where none is given.

    Raises NotFoundError if it is missing; the message lists the models for the task, newest run
    first.
    """
    folder = BOX / DEFAULTS.get(task, "")
    if is_bundle(folder):
        return folder
    names = [str(m.folder) if m.place.name == "runs" else m.name for m in _for_task(task)]
    if len(names) > LISTED:
        names = [*names[:LISTED], "others, which `attn models` lists"]
    expected = f"-m MODEL, one of {', '.join(names)}" if names else "-m MODEL"
    raise NotFoundError("no model given", expected, "" if names else "train one: `attn train`")


def _for_task(task: str) -> list[Installed]:
    from models.storage.settings import task_of  # reads each config.json

    return [model for model in installed() if task_of(model.folder) == task]


def installed() -> Iterator[Installed]:
    """Yield the models in every place: runs first, newest first; the others by name."""
    for place in places():
        try:
            found = [path for path in place.folder.iterdir() if path.name[0] != "."]
        except OSError:  # no such folder, or not readable
            continue
        found = sorted(filter(is_bundle, found))
        if place.name == "runs":
            found.sort(key=lambda path: -(path / "model.safetensors").stat().st_mtime)
        yield from (Installed(path.name, place) for path in found)


def places() -> list[Place]:
    """Return the folders that contain models, in the order in which names are looked up."""
    listed = filter(None, os.environ.get(MODELS_VARIABLE, "").split(os.pathsep))
    shared = [Place(MODELS_VARIABLE, Path(folder).expanduser()) for folder in listed]
    return [Place("runs", RUNS), Place("user", user_folder()), *shared, Place("box", BOX)]


def shipped_captioner() -> Path:
    """Return the folder of the shipped captioner; raise NotFoundError if it is missing."""
    folder = BOX / DEFAULTS["caption"]
    if not is_bundle(folder):
        raise NotFoundError(
            f"no weights of the image network, because {folder} is missing",
            "the model that is shipped with attn",
            "give a file with -s model.image.weights=PATH",
        )
    return folder


def user_folder() -> Path:
    """Return the folder that `attn models add` installs into."""
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(data).expanduser() / "attn" / "models"


def public_models(language: str = "") -> list[list[str]]:
    """Return rows of recommended public models, the head first; those of a language alone."""
    text = Path(__file__).with_name("public.tsv").read_text("utf-8")
    head, *rows = (line.split("\t") for line in text.splitlines())
    codes = (row[1].lower().replace(",", "").split() for row in rows)
    known = [row for row, own in zip(rows, codes, strict=True) if language.lower() in own]
    return [head, *(known if language else rows)]


def is_bundle(folder: Path) -> bool:
    """Return True if a folder contains a model of this program, not one of another publisher."""
    config = folder / "config.json"
    if not config.is_file() or not (folder / "model.safetensors").is_file():
        return False
    with config.open("rb") as file:
        return b'"model_type"' not in file.read(1 << 20)

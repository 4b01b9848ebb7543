"""Installed models: add, remove, pack and describe them."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from attncli.terminal.messages import Messages, Silent
from attncli.train.folder import RunFolder
from models.core.annexes import find_part
from models.core.config import ImageModelConfig
from models.core.errors import ConfigurationError, ModelError
from models.core.files import check_regular, read_regular, write_folder
from models.core.sources import source_of
from models.storage.archive import (
    About,
    extract_archive,
    read_about,
    write_archive,
)
from models.storage.digests import check_digests, read_digests
from models.storage.installed import find_model, is_bundle, user_folder
from models.storage.settings import (
    CARD,
    WEIGHTS,
    Shared,
    WeightPrecision,
    read_settings,
)

ARCHIVE = ".zip"
LONGEST_NAME = 200  # bytes


class Packed(NamedTuple):
    """The sizes of a model before and after packing, in bytes of weights."""

    path: Path
    before: int
    after: int


class Packing(NamedTuple):
    """Settings of the packing of a model."""

    weights: WeightPrecision = "int8"
    share: str = ""  # model beside the target whose image network is used
    card: Path | None = None  # None: the model's own card
    about: About = About()  # facts that replace those of the model


def pack(model: Path, target: Path, packing: Packing) -> Packed:
    """Write a model as a file NAME.zip or a folder; raise ModelError if that exists."""
    source = find_model(model)
    check_regular(source, inside=True)
    if target.exists() or target.is_symlink():
        raise ModelError(f"{target} exists", "a new file or folder", "remove it first")
    if target.suffix in (".gz", ".tgz", ".tar", ".7z"):
        raise ModelError(f"an archive of the kind {target.suffix}", f"NAME{ARCHIVE}, or a folder")
    if target.suffix != ARCHIVE:
        write_folder(target, lambda part: _save(source, part, packing))
        return Packed(target, _size(source), _size(target))
    if packing.share:
        raise ModelError(f"{target} cannot share weights", "a folder", "leave out --share")
    with tempfile.TemporaryDirectory() as folder:
        _save(source, Path(folder), packing)
        write_archive(Path(folder), target)
        return Packed(target, _size(source), _size(Path(folder)))


def add(
    source: str | Path,
    name: str = "",
    *,
    revision: str = "",
    sample: Path | None = None,
    messages: Messages | None = None,
) -> Path:
    """Install a packed model, a copy of a bundle's folder, or a public model.

    source: a path, or a name of the Hugging Face hub. name: of the installed model; by default that
    of the file. revision: of the hub. sample: source texts, one a line, by which the attention head
    that aligns best is chosen; the default for English is the embedded grammar. messages: report
    the conversion and this choice. Raises ModelError if the name is taken, or the model is damaged;
    nothing is installed then.
    """
    hub = find_part("importer", "hub")
    path, source = Path(source), str(source)
    target = user_folder() / _checked_name(name or (path.name if path.is_dir() else path.stem))
    if target.exists():
        raise ModelError(
            f"a model named {target.name} is installed", "a new name", "choose one with --name"
        )
    if hub and hub.is_hub_name(source):
        path = hub.fetch(source, revision)
    elif revision:
        raise ModelError(f"--revision {revision} of {source}", "a name of the hub")
    write_folder(target, lambda part: _install(path, part, source, sample, messages or Silent()))
    return target


def remove(name: str) -> Path:
    """Remove a model from the user folder and return its folder."""
    folder = user_folder() / _checked_name(name)
    if folder.is_symlink() or not is_bundle(folder):
        raise ModelError(f"no model {name} in {user_folder()}", "one that was added before")
    shutil.rmtree(folder)
    return folder


def verify(folder: Path) -> str:
    """Compare a model with its digests and load it; return a remark, "" if there is none.

    The checkpoints and the prepared data of a run folder are compared with theirs, too.
    Raises ModelError for what is damaged.
    """
    from attncli.train.folder import check_stored
    from models.networks.bundle import read

    read(folder)
    digests = read_digests(folder)
    check_digests(folder, [name for name in digests if "/" not in name])
    check_stored(RunFolder(folder))
    return "" if digests else "no digests"


def _save(source: Path, folder: Path, packing: Packing) -> None:
    from models.networks.bundle import read, save

    old, new = read_about(read_settings(source)), packing.about
    about = old._replace(**{name: value for name, value in new._asdict().items() if value})
    bundle = read(source)
    config = bundle.model.config
    if isinstance(config, ImageModelConfig) and config.image.weights not in ("DEFAULT", "none"):
        image = dataclasses.replace(config.image, weights="DEFAULT")  # the bundle contains them
        bundle.model.config = dataclasses.replace(config, image=image)
    save(
        bundle,
        folder,
        card=_card(packing.card or source / CARD, packing.card is not None),
        weights=packing.weights,
        about=about.to_dict(),
        shared=_shared(bundle.model.config.family, packing.share),
    )


def _shared(family: str, bundle: str) -> Shared | None:
    """Return the weights that a model of this family takes from another bundle; None: none."""
    if not bundle:
        return None
    source = source_of(family)
    if not source.shared_weights:
        raise ConfigurationError(
            f"a model of family {family}, which {source.ability}",
            "a model with an image network, which several models can share",
            "leave out --share",
        )
    return Shared(bundle, source.shared_weights)


def _card(path: Path, required: bool) -> str:
    try:
        return read_regular(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        if not required:
            return ""
        raise ModelError(f"cannot read {path} ({error})", "a card in Markdown") from None


def _install(
    path: Path, folder: Path, source: str, sample: Path | None, messages: Messages
) -> None:
    """Write a bundle into a folder."""
    from models.networks.bundle import read

    importer = find_part("importer", "files")
    if not path.exists():
        raise ModelError(
            f"no file {path}",
            "a file made by `attn models pack`, a public model, or a name of the hub as owner/name",
        )
    check_regular(path, inside=True)
    if importer and importer.is_published(path):
        with messages.progress(f"converting {path.name}", total=1.0) as advance:
            importer.import_model(path, folder, name=source, advance=advance)
        if chosen := find_part("importer", "heads").with_head(folder, sample):
            messages.say(chosen)
    elif path.is_dir():
        is_int8 = read_settings(path).get("weights") == "int8"
        _save(path, folder, Packing(weights="int8" if is_int8 else "fp32"))
    else:
        extract_archive(path, folder)
        read(folder)


def _checked_name(name: str) -> str:
    is_shown = name.isprintable() and name == name.strip() and name[:1] not in ("", ".", "-")
    if not is_shown or set(name) & set("/\\") or len(name.encode()) > LONGEST_NAME:
        expected = f"letters, digits and dashes, at most {LONGEST_NAME} bytes"
        raise ModelError(f"the name {name[:LONGEST_NAME]!r} of a model", expected)
    return name


def _size(folder: Path) -> int:
    return (folder / WEIGHTS).stat().st_size

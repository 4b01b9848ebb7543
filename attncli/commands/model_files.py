"""``attn models pack``, ``export``, ``add``, ``remove`` and ``verify``: models on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from attncli.jobs import installed as models
from attncli.jobs.installed import Packing
from attncli.options.settings import SetOption, read_settings
from attncli.render.columns import size
from attncli.terminal import console
from models.base.errors import ModelError
from models.base.settings import option
from models.catalogue.installed import find_model, installed
from models.inference.ctranslate2.engines import ComputePrecision
from models.storage.about import About
from models.storage.settings import WeightPrecision

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model: its name or folder.")]
Target = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="File to write, NAME.zip; any other name is a folder."),
]
StoredPrecision = Annotated[
    WeightPrecision,
    typer.Option("--precision", help="Precision of the weights; int8 has one scale per row."),
]
Share = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Captioners: take the image network from this model in the same folder, which must "
        "have the same weights. Folders only.",
    ),
]
Card = Annotated[
    Path | None, typer.Option(help="Model card, Markdown. Default: the model's own card.")
]


@dataclass(frozen=True)
class AboutSettings:
    """Facts about a model, for `attn models`. Empty: those stored with the model."""

    summary: str = option("", "one line about the model")
    languages: tuple[str, ...] = option((), "its languages, separated by commas")
    licence: str = option("", "its licence")
    score: str = option("", "a score with its test set")


@dataclass(frozen=True)
class PackTables:
    """Tables of `attn models pack`."""

    about: AboutSettings = option(AboutSettings, "facts about the model")


Set = Annotated[list[str] | None, SetOption(PackTables, example="about.languages=de,en")]


def pack(
    model: Model,
    target: Target,
    *,
    precision: StoredPrecision = "int8",
    share: Share = "",
    card: Card = None,
    set: Set = None,
) -> None:
    """Write a model as one small file.

    The file has everything that is needed to use the model. `attn models add` installs it. Weights
    in int8 take about a quarter of the size of fp32. Facts that are not given are those stored with
    the model.

    Example:
      attn models pack runs/en-de en-de.zip -s about.languages=en,de -s "about.licence=CC BY 2.0"
      attn models pack runs/captions models/pretrained/photos --card card.md
    """
    given = read_settings(PackTables, set).tables.about
    languages = tuple(name.strip() for name in given.languages)
    about = About(given.summary, languages, given.licence, given.score)
    packed = models.pack(model, target, Packing(precision, share, card, about))
    console.say(f"wrote {packed.path}: weights {size(packed.before)} to {size(packed.after)}")


def export(
    model: Model,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="New folder to write.")],
    *,
    precision: Annotated[ComputePrecision, typer.Option(help="Precision of the weights.")] = "fp32",
) -> None:
    """Write a text Transformer for CTranslate2.

    The folder has the model, the SentencePiece model of its
    tokens, and the model card. See docs/export.md.

    Example:
      attn models export everyday everyday-ct2 --precision int8
    """
    from models.inference.ctranslate2.export import export as write  # imports torch

    write(find_model(model), folder, precision)
    console.say(f"wrote {folder}, a model for CTranslate2")


def add(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="File that `attn models pack` wrote, or a public model."
        ),
    ],
    *,
    name: Annotated[
        str, typer.Option(help="Name of the installed model. Default: that of the file.")
    ] = "",
) -> None:
    """Install a packed or public model into the user folder.

    The folder is $XDG_DATA_HOME/attn/models (default ~/.local/share/attn/models). SOURCE is a file
    of `attn models pack`, the folder of a run or bundle, which is copied, or the folder or archive
    of a public model (OPUS-MT and others: docs/public-models.md), which is converted.

    Example:
      attn models add en-de.zip
    """
    folder = models.add(path, name)
    console.say(f"installed {folder.name} in {folder.parent}")


def remove(
    name: Annotated[str, typer.Argument(help="Name of a model in the user folder.")],
) -> None:
    """Remove a model that `attn models add` installed.

    Example:
      attn models remove en-de
    """
    console.say(f"removed {models.remove(name)}")


def verify(
    model: Annotated[
        Path | None,
        typer.Argument(metavar="MODEL", help="Model: its name or folder. Default: all models."),
    ] = None,
) -> None:
    """Check models for damage: digests, settings, weights.

    Every file is compared with its SHA-256 digest, and the model is loaded. The checkpoints and the
    prepared data of a run are checked as well and, without MODEL, the caches of image features.
    Exit status 1 if something is damaged.

    Example:
      attn models verify everyday
      attn models verify
    """
    from attncli.data.images.features import cache_folder, verify_cache  # imports numpy

    folders = [find_model(model)] if model else [found.folder for found in installed()]
    checks: list[tuple[Path, Callable[[Path], str | None]]] = [(f, models.verify) for f in folders]
    if model is None:
        caches = sorted((cache_folder() / "features").glob("*/about.json"))
        checks += [(path.parent, verify_cache) for path in caches]
    failed = 0
    for folder, check in checks:
        try:
            remark = check(folder)
        except ModelError as error:
            console.warn(str(error))
            failed += 1
        else:
            typer.echo(f"{folder}: ok{f' ({remark})' if remark else ''}")
    if failed:
        raise typer.Exit(1)

"""``attn evaluate --captions``: parse, caption or read, score, write the table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from attncli import console
from attncli.commands.evaluate_options import MODEL_NAME
from attncli.data.pictures import open_pictures
from attncli.data.streams import open_output
from attncli.jobs import loading
from attncli.jobs.evaluate_captions import (
    caption_test_set,
    find_pictures,
    read_caption_set,
    read_caption_system,
)
from attncli.jobs.loading import OpenOptions
from attncli.render.caption_scores import caption_scores_as_json, caption_scores_as_text
from attncli.scoring.caption_systems import CaptionSet, CaptionSystem, evaluate_captions
from attncli.scoring.meteor import why_not

if TYPE_CHECKING:
    pass

Part = Literal["train", "dev", "test"]
Images = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR|TAR", help="Score captions of these pictures instead; files are captions."
    ),
]
Captions = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Score captions instead, against these: picture, tab, caption; also token files, "
        "CSV, Karpathy's and COCO's JSON.",
    ),
]
CaptionsPart = Annotated[
    Part | None, typer.Option("--part", help="Of captions with splits, these (default: test).")
]


class WantedCaptions(NamedTuple):
    """What is to be scored, and how it is made."""

    captions: Path
    part: Part | None
    images: Path | None
    models: list[Path]  # folders
    names: list[str]  # of them
    hypotheses: list[Path]
    save: Path | None
    options: OpenOptions  # of every model


def captions_file(captions: Path | None, files: list[Path] | None) -> Path:
    """The file of captions, which --captions names or, with --images, an argument."""
    given = [*filter(None, [captions]), *(files or [])]
    if len(given) != 1:
        raise typer.BadParameter("one file of captions", param_hint="'--captions'")
    return given[0]


def score_captions(wanted: WantedCaptions, *, json: bool) -> None:
    """Score the captions of models and files against what people said."""
    if wanted.models and not wanted.images:
        raise typer.BadParameter("a model needs the pictures", param_hint="'--images'")
    test = read_caption_set(wanted.captions, wanted.part or "")
    files = [read_caption_system(path, test) for path in wanted.hypotheses]
    systems = [*_of_models(wanted, test), *files]
    if missing := why_not():
        console.say(f"{missing}; left out")
    render = caption_scores_as_json if json else caption_scores_as_text
    with open_output(None) as write:
        write(render(evaluate_captions(systems, test), test).encode())


def _of_models(wanted: WantedCaptions, test: CaptionSet) -> Iterator[CaptionSystem]:
    if not wanted.models or not wanted.images:
        return
    pictures = find_pictures(test, open_pictures(wanted.images))
    for name, folder in zip(wanted.names, wanted.models, strict=True):
        captioner = loading.open_captioner(folder, wanted.options)
        search = captioner.search
        with console.progress(f"captioning, {name}", total=len(pictures)) as advance:
            system = caption_test_set(name, pictures, captioner, search=search, advance=advance)
        if wanted.save:
            _write(system, test, wanted.save)
        yield system


def _write(system: CaptionSystem, test: CaptionSet, save: Path) -> None:
    """The captions as a table, which --hypotheses reads."""
    rows = zip(test.images, (" ".join(text.split()) for text in system.captions), strict=True)
    with open_output(Path(str(save).replace(MODEL_NAME, system.name))) as write:
        write("".join(f"{image}\t{text}\n" for image, text in rows).encode("utf-8", "replace"))

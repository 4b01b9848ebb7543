"""Options of ``attn evaluate`` and its sub-commands, and checks that they share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from attncli.data.lines import open_text
from attncli.data.streams import check_output, open_output
from attncli.options.shared import MODEL
from attncli.terminal.messages import counted
from models.base.errors import ModelError
from models.catalogue.installed import default_model

MODEL_NAME = "{model}"  # placeholder in the name of a file of outputs

Models = Annotated[
    list[Path] | None,
    typer.Option(
        "--model",
        "-m",
        help="Model to score: its name (`attn models` lists them) or the folder of a run or "
        f"bundle. May be repeated. [env: {MODEL}]",
    ),
]
Save = Annotated[
    Path | None,
    typer.Option(help="Write the outputs of the model to this file; {model} is its name."),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON instead of tables.")]


def folders_of(
    models: list[Path] | None, hypotheses: list[Path] | None, task: str = "translate"
) -> list[Path]:
    """Return the models given; without outputs to score, that of the environment or of the box."""
    default = os.environ.get(MODEL, "")
    if models or hypotheses:
        return models or []
    if not default:
        return [default_model(task)]
    return [Path(folder) for folder in default.split(os.pathsep) if folder]


def check_save(folders: list[Path], save: Path | None) -> None:
    """Refuse a file of outputs that cannot be written, before any work."""
    if save and not folders:
        raise typer.BadParameter("needs --model", param_hint="'--save'")
    if save and len(folders) > 1 and MODEL_NAME not in str(save):
        raise typer.BadParameter(
            f"one file for several models; put {MODEL_NAME} into its name", param_hint="'--save'"
        )
    check_output(save)


def save_outputs(save: Path | None, model: str, outputs: Iterable[str]) -> None:
    """Write the outputs of one model, a line each, to the file of --save if it is given."""
    if save:
        with open_output(Path(str(save).replace(MODEL_NAME, model))) as write:
            write("".join(f"{output}\n" for output in outputs).encode("utf-8", "replace"))


def read_outputs(path: Path, count: int) -> list[str]:
    """Return the outputs of another program, one a line; raise ModelError unless `count`."""
    with open_text(path) as lines:
        outputs = list(lines)
    if len(outputs) != count:
        found = f"{path} has {counted(len(outputs), 'line')}"
        raise ModelError(found, f"{count:,}, one for each of the test set")
    return outputs

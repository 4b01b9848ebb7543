"""Files of `attn train`: ``--dev`` takes all values up to the next option."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from attncli.options.help_page import HelpPage
from attncli.training.run.command_line import InputFiles
from models.base.errors import ModelError

DEV = "--dev"
ARGUMENTS = "attn.arguments"  # of the context: the arguments as they were given


class TrainCommand(HelpPage):
    """A command whose ``--dev`` takes all values that follow."""

    spread: tuple[str, ...] = (DEV,)  # options that take all values that follow

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments with one such option before each of its values."""
        ctx.meta[ARGUMENTS] = list(args)
        return super().parse_args(ctx, spread(args, self.spread))


def run_folder(files: list[Path]) -> tuple[Path | None, list[Path]]:
    """Return the run's folder if it is the only argument, and the files, its config.toml then."""
    if len(files) != 1 or not files[0].is_dir():
        return None, files
    folder = files[0]
    if not (folder / "config.toml").is_file():
        raise ModelError(
            f"{folder} is a folder without config.toml",
            "files of sentence pairs, or the folder of a run",
            "give images with --images and --captions",
        )
    return folder, [folder / "config.toml"]


def spread(args: list[str], options: Sequence[str] = (DEV,)) -> list[str]:
    """Return the arguments with ``--dev a b`` written as ``--dev a --dev b``."""
    found: list[str] = []
    option = ""  # the option that takes the next value
    for position, value in enumerate(args):
        if value == "--":
            return found + args[position:]
        follows = option and not value.startswith("-")
        if not follows:
            option = value if value in options else ""
        found += [option, value] if follows and found[-1] != option else [value]
    return found


def check_run_folder(path: Path | None) -> None:
    """Raise ModelError if the folder of a run is a file."""
    if path and path.exists() and not path.is_dir():
        raise ModelError(f"{path} is a file", "a new folder, or that of the run")


def split_dev(dev: list[Path], inputs: InputFiles) -> tuple[list[Path], InputFiles]:
    """Return the dev files of sentence pairs, and the inputs with a dev file of another kind."""
    if not dev or not (inputs.captions or inputs.labels):
        return dev, inputs
    if len(dev) > 1:
        raise typer.BadParameter(f"one file, found {len(dev)}", param_hint=f"'{DEV}'")
    kind = "dev_captions" if inputs.captions else "dev_labels"
    return [], inputs._replace(**{kind: dev[0]})

"""The commands of attn, and how a run of it ends.

A command is one line of ``COMMANDS``: its name, where it is, and its help. Listing the commands
imports none of them, so ``attn --help`` answers in a blink; the one that is called is imported
then. The place is a function, or a ``typer.Typer`` with commands of its own. What follows
``Example:`` in a docstring is shown at the end of the command's help.
"""

from __future__ import annotations

import errno
import importlib
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any, NamedTuple

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from attncli import __version__, console
from models.errors import ModelError


class Command(NamedTuple):
    """A line of the command table."""

    place: str  # "module:function" or "module:Typer application"
    help: str


COMMANDS = {  # "align tune" is a command of its own under another that has arguments
    "train": Command("attncli.commands.train:train", "Train a model on sentence pairs."),
    "translate": Command("attncli.commands.translate:translate", "Translate text, line by line."),
    "caption": Command("attncli.commands.caption:caption", "Caption pictures."),
    "align": Command("attncli.commands.align:align", "Align words; show what was looked at."),
    "align tune": Command(
        "attncli.commands.align_tune:tune", "Choose how attention is read, by gold links."
    ),
    "evaluate": Command("attncli.commands.evaluate:evaluate", "Score a model: BLEU, chrF, TER."),
    "models": Command("attncli.commands.models:models", "List families, presets and scores."),
}


# Threads that wait for work sleep, before torch is imported anywhere: spinning, as is the default,
# gains nothing measurable on an idle machine and costs several times the work on a busy one.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # never the program's mistake


def main() -> None:
    """Run the command line and exit with its status."""
    console.drop_undeliverable()
    status = 130
    with suppress(KeyboardInterrupt):  # one that came before or after a command
        status = run()
    status = status if _deliver() else status or 1
    if threading.active_count() > 1:  # one interrupted inside C++, which would abort the clean-up
        os._exit(status)
    sys.exit(status)


def run(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit status. A bug keeps its traceback."""
    try:
        application()(arguments, prog_name="attn")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        console.warn(f"cannot write: {error.strerror}; expected a disk with room")
        return 1
    return 0


def application() -> Any:
    """The whole command line as a click group, its commands not imported yet."""
    app = typer.Typer(cls=CommandTable, no_args_is_help=True)
    app.callback()(attn)
    group: Any = typer.main.get_command(_plain(app))
    for name, command in COMMANDS.items():  # the stand-ins
        group.add_command(TyperCommand(name, help=command.help, rich_markup_mode=None))
    return group


class CommandTable(TyperGroup):
    """A group whose commands are stand-ins with a name and a help until one is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that was called; unknown names are refused before that."""
        if " ".join(args[:2]) in COMMANDS:
            args = [" ".join(args[:2]), *args[2:]]
        name, stand_in, rest = super().resolve_command(ctx, args)
        return name, stand_in and load_command(stand_in.name or ""), rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what ends it other than a bug becomes an exit status."""
        with _exit_statuses():
            return super().invoke(ctx)


def load_command(name: str) -> Any:
    """The click command of a line of the table, imported."""
    module, _, attribute = COMMANDS[name].place.partition(":")
    place = getattr(importlib.import_module(module), attribute)
    if isinstance(place, typer.Typer):
        return typer.main.get_group(_plain(place))
    app = typer.Typer(add_completion=False)
    app.command(name, cls=getattr(place, "command_class", None))(place)
    return typer.main.get_command(_plain(app))


def _plain(app: typer.Typer) -> typer.Typer:
    """The application without Rich in its help, the examples of its docstrings at the end."""
    app.rich_markup_mode = None
    documented: list[Any] = [*app.registered_commands, app.registered_callback]
    for info in documented:
        if info and info.callback:
            info.help, info.epilog = _help_and_example(info.callback)
    return app


def _help_and_example(function: Callable[..., Any]) -> tuple[str, str]:
    about, _, example = (inspect.getdoc(function) or "").partition("\n\nExample:\n")
    return about, f"\b\nExample:\n{example}" if example else ""


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"attn {__version__}")
        raise typer.Exit


def attn(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version)
    ] = False,
) -> None:
    """Attention in the terminal: train, translate, caption, evaluate, look inside.

    Example:
      echo "The old dog sees a small house." | attn translate -m runs/demo
    """


@contextmanager
def _exit_statuses() -> Iterator[None]:
    """A user's mistake is one line and 1, Ctrl-C is 130, a closed pipe is no mistake."""
    try:
        yield
    except ModelError as error:
        console.fail(error)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except BrokenPipeError:
        raise typer.Exit(0) from None


def _deliver() -> bool:
    """Flush stdout. Return False if results are lost because they cannot be written.

    A reader that has closed the pipe wants no more results; that is no loss.
    """
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError) as error:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        if isinstance(error, BrokenPipeError):
            return True
        console.warn(f"cannot write standard output: {getattr(error, 'strerror', '') or error}")
        return False
    return True

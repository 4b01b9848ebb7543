"""The command line `attn`."""

from __future__ import annotations

import atexit
import errno
import inspect
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, NoReturn

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from attncli.data.streams import FOLDERS
from attncli.options.fields import HelpPage, function_of, parameter
from attncli.options.shared import convert_quickly
from attncli.task.table import task_commands
from attncli.terminal import console
from attncli.version import __version__
from models.core.annexes import entries
from models.core.errors import ModelError, exhausted, is_exhausted

# SIGTERM and SIGHUP: a command ends as after Ctrl-C, and removes its temporary files.
#
# The process then ends itself by the same signal, so that its parent sees the usual exit status. A
# signal that is ignored (`nohup`) stays ignored. A training has its own handlers (`train_stop`).


SIGNALS = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP
GRACE = 1.0  # seconds in which further signals are ignored; `timeout` sends each signal twice
# A command's place is "module:function". Two words are a command under another command.
COMMANDS = {
    "train": "attncli.train.command:TrainCommand",
    **task_commands(scoring=False),
    **task_commands(scoring=True),
    "runs": "attncli.catalogue.runs_command:list_runs",
    "runs prune": "attncli.catalogue.runs_command:prune",
    "models": "attncli.catalogue.command:list_models",
    "models show": "attncli.catalogue.command:show",
    "models pack": "attncli.catalogue.command:pack",
    "models export": "attncli.catalogue.command:export",
    "models add": "attncli.catalogue.command:add",
    "models remove": "attncli.catalogue.command:remove",
    "models verify": "attncli.catalogue.command:verify",
    **entries("command"),
}
GROUPS = {  # commands in `attn --help`, which names the others in one line
    "Use": [
        *("translate", "classify", "caption", "transcribe", "align", "explain", "serve", "bulk")
    ],
    "Train and score": ["train", "align train", "evaluate", "models compare", "runs"],
    "Models": [
        "models",
        *(f"models {name}" for name in ["show", "add", "pack", "export"]),
    ],
}
COMPLETING = "_ATTN_COMPLETE"  # set by the shell while it completes a line
KINDS_OF_PARTS = "attncli.catalogue.command:KINDS"  # `attn models KIND` shows one

Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Report problems only: no remarks, no progress.")
]
USAGE: Any = typer.BadParameter.__base__  # any error in the words of a command line
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a full disk: not a bug
OF_FILES = (*NO_ROOM, errno.EIO, errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP)


class Termination:
    """Signal that ends the program, once it has been received."""

    def __init__(self) -> None:
        self.number = 0  # of the signal; 0 before one is received
        self.received = 0.0  # by time.monotonic
        self._handled: list[int] = []

    def handle_signals(self) -> None:
        """Handle the signals that would end the process at once."""
        for name in SIGNALS:
            number = getattr(signal, name, signal.SIGTERM)
            # a signal that the parent ignores (nohup) or handles stays so
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, self.interrupt)
                self._handled.append(number)

    def interrupt(self, number: int, frame: object) -> None:
        """Interrupt the command as Ctrl-C does; end the process if the clean-up takes too long."""
        if not self.number:
            self.number, self.received = number, time.monotonic()
            raise KeyboardInterrupt
        if time.monotonic() - self.received > GRACE:
            self.end_process()

    def end_process(self) -> None:
        """End the process by the signal that was received.

        If there was none, return; the next one then ends the process at once.
        """
        for number in self._handled:
            signal.signal(number, signal.SIG_DFL)
        if self.number:
            signal.raise_signal(self.number)


# Waiting threads sleep instead of spinning (OpenMP's default). Spinning gives no measurable gain on
# an idle machine and multiplies the time on a busy one. This is set before torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def main() -> None:
    """Run the command line and exit with its status, or by the signal that ended it."""
    console.drop_undeliverable()
    termination = Termination()
    status = 130
    with suppress(KeyboardInterrupt):  # Ctrl-C before or after a command
        termination.handle_signals()
        status = run()
    termination.end_process()
    _end(status)


def _end(status: int) -> NoReturn:
    """Exit without freeing every object and module, which takes a fifth of a short run.

    A thread that was interrupted in C++ would also abort the clean-up. A profiler, a debugger and
    `python -i` get the usual exit, because they work on after it.
    """
    monitoring = getattr(sys, "monitoring", None)  # cProfile uses it from Python 3.12 on
    is_profiled = monitoring and monitoring.get_tool(monitoring.PROFILER_ID)
    if is_profiled or sys.getprofile() or sys.gettrace() or sys.flags.interactive:
        sys.exit(status if _deliver() else status or 1)
    sys.unraisablehook = _report_at_exit
    atexit._run_exitfuncs()  # may write to stdout
    status = status if _deliver() else status or 1
    with suppress(OSError, ValueError, AttributeError):  # stderr may be closed or None
        sys.stderr.flush()
    os._exit(status)


def _report_at_exit(fault: sys.UnraisableHookArgs) -> None:
    """Report what fails at the end of the program, unless the memory is exhausted."""
    if fault.exc_value is None or not is_exhausted(fault.exc_value):
        sys.__unraisablehook__(fault)


def run(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit status. A bug keeps its traceback."""
    # several command lines may run in one process, as in tests
    console.be_quiet(False)
    try:
        application()(arguments, prog_name="attn")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except OSError as error:
        # other faults of the system are bugs, whose traceback helps
        if error.errno not in OF_FILES:
            raise
        expected = "a disk with free space" if error.errno in NO_ROOM else "another file or name"
        verb = "write" if error.errno in NO_ROOM else f"use {error.filename or 'a file'}"
        console.warn(f"cannot {verb}: {error.strerror}; expected {expected}")
        return 1
    return 0


def application() -> Any:
    """Return the whole command line as a click group; no command is imported yet."""
    app = typer.Typer(
        cls=CommandTable,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},  # of all commands
    )
    about, example = _help_and_example(attn)
    app.callback(help=about, epilog=example)(attn)
    group: Any = typer.main.get_command(app)
    for name in COMMANDS:
        group.add_command(StandIn(name, rich_markup_mode=None))
    return convert_quickly(group)


class StandIn(TyperCommand):
    """A command that is listed but not imported."""

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the first line of the command's docstring."""
        return summary(self.name or "")


class CommandTable(TyperGroup):
    """A group of placeholders; a command is imported when it is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that was called; unknown names are refused before that."""
        if " ".join(args[:2]) in COMMANDS:
            args = [" ".join(args[:2]), *args[2:]]
        name, stand_in, rest = super().resolve_command(ctx, args)
        if stand_in is None:  # typer accepts this while it completes a line in the shell
            return name, stand_in, rest
        command = load_command(stand_in.name or "")
        takes_words = any(param.param_type_name == "argument" for param in command.params)
        is_group = any(other.startswith(f"{stand_in.name} ") for other in COMMANDS)
        if rest and is_group and not takes_words and not rest[0].startswith("-"):
            if stand_in.name == "models" and _may_be_shown(rest[0]):
                return self.resolve_command(ctx, ["models", "show", *rest])
            return super().resolve_command(ctx, [" ".join(args[:2])])  # fails, with near names
        return name, command, rest

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words before the command."""
        is_empty = not args
        try:
            return super().parse_args(ctx, args)
        except USAGE as error:
            if is_empty:  # the help is shown
                raise
            raise misused(error) from None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in groups, and the names of the others."""
        for title, names in GROUPS.items():
            with formatter.section(title):
                known = [name for name in names if name in COMMANDS]  # without some annex
                formatter.write_dl([(name, summary(name)) for name in known])
        others = [name for name in COMMANDS if not any(name in names for names in GROUPS.values())]
        with formatter.section("Also"):
            formatter.write_text(", ".join(others))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an exception other than a bug becomes an exit status.

        It is 1 after a user's mistake or exhausted memory (one line), 2 after wrong usage (one
        line), 130 after Ctrl-C, 0 after a closed pipe.
        """
        try:
            return super().invoke(ctx)
        except ModelError as error:
            console.warn(str(error))
            raise typer.Exit(1) from None
        except USAGE as error:
            raise misused(error) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except BrokenPipeError:
            raise typer.Exit(0) from None
        except Exception as error:
            if not is_exhausted(error):
                raise
            console.warn(str(exhausted()))
            raise typer.Exit(1) from None


def misused(error: Any) -> typer.Exit:
    """Report wrong usage in one line; return the exit: 1 for a number out of range, otherwise 2."""
    said = " ".join(error.format_message().split()).rstrip(".")
    where = f"; see `{error.ctx.command_path} --help`" if error.ctx else ""
    if getattr(error, "option_name", "") in ("-r", "--recursive"):
        where = f"; {FOLDERS}"
    console.warn(said[:1].lower() + said[1:] + where)
    return typer.Exit(1 if re.search(r"should be (greater|less) than", said) else 2)


def summary(name: str) -> str:
    """Return the first line of a command's docstring, read from its file without an import.

    A regular expression reads it, because parsing all command files takes 60 ms.
    """
    module, _, function = COMMANDS[name].partition(":")
    path = Path(__file__).parents[1].joinpath(*module.split(".")[1:]).with_suffix(".py")
    found = re.search(
        rf'^(?:def|class) {function}\(.*?^    """(.+?)(?:"""|$)',
        path.read_text("utf-8"),
        re.M | re.S,
    )
    return found[1] if found else ""


def load_command(name: str) -> Any:
    """Import a command of the table and return it as a click command."""
    function = resolve_name(COMMANDS[name])
    about, example = _help_and_example(function)

    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    command_class = getattr(function, "command_class", HelpPage)
    whole = with_quiet(function)
    app.command(name, cls=command_class, help=about + _nested(name), epilog=example)(whole)
    return convert_quickly(typer.main.get_command(app), whole)


def with_quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with the option --quiet and completion, which every command has."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    if COMPLETING in os.environ:
        from attncli.shell._completion import add_completion  # reads the settings classes

        add_completion(parameters)

    def run(*, quiet: bool, **values: Any) -> Any:
        console.be_quiet(quiet)
        if isinstance(function, type):
            return function.of_command(**values).run()  # type: ignore[attr-defined]
        return function(**values)

    return function_of([*parameters, parameter("quiet", False, Quiet)], run)


def _nested(name: str) -> str:
    """Return the commands under a command, as a paragraph of its help."""
    names = [other for other in COMMANDS if other.startswith(f"{name} ")]
    width = max(map(len, names), default=0)
    lines = "".join(f"\n  attn {other:{width}}  {summary(other)}" for other in names)
    return f"\n\n\b\nCommands:{lines}" if names else ""


def _may_be_shown(word: str) -> bool:
    """Return True if `attn models WORD` can mean `attn models show WORD`: no command is near."""
    commands = [name.removeprefix("models ") for name in COMMANDS if name.startswith("models ")]
    return word in resolve_name(KINDS_OF_PARTS) or not get_close_matches(word, commands)


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
    """Train attention models; translate, classify, caption, transcribe, evaluate.

    Example:
      echo "The old dog sees a small house." | attn translate --to de
    """


def _deliver() -> bool:
    """Flush stdout. Return False if results are lost because they cannot be written.

    Results are not lost if the reader has closed the pipe, because it wants no more of them.
    """
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError) as error:
        with open(os.devnull, "wb") as nowhere:
            # or Python's own flush at the exit would fail once more
            os.dup2(nowhere.fileno(), 1)
        if isinstance(error, BrokenPipeError):
            return True
        console.warn(f"cannot write standard output: {getattr(error, 'strerror', '') or error}")
        return False
    return True

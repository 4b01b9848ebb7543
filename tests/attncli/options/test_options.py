"""Options of commands: settings, help pages, pictures, standard input and conversion."""

from __future__ import annotations

import inspect
import io
import re
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Literal

import pytest
import typer
import typer.main

from attncli.options.line_streams import PictureFiles, open_source
from attncli.options.settings import SetOption, listed, names_of
from attncli.options.shared import convert_quickly
from attncli.shell import app
from attncli.translate.engine import TranslateOptions
from models.core.settings import flat, overridden, parse_toml
from tests.attncli.command_line import Attn


def tables_of(command: Callable[..., Any]) -> type | None:
    """Return the class of the tables of a command; None if it has no option -s."""
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        for information in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(information, SetOption):
                return information.tables
    return None


WITH_SETTINGS = [name for name in app.COMMANDS if tables_of(resolve_name(app.COMMANDS[name]))]


def test_settings_are_those_given_and_the_defaults_of_the_others() -> None:
    options = TranslateOptions.read(["search.beam=3", "compute.batch_tokens=9"], nbest=2, to="de")
    assert options.of("search") == {"beam": 3, "nbest": 2} and options.of("align") == {}
    assert (options.compute.batch_tokens, options.to) == (9, "de")
    assert options.search.method == TranslateOptions().search.method


def test_an_option_of_its_own_beats_the_setting_of_the_same_name() -> None:
    for beam, expected in ((4, 4), (None, 3)):
        options = TranslateOptions.read(["search.beam=3"], beam=beam)
        assert options.of("search") == {"beam": expected}


@pytest.mark.parametrize("name", WITH_SETTINGS)
def test_help_lists_every_setting_of_a_command(name: str, attn: Attn) -> None:
    tables = tables_of(resolve_name(app.COMMANDS[name]))
    assert tables is not None
    # arguments that are missing do not matter
    text = attn(*name.split(), "-s", "help").out
    assert text == f"{listed(tables)}\n"
    assert sorted(flat(parse_toml(text))) == sorted(names_of(tables))


@pytest.mark.parametrize("name", WITH_SETTINGS)
def test_the_page_of_a_command_gives_a_setting_of_it_as_example(name: str) -> None:
    tables = tables_of(resolve_name(app.COMMANDS[name]))
    assert tables is not None
    [option] = [param for param in app.load_command(name).params if "--set" in param.opts]
    example = option.help.partition("such as ")[2].partition(" ")[0]
    assert example.partition("=")[0] in names_of(tables)
    overridden(tables(), [example])


@pytest.mark.parametrize("name", WITH_SETTINGS)
def test_no_option_of_a_command_hides_a_table(name: str) -> None:
    tables = tables_of(resolve_name(app.COMMANDS[name]))
    for one in getattr(tables, "TABLES", "").split():
        assert one not in inspect.signature(resolve_name(app.COMMANDS[name])).parameters


Page = Callable[[str], str]
MAX_OPTIONS, MAX_LINES = 32, 100  # of a page


@pytest.fixture
def page(attn: Attn, monkeypatch: pytest.MonkeyPatch) -> Page:
    """Return a function that gives the help page of a command."""
    monkeypatch.setenv("COLUMNS", "80")
    return lambda name: str(attn(*name.split(), "--help").out)


@pytest.mark.parametrize("name", app.COMMANDS)
def test_a_page_fits_and_shows_no_type_of_python(name: str, page: Page) -> None:
    shown = page(name)
    assert not re.search(r"<(int|float|str|path|list\[)|x>=|<=x", shown)
    assert not re.search(r"\.\.\.\]\.\.\.|\.\.\. \w+\.\.\.", shown)
    rows = shown.splitlines()
    assert sum(row.startswith("  -") for row in rows) <= MAX_OPTIONS and len(rows) <= MAX_LINES
    before, _, example = shown.partition("Example:")
    assert max(map(len, before.splitlines())) <= 80
    assert f"attn {name}" in example.splitlines()[-1]


def test_a_hyphen_alone_stands_for_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"read\n")))
    for texts, content in ((["-"], b"read\n"), (["-", "a"], b"-\na\n")):
        with open_source(texts, None) as stream:
            assert stream.read() == content


def test_a_picture_has_a_name_that_no_other_picture_has() -> None:
    pictures = PictureFiles("maps/")
    names = [pictures.path(name).name for name in ("a.wav", "b/a.wav", "a-2.wav", "a.wav", "-")]
    assert names == ["a.png", "a-2.png", "a-2-2.png", "a-3.png", "stdin.png"]


def called(arguments: list[str], *, quickly: bool) -> tuple[int, dict[str, Any]]:
    """Return exit status and values of a command with options of every kind."""
    seen: dict[str, Any] = {}

    def command(
        text: Annotated[list[str] | None, typer.Argument()] = None,
        *,
        files: Annotated[list[Path] | None, typer.Option("--files")] = None,
        kind: Annotated[Literal["one", "two"], typer.Option()] = "one",
        to: Annotated[str, typer.Option(envvar="TO")] = "",
        beam: Annotated[int | None, typer.Option(min=1)] = None,
        wide: Annotated[bool, typer.Option("--wide/--narrow")] = True,
        loud: Annotated[str, typer.Option(callback=lambda value: value.upper())] = "quiet",
        needed: Annotated[Path, typer.Option()],
    ) -> None:
        values = dict(locals())
        seen.update((name, values[name]) for name in values if name != "seen")

    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(command)
    group = typer.main.get_command(app)
    if quickly:
        convert_quickly(group, command)
    try:
        status = group.main(arguments, prog_name="x") or 0
    except SystemExit as end:
        status = int(end.code or 0)
    return status, seen


@pytest.mark.parametrize(
    "arguments",
    [
        ["--needed", "x"],
        ["--needed", "x", "a", "b", "--files", "g", "--files", "h"],
        ["--needed", "x", "--kind", "two", "--to", "fr", "--beam", "3", "--narrow"],
        ["--needed", "x", "--loud", "word"],
        ["--needed", "x", "--kind", "three"],
        ["--needed", "x", "--beam", "0"],
        ["--needed", "x", "--beam", "few"],
        [],
        ["--help"],
        ["--needed"],
    ],
    ids=str,
)
def test_a_command_gets_the_values_that_typer_gives(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TO", "de")
    quick = called(arguments, quickly=True), capsys.readouterr()
    by_typer, said = called(arguments, quickly=False), capsys.readouterr()
    assert quick == (by_typer, said._replace(err=said.err.replace("Value error, ", "")))
    assert "Value error" not in quick[1].err

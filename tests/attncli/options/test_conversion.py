"""Quick conversion gives what Typer gives, and leaves everything else to Typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
import typer.main

from attncli.options.shared import convert_quickly


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

"""``attn describe``: parse the options, describe the rows, write the texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attncli.data.streams import check_output
from attncli.describe.runner import DescribeOptions, DescribeRunner
from attncli.options import line_streams, shared
from attncli.options.settings import SetOption
from attncli.terminal import console

Rows = Annotated[
    list[str] | None, typer.Argument(help="Rows of numbers. Default: the lines of the input.")
]
Model = Annotated[Path, typer.Option("--model", "-m", help="Name or folder of a model.")]
Set = Annotated[list[str] | None, SetOption(DescribeOptions)]


def describe(
    text: Rows = None,
    *,
    model: Model,
    input: line_streams.Input = None,
    output: line_streams.Output = None,
    format: shared.Format = "text",
    device: shared.Device = "auto",
    threads: shared.Threads = 0,
    set: Set = None,
) -> None:
    """Describe rows of numbers: one line in, one text out.

    Example:
      attn describe -m runs/numbers "0.1 -0.9 1.2"
    """
    options = DescribeOptions.of_command(locals(), messages=console)
    check_output(output, input)
    undrawn = line_streams.Picture(line_streams.check_drawing(None, "", drawn=False))
    with line_streams.open_source(text, input) as stream:
        runner = DescribeRunner.open(model, options)
        complete = line_streams.write_lines(
            runner, stream, output, undrawn, weights=False, show=False
        )
    raise typer.Exit(not complete)

"""``attn describe``: parse the options, describe the rows, write the texts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from attncli.data.streams import check_output
from attncli.describe.runner import DescribeOptions, DescribeRunner
from attncli.options import line_streams, shared
from attncli.options.fields import command


@command
@dataclass(frozen=True, kw_only=True)
class DescribeCommand(DescribeOptions):
    """Describe rows of numbers: one line in, one text out.

    Example:
      attn describe -m runs/numbers "0.1 -0.9 1.2"
    """

    text: Annotated[
        tuple[str, ...],
        list[str] | None,
        typer.Argument(help="Rows of numbers. Default: the lines of the input."),
    ] = ()
    model: Annotated[Path, typer.Option("--model", "-m", help="Name or folder of a model.")]
    input_file: line_streams.Input = None
    output_file: line_streams.Output = None
    format: shared.Format = "text"

    def run(self) -> None:
        """Describe the rows of the input."""
        check_output(self.output_file, self.input_file)
        undrawn = line_streams.Picture(line_streams.check_drawing(None, "", drawn=False))
        with line_streams.open_source(self.text, self.input_file) as stream:
            runner = DescribeRunner.open(self.model, self)
            complete = line_streams.write_lines(
                runner, stream, self.output_file, undrawn, weights=False, show=False
            )
        raise typer.Exit(not complete)

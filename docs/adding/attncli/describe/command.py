"""``attn describe``: parse the options, describe the rows, write the texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attncli.data.lines import read_chunks
from attncli.data.streams import check_output, open_output
from attncli.describe.rows import DescribeRunner, row_of
from attncli.options.line_streams import Input, Output, open_source
from attncli.options.settings import Options
from attncli.options.shared import Device, Threads

Rows = Annotated[
    list[str] | None, typer.Argument(help="Rows of numbers. Default: the lines of the input.")
]
Model = Annotated[Path, typer.Option("--model", "-m", help="Name or folder of a model.")]


def describe(
    row: Rows = None,
    *,
    model: Model,
    input: Input = None,
    output: Output = None,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Describe rows of numbers: one line in, one text out.

    Example:
      attn describe -m runs/numbers "0.1 -0.9 1.2"
    """
    check_output(output)
    with open_source(row, input) as stream:
        runner = DescribeRunner.open(model, Options(device, threads))
        with open_output(output) as write:
            for chunk in read_chunks(stream):
                [texts] = runner.run([[row_of(line) for line in chunk]])
                rows = zip(texts, chunk, strict=True)
                write("".join(text + line.ending for text, line in rows).encode())

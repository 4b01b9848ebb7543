"""``attn evaluate descriptions``: score texts about rows of numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attncli.data.streams import open_output
from attncli.describe.rows import DescribeRunner, read_rows
from attncli.jobs.loading import model_names
from attncli.options.settings import Options
from attncli.options.shared import Device, Threads
from attncli.render.rows import columns
from attncli.scoring.sequences import exact_match

File = Annotated[Path, typer.Argument(metavar="FILE", help="Rows of numbers, tab, text.")]
Models = Annotated[list[Path], typer.Option("--model", "-m", help="Model. May be repeated.")]


def descriptions(
    file: File, *, model: Models, device: Device = "auto", threads: Threads = 0
) -> None:
    """Score texts about rows against references.

    Prints the percentage of the texts of each model that are equal to the reference.

    Example:
      attn evaluate descriptions test.tsv -m runs/numbers
    """
    rows, options = read_rows(file), Options(device, threads)
    table = [["", "exact"]]
    for name, folder in zip(model_names(model), model, strict=True):
        [found] = DescribeRunner.open(folder, options).run([rows])
        table.append([name, f"{exact_match(found, [[row.text] for row in rows]):.2f}"])
    with open_output(None) as write:
        write(columns(table).encode())

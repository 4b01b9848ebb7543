"""Options of all commands of `attn bulk`: where, and in what portions, records are processed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from attncli.bulk.engines import ENGINES
from attncli.data.images.named import GROUP
from attncli.data.lines import CHUNK_LINES
from attncli.options.shared import Device

if TYPE_CHECKING:
    EngineName = str
else:  # for the command line
    EngineName = Literal[tuple(ENGINES)]

EngineOption = Annotated[
    EngineName,
    typer.Option(
        "--engine", help="local: processes on this machine; ray, spark: an existing cluster."
    ),
]
Processes = Annotated[
    int,
    typer.Option(
        "--processes",
        min=0,
        help="Workers at the same time. Default (0): one for each GPU, or for each processor.",
    ),
]
ShardSize = Annotated[
    int, typer.Option("--shard", min=1, help="Records of a shard, the unit of work and of resume.")
]
ImageShardSize = Annotated[
    int, typer.Option("--shard", min=1, help="Images of a shard, the unit of work and of resume.")
]
Threads = Annotated[
    int, typer.Option(min=0, help="Processor threads of a worker (0: the default of torch).")
]
Fields = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        help="JSON lines: field of the text, inner ones with a dot: meta.title. The result is "
        "added to each object. To align: twice, source and target.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        help="Parquet (needs pyarrow): column of the texts. The results are added as a column. To "
        "align: twice, source and target.",
    ),
]


class InputKind(NamedTuple):
    """The kind of input, and its fields or columns with texts."""

    name: str  # a key of attncli.bulk.inputs.INPUTS
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Work:
    """Engine, processes and device that process the records."""

    engine: EngineOption = "local"
    processes: Processes = 0
    device: Device = "auto"
    threads: Threads = 1


@dataclass(frozen=True)
class ImageWork(Work):
    """Options for images."""

    shard: ImageShardSize = GROUP


@dataclass(frozen=True)
class TextWork(Work):
    """Options for lines, JSON lines and tables."""

    shard: ShardSize = CHUNK_LINES
    field: Fields = None
    column: Columns = None

    def kind(self, count: int = 1) -> InputKind:
        """Return the kind of input that is chosen. count: number of fields that the task needs."""
        if self.field and self.column:
            raise typer.BadParameter("either --field or --column", param_hint="'--field'")
        chosen = tuple(self.field or self.column or ())
        if chosen and len(chosen) != count:
            option = "'--field'" if self.field else "'--column'"
            raise typer.BadParameter(f"{count} expected, found {len(chosen)}", param_hint=option)
        return InputKind("jsonl" if self.field else "parquet" if self.column else "lines", chosen)

"""Options of ``attn models compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from attncli.commands.train.files import DEV

TRAIN, TEST, GOLD, FROM = "--train", "--test", "--gold", "--start-from"
CAPTIONS, LABELS = "--captions", "--labels"

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="VARIANT...",
        help="Variants to compare; give them before the options. Default: the parts of the "
        "attention that suit the data.",
    ),
]
Train = Annotated[
    list[Path] | None,
    typer.Option(
        TRAIN,
        metavar="FILE...",
        help="Translators: source and target, or one TSV. Default: the embedded grammar.",
    ),
]
Dev = Annotated[
    list[Path] | None, typer.Option(DEV, metavar="FILE...", help="Dev set, as in `attn train`.")
]
Test = Annotated[
    list[Path] | None,
    typer.Option(
        TEST,
        metavar="FILE...",
        help="Test set: source and references, or one TSV; with --captions or --labels a file of "
        "the same kind.",
    ),
]
Gold = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Gold links between the words of the test set (without one: of the dev set), in "
        "Pharaoh or NAACL format. AER is then measured.",
    ),
]
GoldIndex = Annotated[
    Literal["0", "1"] | None,
    typer.Option(help="Index of the first word in --gold, if the file does not show it."),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="Folder of the comparison.")]
Seeds = Annotated[
    int, typer.Option(min=1, help="Runs of each variant, with seeds from train.seed upwards.")
]
Best = Annotated[
    int,
    typer.Option(
        min=0,
        help="Run further seeds for this many variants only, the best on the dev set (0: all).",
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        "-p",
        help="Preset that a variant modifies. Default: a small one for the data.",
    ),
]
Grid = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE,VALUE",
        help="Try every value of a setting with every variant. Repeated: all combinations.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="List the runs that are not measured yet; train nothing."),
]

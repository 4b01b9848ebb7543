"""The options of ``attn evaluate`` for translations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attncli.options import MODEL
from attncli.render.plots import check_picture
from attncli.scoring.translations import Lengths, Tokenizer
from models.errors import ModelError

MODEL_NAME = "{model}"  # in the name of a file to save
STEP, QUANTILES = Lengths()

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Source and one or more references, or one TSV file; - is standard input.",
    ),
]
Models = Annotated[
    list[Path] | None,
    typer.Option(
        "--model",
        "-m",
        help="Model: its name (`attn models` lists them) or the folder of a run or bundle; more "
        f"than one are compared. [env: {MODEL}]",
    ),
]
Hypotheses = Annotated[
    list[Path] | None,
    typer.Option(help="Outputs of another program. With these alone, all files are references."),
]
Source = Annotated[
    Path | None, typer.Option(help="The source, for lengths where there are only --hypotheses.")
]
Tokenize = Annotated[
    Tokenizer, typer.Option(help="sacreBLEU's tokenizer for BLEU; none for tokenised text.")
]
Confidence = Annotated[
    bool,
    typer.Option("--confidence", help="95 % intervals; with several systems, p against the first."),
]
ByLength = Annotated[bool, typer.Option("--by-length", help="BLEU by source length.")]
Step = Annotated[int, typer.Option("--length-step", min=1, help="Words per range of lengths.")]
Quantiles = Annotated[
    int, typer.Option("--length-quantiles", min=0, help="So many ranges of equal count instead.")
]
Plot = Annotated[
    Path | None, typer.Option(help="Draw BLEU by source length: a .png, .svg or .pdf file.")
]
Save = Annotated[
    Path | None, typer.Option(help="Write the outputs; {model} in the name is the model's.")
]


def refuse(**options: object) -> None:
    """Refuse options that would have no effect on alignments or captions."""
    for name, value in options.items():
        if value:
            hint = f"'--{name.replace('_', '-')}'"
            raise typer.BadParameter("is for the score of translations", param_hint=hint)


def check_source(folders: list[Path], source: Path | None, lengths: Lengths | None) -> None:
    """Refuse a source that is not needed, and lengths of one that is not there."""
    if folders and source:
        raise typer.BadParameter(
            "with a model, the first file is the source", param_hint="'--source'"
        )
    if lengths and not folders and not source:
        raise typer.BadParameter(
            "lengths of what? give the source with --source", param_hint="'--by-length'"
        )


def check_places(folders: list[Path], plot: Path | None, save: Path | None) -> None:
    """Refuse places that cannot be written before the work, not after it."""
    if save and not folders:
        raise typer.BadParameter("needs --model", param_hint="'--save'")
    if save and len(folders) > 1 and MODEL_NAME not in str(save):
        raise typer.BadParameter(
            f"one file for several models; put {MODEL_NAME} into its name", param_hint="'--save'"
        )
    if plot:
        check_picture(plot)
    for place in filter(None, [plot, save]):
        if not place.parent.is_dir():
            raise ModelError(f"cannot write {place}: no folder {place.parent}")

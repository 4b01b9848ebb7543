"""The options of ``attn evaluate`` for translations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attncli.options import MODEL
from attncli.scoring import Lengths, Tokenizer

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
        help=f"Model: the folder of a run or bundle; more than one are compared. [env: {MODEL}]",
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

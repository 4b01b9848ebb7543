"""Options of ``attn train``, some of which other commands have too."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attncli.options.settings import SetOption
from attncli.training.settings.config import RunConfig

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Source and target, or one TSV; the folder of a run, to continue it; or a TOML file "
        "such as the config.toml of a run."
    ),
]
Dev = Annotated[
    list[Path] | None,
    typer.Option(
        "--dev",
        metavar="FILE...",
        help="Dev source and target, or one TSV; further files or columns are further references. "
        "With --captions or --labels: a file of that kind; without it, a tenth is held out.",
    ),
]
Corpora = Annotated[
    list[str] | None,
    typer.Option(
        "--corpus",
        metavar="en-de=FILE[,FILE]",
        help="Multilingual: a corpus and its languages, one TSV or two files, for both directions; "
        "en-to-de=FILE for one direction; en-de:3=FILE multiplies its share of an epoch by 3. May "
        "be repeated.",
    ),
]
TaggedCorpora = Annotated[
    list[str] | None,
    typer.Option(
        "--tagged-corpus",
        metavar="en-de=FILE[,FILE]",
        help="Multilingual: a corpus whose first side is back-translated; its sources begin with "
        "the token <bt>, and only the direction to the second language is trained.",
    ),
]
DevCorpora = Annotated[
    list[str] | None,
    typer.Option(
        "--dev-corpus",
        metavar="en-de=FILE[,FILE]",
        help="Multilingual: a corpus for evaluation during training, as for --corpus.",
    ),
]
Images = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR|TAR", help="Captioners: the images, in a folder or an uncompressed TAR file."
    ),
]
Captions = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Captioners: image, tab, caption; or a Flickr8k, Karpathy or COCO file.",
    ),
]
Labels = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Classifiers: rows of label, tab, text.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Folder of the run.")]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        "-p",
        help="Preset that gives the defaults of all settings; `attn models` lists them.",
    ),
]
StartFrom = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL",
        help="Trained model to start from: its weights, tokenizer and settings.",
    ),
]
Set = Annotated[list[str] | None, SetOption(RunConfig, example="train.batch_tokens=2048")]
Processes = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Train in N processes on this machine; for several machines, start attn by torchrun.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show sizes and memory of the run without training.")
]

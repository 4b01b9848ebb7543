"""Options of ``attn train``, some of which other commands have too."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
        help="Dev source and target, or one TSV; further files or columns are further references.",
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
DevCaptions = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Captions for evaluation during training, as for --captions."
    ),
]
Labels = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Classifiers: rows of label, tab, text.")
]
DevLabels = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Labelled texts for evaluation during training; without it, a tenth of --labels.",
    ),
]
Encoder = Annotated[
    str,
    typer.Option(metavar="NAME", help="Captioners: the image network; `attn models` lists them."),
]
EncoderWeights = Annotated[
    str, typer.Option(metavar="DEFAULT|PATH|none", help="Captioners: the image network's weights.")
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
From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="MODEL",
        help="Trained model to start from: its weights, tokenizer and settings.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="SECTION.KEY=VALUE",
        help="Set a value, which overrides preset and file. May be repeated.",
    ),
]
Processes = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Train in N processes on this machine; for several machines, start attn by torchrun.",
    ),
]
FastReduce = Annotated[
    bool,
    typer.Option(
        "--fast-reduce",
        help="Several processes: sum gradients by all-reduce; the weights then depend on their "
        "number (train.fast_reduce).",
    ),
]
ShardModel = Annotated[
    bool,
    typer.Option(
        "--shard-model",
        help="Several processes: each stores a part of weights, gradients and optimiser state "
        "(FSDP2), for models too large for one GPU. The weights are not bit-equal to those of "
        "other numbers of processes (train.shard_model).",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show sizes and memory of the run without training.")
]

"""``attn models compare``: parse the options, train, measure, write table and chart."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from attncli.commands.compare.settings import TEST, TRAIN, ComparedData, base_config
from attncli.commands.train.options import (
    DEV,
    Captions,
    Images,
    Labels,
    Preset,
    Set,
    StartFrom,
    TrainCommand,
    check_run_folder,
    split_dev,
)
from attncli.data.streams import check_files, write_stdout
from attncli.jobs import loading
from attncli.jobs.compared import TestFiles, compared_source
from attncli.jobs.loading import OpenOptions
from attncli.jobs.variants import variants, with_grid
from attncli.options.shared import Device, Threads
from attncli.render.comparison import WRITERS

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
    list[Path] | None,
    typer.Option(
        DEV, metavar="FILE...", help="Dev set, as in `attn train`; without it, a part is held out."
    ),
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


class CompareCommand(TrainCommand):
    """A command whose ``--train``, ``--dev`` and ``--test`` take all values that follow."""

    spread = (TRAIN, DEV, TEST)


def compare(
    names: Names = None,
    *,
    grid: Grid = None,
    train: Train = None,
    dev: Dev = None,
    test: Test = None,
    gold: Gold = None,
    gold_index: GoldIndex = None,
    images: Images = None,
    captions: Captions = None,
    labels: Labels = None,
    output: Output = Path("runs/compare"),
    seeds: Seeds = 2,
    best: Best = 0,
    preset: Preset = None,
    start_from: StartFrom = None,
    dry_run: DryRun = False,
    device: Device = "auto",
    threads: Threads = 0,
    set: Set = None,
) -> None:
    """Train and compare variants of a model.

    The model is a translator, a captioner or a classifier. All variants are trained on the same
    data with the same budget, each in VARIANT/seed-N of the output folder; the same command
    continues. The folder gets the results as tables and plots. See docs/compare.md.

    \b
    A variant is one of
      dot, local_p, sparsemax, hard     a part of the attention
      dot,local_p                       several parts
      score=cosine,heads=4              settings of the attention
      heads=2,train.lr=0.0005           settings of model and training
      none                              the same sizes without attention
      mean, learned, learned,dot        a pooling of classifiers
      small-cnn, encoder=resnet50       an image network of captioners
      transformer-tiny,lr=0.0005        a preset, with other settings

    Example:
      attn models compare none dot additive score=cosine,window=local_p -s train.steps=400
      attn models compare --grid train.lr=0.002,0.001 --grid model.dropout=0.1,0.3 --dry-run
      attn models compare -o runs/table4 --train train.en train.de --dev val.en val.de --best 5
      attn models compare soft hard --images photos --captions captions.tsv -o runs/reads
      attn models compare mean learned,dot --labels intents.tsv -o runs/poolings
    """
    of_pairs, inputs = split_dev(dev or [], images=images, captions=captions, labels=labels)
    tests = TestFiles(test or (), gold, gold_index)
    base = base_config(
        ComparedData(train or (), of_pairs, inputs, tests), preset, set or [], start_from
    )
    check_files([*base.data.inputs, *tests.paths])
    check_run_folder(output)
    kind = compared_source(base.model.family)
    chosen = with_grid(names or (() if grid else kind.variants), grid or [])
    found = variants(chosen, base, set or [])
    where = loading.open_device(OpenOptions(device, threads))
    # imports torch
    from attncli.commands.compare.run import run, show_remaining
    from attncli.jobs.compare import check_all, plan

    check_all(found)
    with tempfile.TemporaryDirectory() as scratch:  # for data of a dry run that no file has
        folder = Path(scratch) if dry_run else output
        data, sets = kind.prepare(base.data, base.train.seed, tests, folder)
        runs = plan(found, data, seeds, output)
        if dry_run:
            return show_remaining(runs, sets, best, output)
    rows, failed = run(runs, sets, best, output, where)
    write_stdout(WRITERS["txt"](rows))
    if failed:
        raise typer.Exit(1)


compare.command_class = CompareCommand  # type: ignore[attr-defined]

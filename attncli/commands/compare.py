"""``attn models compare``: parse the options, train, measure, write table and chart."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from attncli import console
from attncli.commands.train import Set, Stop, memory_advice, stopping
from attncli.commands.train_display import Display
from attncli.commands.train_files import DEV, spread
from attncli.data.streams import check_inputs, open_output
from attncli.help_page import HelpPage
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions
from attncli.jobs.mechanisms import LITERATURE, Mechanism, mechanisms, with_grid
from attncli.options import Device, Threads
from attncli.plurals import counted
from attncli.render.columns import columns
from attncli.render.comparison import (
    WRITERS,
    Format,
    draw_comparison,
)
from attncli.render.duration import duration
from attncli.render.plots import FORMATS
from attncli.scoring.comparison import RunScores
from attncli.training.config import RunConfig
from attncli.training.events import Interrupted
from attncli.training.settings import LabelFiles, settings
from attncli.training.sources import training_source
from models.files import write_text
from models.registry import names as registered_names
from models.zoo import model_config

if TYPE_CHECKING:
    from attncli.jobs.compare import Planned
    from attncli.jobs.measure import Sets

TRAIN, TEST, GOLD = "--train", "--test", "--gold"
PRESET, NANO = "rnnsearch-small", "rnnsearch-nano"  # for files; for the embedded grammar
ONE_WAY = "model.bidirectional=false"  # dot, scaled_dot and cosine need keys of the query's size
MINUTE = (  # default budget for the embedded grammar
    *("train.batch_tokens=2048", "train.steps=1000", "train.evaluate_every=250"),
    "train.patience=0",
)


class CompareCommand(HelpPage):
    """A command whose ``--train``, ``--dev`` and ``--test`` take all values that follow."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments with one option before each of its values."""
        return super().parse_args(ctx, spread(args, (TRAIN, DEV, TEST)))


Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MECHANISM...",
        help="Mechanisms to compare; give them before the options. Default: "
        f"{' '.join(LITERATURE)}.",
    ),
]
Train = Annotated[
    list[Path] | None,
    typer.Option(
        TRAIN,
        metavar="FILE...",
        help="Source and target, or one TSV. Default: the embedded grammar.",
    ),
]
Dev = Annotated[
    list[Path] | None, typer.Option(DEV, metavar="FILE...", help="Dev set, as in `attn train`.")
]
Test = Annotated[
    list[Path] | None,
    typer.Option(TEST, metavar="FILE...", help="Test set: source and references, or one TSV."),
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
    int, typer.Option(min=1, help="Runs of each mechanism, with seeds from train.seed upwards.")
]
Best = Annotated[
    int,
    typer.Option(
        min=0,
        help="Run further seeds for this many mechanisms only, the best by dev BLEU (0: all).",
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        "-p",
        help=f"Preset that a mechanism modifies. Default: {PRESET}, or {NANO} without files.",
    ),
]


Labels = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Classifiers: rows of label, tab, text; --test is such a table, too."
    ),
]
DevLabels = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Classifiers: dev set, as in `attn train`.")
]
Grid = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE,VALUE",
        help="Try every value of a setting with every mechanism. Repeated: all combinations.",
    ),
]
FormatOption = Annotated[
    Format,
    typer.Option("--format", help="Table on standard output; the folder gets all of them."),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="List the runs and time a few updates of each; no results."),
]


def compare(
    names: Names = None,
    *,
    grid: Grid = None,
    train: Train = None,
    dev: Dev = None,
    test: Test = None,
    gold: Gold = None,
    gold_index: GoldIndex = None,
    labels: Labels = None,
    dev_labels: DevLabels = None,
    output: Output = Path("runs/compare"),
    seeds: Seeds = 2,
    best: Best = 0,
    preset: Preset = None,
    set: Set = None,
    format: FormatOption = "txt",
    dry_run: DryRun = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Train with several mechanisms or settings and compare.

    All mechanisms are trained on the same data with the same budget. The folder gets the results as
    tables (text, Markdown, LaTeX, HTML, CSV, JSON) and as plots (PNG, SVG, PDF). The table states
    which differences exceed the noise between seeds. AER is measured if gold links are known: for
    the embedded grammar, and with --gold.

    \b
    A mechanism is one of
      dot, local_p, sparsemax, hard     a part of the attention
      dot,local_p                       several parts
      score=cosine,heads=4              settings of the attention
      model.encoder_attention=intra     any setting
      heads=2,lr=0.0005                 settings of model and training
      none                              the same sizes without attention
      mean, learned, learned,dot        a pooling of classifiers (with --labels)
      transformer-tiny                  a preset
      transformer-tiny,lr=0.0005        a preset with other settings

    --grid tries all values of a setting. --dry-run estimates the time by a few updates of each
    mechanism, on this machine.

    The encoder is unidirectional, as in Luong et al. 2015, so that every score can be used. With
    `-s model.bidirectional=true`, dot, scaled_dot and cosine cannot be compared.

    Each run is stored in MECHANISM/seed-N in the output folder. The same command resumes an
    interrupted comparison. Further mechanisms or seeds are added to the finished runs.

    Example:
      attn models compare none dot additive score=cosine,window=local_p -s train.steps=400
      attn models compare model.heads=2 model.heads=4 --preset transformer-nano
      attn models compare --grid train.lr=0.002,0.001 --grid model.dropout=0.1,0.3 --dry-run
      attn models compare -o runs/table4 --train train.en train.de --dev val.en val.de --best 5
    """
    measured = Measured(test or [], gold, gold_index)
    if labels:
        files = LabelFiles(labels, dev_labels)
        base = label_config(files, train or [], measured, preset, set or [])
    else:
        base = base_config(train or [], dev or [], measured, preset, set or [])
    check_inputs([*(train or []), *(dev or []), *(test or []), *([gold] if gold else [])])
    chosen = with_grid(names or ([] if grid else default_names(base)), grid or [])
    found = mechanisms(chosen, base, set or [])
    where = loading.open_device(OpenOptions(device, threads))
    if dry_run:
        with tempfile.TemporaryDirectory() as folder:
            work = prepare(found, base, measured, output, seeds, texts=Path(folder))
            show_times(work, best, where)
        return
    work = prepare(found, base, measured, output, seeds)
    rows, failed = run(work, best, output, where)
    with open_output(None) as write:
        write(WRITERS[format](rows).encode())
    if failed:
        raise typer.Exit(1)


compare.command_class = CompareCommand  # type: ignore[attr-defined]


class Measured(NamedTuple):
    """Test set and gold links given on the command line."""

    test: list[Path]
    gold: Path | None
    gold_index: Literal["0", "1"] | None


class Work(NamedTuple):
    """The runs of a comparison and what they are measured on."""

    runs: list[Planned]
    sets: Sets


def base_config(
    train: list[Path], dev: list[Path], measured: Measured, preset: str | None, assigned: list[str]
) -> RunConfig:
    """Return the settings that every mechanism changes."""
    pairs = [path for path in train if path.suffix != ".toml"]
    if len(pairs) > 2:
        raise typer.BadParameter(
            f"{counted(len(pairs), 'file')}; mechanisms are named before the options",
            param_hint=f"'{TRAIN}'",
        )
    if train and not dev:
        raise typer.BadParameter("needed to compare on", param_hint=f"'{DEV}'")
    for option, given in ((TEST, measured.test), (GOLD, measured.gold)):
        if given and not train:
            raise typer.BadParameter(f"needs {TRAIN}", param_hint=f"'{option}'")
    if measured.gold_index and not measured.gold:
        raise typer.BadParameter(f"needs {GOLD}", param_hint="'--gold-index'")
    if not train:
        name = preset or NANO
        scores = training_source(model_config(name).family).compared == "score"
        return settings([], [], name, [*([ONE_WAY, *MINUTE] if scores else []), *assigned])
    chosen = preset or (PRESET if len(pairs) == len(train) else None)
    return settings(train, dev, chosen, [ONE_WAY, *assigned])


def label_config(
    files: LabelFiles,
    train: list[Path],
    measured: Measured,
    preset: str | None,
    assigned: list[str],
) -> RunConfig:
    """Return the settings that every pooling changes, for labelled texts."""
    if train or measured.gold:
        raise typer.BadParameter("cannot be combined with --labels", param_hint=f"'{TRAIN}'")
    if len(measured.test) > 1:
        raise typer.BadParameter("one table of label, tab, text", param_hint=f"'{TEST}'")
    return settings([], [], preset, assigned, labels=files)


def default_names(base: RunConfig) -> Sequence[str]:
    """Return the mechanisms that are compared if none is named."""
    return registered_names("pooling") if has_labels(base) else LITERATURE


def has_labels(base: RunConfig) -> bool:
    """Return True if classifiers are compared."""
    return training_source(base.model.family).compared == "pooling"


def prepare(
    found: list[Mechanism],
    base: RunConfig,
    measured: Measured,
    output: Path,
    seeds: int,
    *,
    texts: Path | None = None,
) -> Work:
    """Return the planned runs; check everything that can be checked before the first run.

    texts: folder for sentences of the embedded grammar; by default that of the output.
    """
    from attncli.jobs import compare as job  # imports torch

    job.check_all(found)
    files = job.ComparedTexts(base.data, *measured)
    if has_labels(base):
        files = job.label_texts(base, texts or output, measured.test)
    elif not base.data.train:
        files = job.embedded(base, texts or output)
    sets = job.read_sets(files)
    return Work(job.plan(found, files.data, seeds, output), sets)


def show_times(work: Work, best: int, device: str) -> None:
    """Write the runs that are not measured yet and their time, a row for each mechanism."""
    from attncli.jobs.compare_time import planned_times

    rows, total = [["mechanism", "runs", "parameters", "updates", "ms/update", "time"]], 0.0
    with Display(work.runs[0].config.train) as display:
        for found in planned_times(work.runs, work.sets, device=device, progress=display.progress):
            total += found.seconds
            rows.append(
                [
                    found.mechanism,
                    str(found.runs),
                    f"{found.parameters:,}",
                    f"{found.updates:,}" if found.updates else "no limit",
                    f"{1000 * found.per_update:,.1f}",
                    duration(found.seconds) if found.updates else "unknown",
                ]
            )
    with open_output(None) as write:
        write(columns([*rows, ["total", *[""] * 4, duration(total)]]).encode())
    early = (
        "; --best and early stopping make it shorter" if best else "; early stopping shortens it"
    )
    console.say(f"training at most, without evaluations{early}")


def run(work: Work, best: int, output: Path, device: str) -> tuple[list[RunScores], int]:
    """Train the missing runs; return the rows, which are written after each run, and failures."""
    from attncli.jobs import compare as job

    rows: list[RunScores] = []
    failed = 0
    config = work.runs[0].config.train
    with stopping() as stop, Display(config) as display, memory_advice(config):
        try:
            for event in job.compare(
                work.runs,
                work.sets,
                best=best,
                device=device,
                progress=display.progress,
                stop_requested=stop,
            ):
                match event:
                    case RunScores():
                        display.close()
                        rows.append(event)
                        write_tables(output, rows)
                    case job.Begun():
                        display.close()
                        seed = event.run.config.train.seed
                        console.say(
                            f"{event.number} of {event.total}: {event.run.mechanism}, seed {seed}"
                        )
                    case job.Failed():
                        display.close()
                        failed += 1
                        console.warn(f"{event.run.mechanism} is left out: {event.error}")
                    case _:
                        display.take(event)
        except (Interrupted, KeyboardInterrupt):
            display.break_off()
            stopped(stop, rows, work, output)
        finally:
            draw(output, rows)
    return rows, failed


def stopped(stop: Stop, rows: list[RunScores], work: Work, output: Path) -> None:
    """Leave after an interruption."""
    console.say(
        f"stopped; finished in {output}: {counted(len(rows), 'run')}; "
        "the same command continues from here"
    )
    raise typer.Exit(stop.status or 130) from None


def write_tables(output: Path, rows: list[RunScores]) -> None:
    """Write the tables of the finished runs, one file for each format."""
    for suffix, write in WRITERS.items():
        write_text(output / f"comparison.{suffix}", write(rows))


def draw(output: Path, rows: list[RunScores]) -> None:
    """Draw the finished runs, if there are any."""
    for suffix in FORMATS if rows else ():
        draw_comparison(output / f"comparison{suffix}", rows)

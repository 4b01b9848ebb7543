"""``attn models compare``: parse the options, train, measure, write table and chart."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from attncli.compare._drawing import WRITERS, draw_comparison
from attncli.compare._scores import RunScores
from attncli.compare._variants import TestFiles, comparison_of, variants, with_grid
from attncli.data.streams import check_files, write_stdout
from attncli.options import loading
from attncli.options.fields import signed
from attncli.options.shared import GoldIndex
from attncli.render.plots import FORMATS, variant_curves
from attncli.render.rows import columns
from attncli.terminal import console
from attncli.terminal.messages import counted, rounded_time
from attncli.train import command_line
from attncli.train.command_line import settings
from attncli.train.display import Display, memory_advice, stoppable
from attncli.train.events import read_log
from attncli.train.folder import RunFolder
from attncli.training.config import RunConfig
from attncli.training.sources import Comparison, find_training_source, named_kind
from models.core.files import write_text
from models.core.registry import DEFAULT_SOURCE
from models.storage.installed import find_model
from models.storage.presets import model_config
from models.storage.settings import family_of, read_settings

if TYPE_CHECKING:
    from attncli.compare import _runs as job

TRAIN, TEST, GOLD, FROM = "--train", "--test", "--gold", "--start-from"
CAPTIONS, LABELS, TRANSCRIPTS = "--captions", "--labels", "--transcripts"


def show_remaining(
    runs: list[job.Planned], tests: job.Tests, best: int, output: Path, device: str
) -> None:
    """Write the runs of each variant that are left, and their time; if none, name the results."""
    from attncli.compare import _runs as job

    left, count = job.missing(runs, tests, best), job.planned_count(runs, best)
    if not left:
        results = output / "comparison.txt"
        where = results if results.exists() else "the same command without --dry-run writes them"
        return console.say(f"finished before: {counted(count, 'run')}; results: {where}")
    train = left[0].config.train
    with Display(train) as display, memory_advice(train):
        times = job.times_needed(left, tests, device=device, progress=display.progress)
    numbers = Counter(run.variant for run in left)
    seconds = {name: number * times[name].seconds for name, number in numbers.items()}
    rows = [(name, str(number), rounded_time(seconds[name])) for name, number in numbers.items()]
    all_left = sum(seconds.values())
    total = ("total", str(len(left)), rounded_time(all_left))
    write_stdout(columns([("variant", "runs", "time"), *rows, total]))
    further = count - sum(run.first for run in runs) if best and left[0].first else 0
    if further:
        variants = counted(best, "variant")
        console.say(f"then {counted(further, 'run')} of further seeds, of the best {variants}")
    limits = {each.limit for each in times.values()}
    needed = times[left[0].variant]._replace(
        seconds=all_left * (1 + further / len(left)),
        limit=limits.pop() if len(limits) == 1 else "variants have different limits",
    )
    console.say(f"all runs: {needed}")


def train_all(
    runs: list[job.Planned], tests: job.Tests, best: int, output: Path, device: str
) -> tuple[list[RunScores], int]:
    """Train the missing runs; return the rows, which are written after each run, and failures."""
    from attncli.compare import _runs as job

    rows: list[RunScores] = []
    failed = 0
    with stoppable(runs[0].config.train, output) as (stop, display):
        try:
            how: dict[str, Any] = {"progress": display.progress, "stop_requested": stop}
            for event in job.compare(runs, tests, best=best, device=device, **how):
                if not isinstance(event, (RunScores, job.Begun, job.Failed)):
                    display.take(event)
                    continue
                display.close()
                if isinstance(event, job.Begun):
                    stop.is_polled = False  # Ctrl-C ends its preparation at once
                    name, seed = event.run.variant, event.run.config.train.seed
                    console.say(f"{event.number} of {event.total}: {name}, seed {seed}")
                elif isinstance(event, job.Failed):
                    failed += 1
                    console.warn(f"{event.run.variant} is left out: {event.error}")
                else:
                    rows.append(event)
                    for suffix, write in WRITERS.items():
                        write_text(output / f"comparison.{suffix}", write(rows))
        finally:
            for suffix in FORMATS if rows else ():
                draw_comparison(output / f"comparison{suffix}", rows)
                variant_curves(output / f"curves{suffix}", _logs(runs, rows))
    return rows, failed


def _logs(runs: Sequence[job.Planned], rows: Sequence[RunScores]) -> dict[str, list[Any]]:
    """Return the log of the first measured seed of each variant."""
    folders = {(run.variant, run.config.train.seed): run.folder for run in runs}
    first = {row.variant: folders[row.variant, row.seed] for row in reversed(rows)}
    return {name: read_log(RunFolder(first[name]).log) for name in reversed([*first])}


class ComparedData(NamedTuple):
    """Files given on the command line."""

    train: Sequence[Path] = ()
    dev: Sequence[Path] = ()
    inputs: Mapping[str, Path] = MappingProxyType({})  # by their settings in [data]
    tests: TestFiles = TestFiles()

    @property
    def pairs(self) -> list[Path]:
        """The training files of pairs or rows, without a file of settings."""
        return [path for path in self.train if path.suffix != ".toml"]


def base_config(
    files: ComparedData, preset: str | None, assigned: Sequence[str], start: Path | None = None
) -> RunConfig:
    """Return the settings that every variant changes. start: the initial model of all variants."""
    check_options(files)
    kind = kind_of(files, preset, start)
    has_tables = len(files.pairs) < len(files.train)
    is_given = bool(files.train or files.inputs)
    usual = ("" if is_given else kind.demo_preset) or kind.preset
    of_kind = [each for each in kind.settings if not (start and each.startswith("model."))]
    return settings(
        files.train,
        files.dev,
        preset or (None if has_tables or start else usual),
        [*of_kind, *(() if is_given else kind.budget), *assigned],
        start=start,
        inputs=files.inputs,
    )


def kind_of(files: ComparedData, preset: str | None, start: Path | None = None) -> Comparison:
    """Return the comparison of the kind of input that model, preset or options name.

    start: the initial model; files for another kind than its own are refused. The default is text.
    """
    names = [*files.inputs, *(["train"] if files.train else [])]
    found = named_kind(names)
    named = find_training_source(found).comparison if found else None
    if start:
        own = comparison_of(family_of(read_settings(find_model(start))))
        if named and named is not own:
            raise _refused(
                f"{start} is compared by {own.outputs}, the files by {named.outputs}", FROM
            )
        return own
    if preset:
        return comparison_of(model_config(preset).family)
    usual = find_training_source(DEFAULT_SOURCE).comparison
    assert usual is not None
    return named or usual


def check_options(files: ComparedData) -> None:
    """Refuse options that do not belong together."""
    if len(files.pairs) > 2:
        raise _refused(
            f"{counted(len(files.pairs), 'file')}; variants are named before the options", TRAIN
        )
    given = {
        TRAIN: files.train,
        CAPTIONS: "captions" in files.inputs,
        LABELS: "labels" in files.inputs,
        TRANSCRIPTS: "transcripts" in files.inputs,
    }
    data = [option for option, value in given.items() if value]
    test, gold, gold_index = files.tests
    if len(data) > 1:
        raise _refused(f"cannot be combined with {data[0]}", data[1])
    if test and not data:
        raise _refused(f"needs {TRAIN}, {CAPTIONS}, {LABELS} or {TRANSCRIPTS}", TEST)
    if len(test) > 1 and not files.train:
        raise _refused(f"{counted(len(test), 'file')} with {data[0]}, expected one", TEST)
    if gold and not files.train:
        raise _refused(f"needs {TRAIN}", GOLD)
    if gold_index and not gold:
        raise _refused(f"needs {GOLD}", "--gold-index")


def _refused(message: str, option: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint=f"'{option}'")


class SpreadCompare(command_line.SpreadCommand):
    """A command whose ``--train``, ``--dev`` and ``--test`` take all values that follow."""

    spread = (TRAIN, command_line.DEV, TEST)


@dataclass(frozen=True, kw_only=True)
class CompareCommand(command_line.RunOptions):
    """Train and compare variants of a model.

    The model is a translator, captioner, classifier or transcriber. All variants are trained on
    the same data with the same budget, each in VARIANT/seed-N of the output folder; the same
    command continues. The folder gets the results as tables and plots. See docs/compare.md.

    \b
    A variant is one or several of these, joined by +
      dot, hard, mean, small-cnn     the name of a part
      none, transformer-tiny         no attention; a preset
      heads=4, train.lr=0.0005       a setting

    Example:
      attn models compare none dot additive score=cosine+window=local_p -s train.steps=400
      attn models compare --grid train.lr=0.002,0.001 --grid model.dropout=0.1,0.3 --dry-run
      attn models compare -o runs/table4 --train train.en train.de --dev val.en val.de --best 5
      attn models compare soft hard --images photos --captions captions.tsv -o runs/reads
      attn models compare mean learned+dot --labels intents.tsv -o runs/poolings
    """

    command_class = SpreadCompare
    names: Annotated[
        tuple[str, ...],
        list[str] | None,
        typer.Argument(
            metavar="VARIANT...",
            help="Variants to compare; give them before the options. Default: the parts of the "
            "attention that suit the data.",
        ),
    ] = ()
    grid: Annotated[
        tuple[str, ...],
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE,VALUE",
            help="Try every value of a setting with every variant. Repeated: all combinations.",
        ),
    ] = ()
    train: Annotated[
        tuple[Path, ...],
        list[Path] | None,
        typer.Option(
            TRAIN,
            metavar="FILE...",
            help="Translators: source and target, or one TSV. Default: the embedded grammar.",
        ),
    ] = ()
    dev: Annotated[
        tuple[Path, ...],
        list[Path] | None,
        typer.Option(
            command_line.DEV,
            metavar="FILE...",
            help="Dev set, as in `attn train`; without it, a part is held out.",
        ),
    ] = ()
    test: Annotated[
        tuple[Path, ...],
        list[Path] | None,
        typer.Option(
            TEST,
            metavar="FILE...",
            help="Test set: source and references, or one TSV; with --captions or --labels a file "
            "of the same kind.",
        ),
    ] = ()
    gold: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Gold links between the words of the test set (without one: of the dev set), in "
            "Pharaoh or NAACL format. AER is then measured.",
        ),
    ] = None
    gold_index: GoldIndex = None
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the comparison.")] = (
        Path("runs/compare")
    )
    seeds: Annotated[
        int,
        typer.Option(
            min=1, max=100, help="Runs of each variant, with seeds from train.seed upwards."
        ),
    ] = 2
    best: Annotated[
        int,
        typer.Option(
            min=0,
            help="Run further seeds for this many variants only, the best on the dev set (0: all).",
        ),
    ] = 0
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the runs that are still to do, and their time.")
    ] = False

    def run(self) -> None:
        """Train and measure the variants that are left, and write the results."""
        of_pairs, inputs = self.data_files()
        tests = TestFiles(self.test, self.gold, self.gold_index)
        data = ComparedData(self.train, of_pairs, inputs, tests)
        base = base_config(data, self.preset, self.assigned, self.start_from)
        check_files([*base.data.inputs, *tests.paths])
        command_line.check_run_folder(self.output)
        usual = () if self.grid else comparison_of(base.model.family).variants
        chosen = with_grid(self.names or usual, self.grid)
        found = variants(chosen, base, self.assigned)
        if len(found) < len(chosen):
            console.say(f"{counted(len(chosen), 'name')} of {counted(len(found), 'variant')}")
        if self.best > len(found):
            variant = counted(len(found), "variant")
            console.say(f"--best {self.best}: all {variant} get further seeds")
        where = loading.open_device(self.computed)
        # imports torch
        from attncli.compare._runs import check_all, plan, prepare

        check_all(found)
        with tempfile.TemporaryDirectory() as scratch:  # for data of a dry run that no file has
            folder = Path(scratch) if self.dry_run else self.output
            prepared, tested = prepare(base, tests, folder)
            runs = plan(found, prepared, self.seeds, self.output)
            if self.dry_run:
                return show_remaining(runs, tested, self.best, self.output, where)
        rows, failed = train_all(runs, tested, self.best, self.output, where)
        write_stdout(WRITERS["txt"](rows))
        if failed:
            raise typer.Exit(1)


signed(CompareCommand, CompareCommand.__mro__, RunConfig)

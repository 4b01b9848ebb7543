"""``attn train``: parse the options, run the job, show progress."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attncli.data.streams import check_files
from attncli.options.fields import signed
from attncli.options.loading import open_device
from attncli.terminal import console
from attncli.terminal.messages import one_cell
from attncli.train import command_line
from attncli.train._advice import start_advice
from attncli.train.command_line import settings, tables_of
from attncli.train.configuration import check_effects
from attncli.train.display import (
    Display,
    launch,
    memory_advice,
    open_world,
    train_shown,
)
from attncli.train.events import AlreadyFinished
from attncli.train.folder import RunFolder
from attncli.training.config import DataConfig, RunConfig, TrainConfig
from attncli.training.sources import TrainingSource, training_source
from attncli.translate.corpora import parse_corpus
from models.core.errors import ModelError
from models.core.files import write_text
from models.core.sources import source_of

if TYPE_CHECKING:
    from attncli.train.estimate import Estimate

MEMORY = "memory.tsv"  # in the folder of a run
MAX_MEMORY_PAIRS = 20_000  # of a memory that a run writes
ENGLISH = "A dog runs."  # an example for models that name their languages


@dataclass(frozen=True, kw_only=True)
class TrainCommand(command_line.RunOptions):
    """Train a model on pairs, images, labels or recordings.

    Without files, the model is trained on sentences of an embedded grammar. Text may be compressed
    (gz, xz, zst). The folder's config.toml contains every setting with its documentation. The same
    command resumes an interrupted run, and the result is that of an uninterrupted one. A finished
    run continues if train.steps, epochs, minutes or patience is raised.

    Example:
      attn train train.en train.de --dev val.en val.de -o runs/en-de -s train.batch_tokens=2048
      attn train -o runs/demo
      attn train runs/demo -s train.steps=2000
      attn train --corpus en-de=a.tsv --corpus en-fr=b.tsv --dev-corpus en-de=dev.tsv -o runs/multi
      attn train mine.en mine.de --start-from everyday --from en --to de -o runs/mine
      attn train --images photos --captions train.tsv --dev dev.tsv -o runs/captions
      attn train --labels intents.tsv -o runs/intents
      attn train --audio wavs --transcripts train.tsv -o runs/speech
    """

    context: typer.Context
    files: Annotated[
        tuple[Path, ...],
        list[Path] | None,
        typer.Argument(
            help="Source and target, or one TSV; the folder of a run, to continue it; or a TOML "
            "file such as the config.toml of a run."
        ),
    ] = ()
    dev: command_line.Dev = ()
    corpus: Annotated[
        tuple[str, ...],
        list[str] | None,
        typer.Option(
            "--corpus",
            metavar="en-de=FILE[,FILE]",
            help="Multilingual: a corpus and its languages, one TSV or two files, for both "
            "directions; en-to-de=FILE for one direction; en-de:3=FILE multiplies its share of an "
            "epoch by 3. May be repeated.",
        ),
    ] = ()
    tagged_corpus: Annotated[
        tuple[str, ...],
        list[str] | None,
        typer.Option(
            "--tagged-corpus",
            metavar="en-de=FILE[,FILE]",
            help="Multilingual: a corpus whose first side is back-translated; its sources begin "
            "with the token <bt>, and only the direction to the second language is trained.",
        ),
    ] = ()
    dev_corpus: Annotated[
        tuple[str, ...],
        list[str] | None,
        typer.Option(
            "--dev-corpus",
            metavar="en-de=FILE[,FILE]",
            help="Multilingual: a corpus for evaluation during training, as for --corpus.",
        ),
    ] = ()
    lexicon: Annotated[
        Path | None,
        typer.Option(
            "--lexicon",
            metavar="FILE",
            help="Words and their translations, for words that the pairs hardly have; a line: "
            "word, tab, translation; perhaps a tab and a direction.",
        ),
    ] = None
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="LANGUAGE",
            help="Multilingual: language of the source file; with --to, short for --corpus.",
        ),
    ] = ""
    to: Annotated[
        str,
        typer.Option("--to", metavar="LANGUAGE", help="Multilingual: language of the target file."),
    ] = ""
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder of the run.")] = None
    processes: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Train in N processes on this machine; for several machines, start attn by "
            "torchrun.",
        ),
    ] = 1

    def run(self) -> None:
        """Train, show progress, and say how the model is used."""
        world = open_world(self.processes, self.computed, dry_run=self.dry_run)
        own, config = self._config()
        check_files(config.data.inputs)
        command_line.check_run_folder(self.output)
        check_effects(config, {} if own else tables_of(self.files), self._settings)
        arguments = self.context.meta[command_line.ARGUMENTS]
        if self.processes > world.size and not self.dry_run:
            raise typer.Exit(launch(self.processes, ["train", *arguments]))
        where = world.own_device(open_device(self.computed))
        if self.dry_run:
            from attncli.train import job  # imports torch

            with Display(config.train) as display, memory_advice(config.train):
                found = job.dry_run(config, device=where, progress=display.progress)
            return _show_estimate(found, config.train)
        kind, languages = training_source(config.model.family), config.tokenizer.languages
        folder = self.output or own or default_folder(kind, config.data, languages, config.preset)
        if not self.preset and not RunFolder(folder).has_begun:
            advice = start_advice(config, arguments)
            console.say(advice) if advice else None
        event = train_shown(config, folder, where, world)
        if not isinstance(event, AlreadyFinished):
            _finish(config, folder, kind)

    @property
    def _settings(self) -> list[str]:
        return [*self.assigned, *([f"data.lexicon={self.lexicon}"] if self.lexicon else [])]

    def _config(self) -> tuple[Path | None, RunConfig]:
        """Return the folder of the run if it is given, and the settings of the run."""
        dev, inputs = self.data_files()
        own, files = command_line.run_folder([*self.files])
        if dev and not files:
            message = "training files come first: attn train SOURCE TARGET --dev SOURCE TARGET"
            raise typer.BadParameter(message, param_hint=f"'{command_line.DEV}'")
        corpora = [parse_corpus(text) for text in self.corpus]
        corpora += [parse_corpus(text, tagged=True) for text in self.tagged_corpus]
        dev_corpora = [parse_corpus(text) for text in self.dev_corpus]
        if self.source or self.to:
            files, named = command_line.files_of_direction(files, self.source, self.to)
            if not (named or own):
                found = "--from and --to without training files of sentence pairs"
                raise ModelError(found, "SOURCE and TARGET, or one TSV")
            dev, named_dev = command_line.files_of_direction(dev, self.source, self.to)
            corpora, dev_corpora = [*corpora, *named], [*dev_corpora, *named_dev]
        return own, settings(
            files,
            dev,
            self.preset,
            self._settings,
            start=self.start_from,
            inputs=inputs,
            corpora=corpora,
            dev_corpora=dev_corpora,
        )


signed(TrainCommand, TrainCommand.__mro__, RunConfig)


def _finish(config: RunConfig, folder: Path, kind: type[TrainingSource]) -> None:
    """Write the memory of a finished run, and say how its model is used."""
    own_memory = _write_memory(config, folder)
    learned = getattr(config.data, "corpora", ())
    directions = [pair for one in learned for pair in one.directions]
    languages = config.tokenizer.languages
    _show_use(kind, directions or [("", name) for name in languages], folder)
    if own_memory:
        console.say(f"--memory {shlex.quote(str(own_memory))} keeps your own pairs as they are")


def _show_estimate(found: Estimate, train: TrainConfig) -> None:
    print(f"parameters        {found.parameters:,}")
    print(f"vocabulary        {found.vocabulary}")
    print(f"{found.unit:<18}{found.pairs:,} ({found.left_out:,} excluded), {found.dev:,} for dev")
    unit = "batch" if found.batches == 1 else "batches"
    print(f"an epoch          {found.batches:,} {unit}, {found.target_tokens:,} target tokens")
    print(
        f"recipe            {train.batch_tokens:,} tokens a batch, {train.schedule} rate after "
        f"{train.warmup:,} updates of warm-up, an evaluation every {found.interval(train):,}"
    )
    print(f"time              {found.time_needed(train)}")
    for warning in found.warnings:
        console.warn(warning)


def _write_memory(config: RunConfig, folder: Path) -> Path | None:
    """Write the pairs of a fine-tuned translator as its translation memory; None if it has none.

    Pairs of several directions are no memory of one. A memory may hold private texts: `attn models
    pack` leaves it out.
    """
    directions = getattr(config.data, "corpora", ())
    if not config.start_from or source_of(config.model.family).has_columns or len(directions) > 1:
        return None
    pairs = dict(islice(config.data.texts(), MAX_MEMORY_PAIRS + 1))
    if not 0 < len(pairs) <= MAX_MEMORY_PAIRS:
        return None
    lines = (f"{one_cell(source)}\t{one_cell(target)}\n" for source, target in pairs.items())
    write_text(folder / MEMORY, "".join(lines))
    return folder / MEMORY


def _show_use(
    source: type[TrainingSource], directions: Sequence[tuple[str, str]], folder: Path
) -> None:
    """Say where the samples of a finished run are, and how its model is used."""
    page, place = RunFolder(folder).samples / "index.html", shlex.quote(str(folder))
    if page.exists():
        console.say(f"samples of the dev set: {page}")
    direction = next((one for one in directions if one[1] != "en"), (*directions, ("", ""))[0])
    to = f" --to {direction[1]}" if direction[1] else ""
    command = source.example_input
    if "{}" in command:
        command = command.format(shlex.quote(ENGLISH if directions else _example(folder)))
    console.say(f"try: {command}{to} -m {place}")


def _example(folder: Path) -> str:
    """Return the shortest source of the samples of a run, an English sentence if it has none."""
    from attncli.train.saving import read_evaluations  # imports torch

    evaluations = read_evaluations(RunFolder(folder).samples)
    sources = [sample.source for sample in evaluations[-1].samples] if evaluations else []
    return min((text for text in sources if text.strip()), key=len, default=ENGLISH)


def default_folder(
    source: type[TrainingSource], data: DataConfig, languages: tuple[str, ...], preset: str
) -> Path:
    """Return the folder of a run without `--output`. languages: of a multilingual tokenizer."""
    if getattr(data, "corpora", ()):
        return Path("runs") / f"{'-'.join(languages)}-{preset}"
    if not data.files:
        return Path("runs") / source.demo_name
    name = Path(data.files[0]).name.split(".")[0]
    if glob.has_magic(name):  # a pattern of several files
        name = Path(data.files[0]).absolute().parent.name
    return Path("runs") / f"{name}-{preset}"

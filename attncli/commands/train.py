"""``attn train``: parse the options, run the job, show progress."""

from __future__ import annotations

import glob
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attncli import console
from attncli.commands.train_display import Display
from attncli.commands.train_files import (
    TrainCommand,
    check_run_folder,
    run_folder,
    train_files,
)
from attncli.commands.train_processes import compute_shards, open_device, start_processes
from attncli.data.streams import check_inputs
from attncli.jobs.loading import OpenOptions
from attncli.jobs.runs import worth_pruning
from attncli.options import Device, Threads
from attncli.render.columns import size
from attncli.render.duration import duration
from attncli.training.config import RunConfig, TrainConfig
from attncli.training.corpora import parse_corpus
from attncli.training.distributed.rank import Rank, own_rank
from attncli.training.events import AlreadyFinished, Interrupted
from attncli.training.folder import RunFolder
from attncli.training.settings import ImageOptions, LabelFiles, settings
from attncli.training.sources import training_source
from models.errors import ModelError

if TYPE_CHECKING:
    from attncli.training.estimate import Estimate
    from attncli.training.timing import Timing

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


def train(
    context: typer.Context,
    files: Files = None,
    *,
    dev: Dev = None,
    corpus: Corpora = None,
    tagged_corpus: TaggedCorpora = None,
    dev_corpus: DevCorpora = None,
    images: Images = None,
    captions: Captions = None,
    dev_captions: DevCaptions = None,
    labels: Labels = None,
    dev_labels: DevLabels = None,
    encoder: Encoder = "",
    encoder_weights: EncoderWeights = "",
    output: Output = None,
    preset: Preset = None,
    start: From = None,
    set: Set = None,
    dry_run: DryRun = False,
    processes: Processes = 1,
    fast_reduce: FastReduce = False,
    shard_model: ShardModel = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Train a model on sentence pairs, images or labelled texts.

    Without files, the model is trained on sentences of an embedded grammar. Text may be compressed
    (gz, xz, zst). The folder's config.toml contains every setting with its documentation. The same
    command resumes an interrupted run, and the result is that of an uninterrupted one. A finished
    run continues if train.steps, epochs, minutes or patience is raised.

    Example:
      attn train train.en train.de --dev val.en val.de -o runs/en-de -s train.batch_tokens=2048
      attn train -o runs/demo
      attn train runs/demo -s train.steps=2000
      attn train --corpus en-de=a.tsv --corpus en-fr=b.tsv --dev-corpus en-de=dev.tsv -o runs/multi
      attn train mine.en mine.de --from runs/en-de -o runs/mine -s train.lr=0.0005
      attn train --images photos --captions train.tsv --dev-captions dev.tsv -o runs/captions
      attn train --labels intents.tsv -o runs/intents
    """
    rank = own_rank(processes)
    if rank.number:  # process 0 reads all other options
        compute_shards(rank, OpenOptions(device, threads))
        return
    given = ImageOptions(images, captions, dev_captions, encoder, encoder_weights)
    own, files = run_folder(files or [])
    named = train_files(files, dev or [])
    corpora = [parse_corpus(text) for text in corpus or []]
    corpora += [parse_corpus(text, tagged=True) for text in tagged_corpus or []]
    config = settings(
        *named,
        preset,
        [
            *(set or []),
            *(["train.fast_reduce=true"] if fast_reduce else []),
            *(["train.shard_model=true"] if shard_model else []),
        ],
        start=start,
        images=given,
        labels=LabelFiles(labels, dev_labels),
        corpora=corpora,
        dev_corpora=[parse_corpus(text) for text in dev_corpus or []],
    )
    check_inputs(config.data.inputs)
    check_run_folder(output)
    if processes > 1 and rank.is_alone and not dry_run:
        start_processes(processes, context)
    where = open_device(rank, OpenOptions(device, threads))
    if dry_run:
        _dry_run(config, where, processes, rank)
    else:
        _train(config, output or own or default_folder(config), where, rank)


train.command_class = TrainCommand  # type: ignore[attr-defined]


def _dry_run(config: RunConfig, device: str, processes: int, rank: Rank) -> None:
    from attncli.jobs import train as job  # imports torch

    with Display(config.train) as display, memory_advice(config.train):
        found = job.dry_run(
            config, device=device, progress=display.progress, processes=processes, rank=rank
        )
    print(described(found))


def _train(config: RunConfig, folder: Path, device: str, rank: Rank) -> None:
    from attncli.jobs import train as job  # imports torch

    event = None
    with stopping() as stop, Display(config.train) as display, memory_advice(config.train):
        try:
            for event in job.train(
                config,
                folder,
                device=device,
                progress=display.progress,
                stop_requested=stop,
                rank=rank,
            ):
                display.take(event)
        except (Interrupted, KeyboardInterrupt) as interruption:
            display.break_off()
            saved = f"saved in {folder}; " if isinstance(interruption, Interrupted) else ""
            console.say(f"stopped; {saved}the same command continues from here")
            raise typer.Exit(stop.status or 130) from None
    if not isinstance(event, AlreadyFinished):
        example = training_source(config.model.family).example(config, folder)
        page = RunFolder(folder).samples_page
        if page.exists():
            console.say(f"samples of the dev set: {page}")
        console.say(f"try: {example} -m {shlex.quote(str(folder))}")
        offer_pruning(folder)


def offer_pruning(folder: Path) -> None:
    """Name the command that frees space, if a finished run needs much more than its model."""
    if freed := worth_pruning(folder):
        console.say(
            f"`attn runs prune {shlex.quote(str(folder))}` frees {size(freed)} "
            "(the run can then no longer continue)"
        )


def default_folder(config: RunConfig) -> Path:
    """Return the folder of a run without `--output`."""
    if config.data.corpora:
        return Path("runs") / f"{'-'.join(config.tokenizer.languages)}-{config.preset}"
    source = training_source(config.model.family)
    files = source.files(config.data)
    if not files:
        return Path("runs") / source.demo_name
    name = Path(files[0]).name.split(".")[0]
    if glob.has_magic(name):  # a pattern of several files
        name = Path(files[0]).absolute().parent.name
    return Path("runs") / f"{name}-{config.preset}"


class Stop:
    """Request of a signal to stop the run, with the exit status."""

    def __init__(self) -> None:
        self.status = 0
        self.looked_at = False  # True once a run can be saved; until then it ends at once
        self.said = False

    def __call__(self) -> bool:
        """Return True once a signal was received."""
        self.looked_at = True
        if self.status and not self.said:
            self.said = True
            console.say("saving before stopping; press again to stop at once")
        return self.status != 0

    def ask(self, number: int, frame: object) -> None:
        """Handle a signal; end the program at once if it is the second or nothing needs saving."""
        again, self.status = self.status != 0, 128 + number
        if again or not self.looked_at:
            raise KeyboardInterrupt


@contextmanager
def stopping() -> Iterator[Stop]:
    """Turn Ctrl-C and SIGTERM into a request to save and stop."""
    stop = Stop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, stop.ask) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def described(found: Estimate) -> str:
    """Return the results of a dry run, one per line."""
    each = together = ""
    if found.processes > 1:
        each, together = " per process", f"; {found.processes} processes, network not counted"
    return "\n".join(
        [
            f"parameters        {found.parameters:,}",
            f"vocabulary        {found.vocabulary}",
            f"{found.unit:<18}{found.pairs:,} ({found.left_out:,} excluded)",
            f"an epoch          {found.batches:,} batches, {found.target_tokens:,} target tokens",
            f"estimated memory  {found.memory_bytes / 2**20:,.0f} MiB{each}",
            f"estimated time    {described_time(found.timing)}{together}",
        ]
    )


def described_time(timing: Timing) -> str:
    """Return the time of an update, an epoch and a run."""
    epoch = duration(timing.per_epoch * timing.per_update)
    parts = f"{timing.per_update:.2g} s per update, {epoch} per epoch, "
    if not timing.updates:
        return parts + "until early stopping ends the run; evaluations not counted"
    return parts + f"{duration(timing.seconds)} at most; evaluations not counted"


@contextmanager
def memory_advice(config: TrainConfig) -> Iterator[None]:
    """Raise a ModelError that names the settings to change if memory is exhausted."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if explained := out_of_memory(error, config):
            raise explained from None
        raise


def out_of_memory(error: Exception, config: TrainConfig) -> ModelError | None:
    """Return a ModelError for exhausted memory; None for any other error."""
    said = str(error).lower()
    if not isinstance(error, MemoryError) and not any(
        sign in said for sign in ("out of memory", "can't allocate memory", "not enough memory")
    ):
        return None
    return ModelError(
        "the memory is exhausted",
        "smaller batches",
        f"lower train.batch_tokens (now {config.batch_tokens}), raise train.accumulate "
        f"(now {config.accumulate}) by the same factor, and choose another -o",
    )

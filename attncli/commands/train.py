"""``attn train``: parse, run the job, show how it goes."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attncli import console
from attncli.jobs.device import choose_device, use_threads
from attncli.jobs.train import Estimate, Interrupted, Kept, estimate, settings
from attncli.jobs.train import train as run
from attncli.options import Device, Threads

if TYPE_CHECKING:
    from attncli.jobs.train import Event
    from attncli.training.config import RunConfig

Files = Annotated[
    list[Path] | None,
    typer.Argument(help="Source and target files, or one TSV, or a run's config.toml."),
]
Dev = Annotated[
    list[Path] | None,
    typer.Option("--dev", help="Dev source and target, or one TSV; more columns: more references."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Folder of the run.")]
Preset = Annotated[
    str | None, typer.Option("--preset", "-p", help="Where to start from; `attn models` lists all.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", help="A setting, section.key=value; may be given many times."),
]


def train(
    files: Files = None,
    *,
    dev: Dev = None,
    output: Output = None,
    preset: Preset = None,
    set: Set = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what the run would be, and stop.")
    ] = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Train a model on sentence pairs, from text files to a folder that translates.

    Without files, a sentence grammar that comes with attn is learned. Text may be compressed (gz,
    xz, zst). The folder's config.toml holds every setting, each with a line that explains it. The
    same command goes on where a run was broken off, and ends as if it had not been.

    Example:
      attn train -o runs/demo
    """
    pairs, dev_files = split_dev(files or [], dev or [])
    config = settings(pairs, dev_files, preset, set or [])
    use_threads(threads)
    where = choose_device(device)
    if dry_run:
        with Display(config) as display:
            found = estimate(config, device=where, show=display.show)
        print(described(found))
        return
    folder = output or default_folder(config)
    with stopping() as stop, Display(config) as display:
        try:
            for event in run(config, folder, device=where, show=display.show, stop=stop):
                display.take(event)
        except Interrupted:
            display.close()
            console.say(f"stopped; saved in {folder}; the same command goes on from here")
            raise typer.Exit(stop.status) from None
        except RuntimeError as error:
            raise explained(error, config) from None
    console.say(f'try: echo "..." | attn translate -m {folder}')


def split_dev(files: list[Path], dev: list[Path]) -> tuple[list[Path], list[Path]]:
    """Training and dev files; `--dev a b` leaves b among the arguments, where it is found."""
    if len(dev) == 1 and len(files) > 2:
        return files[:2], [*dev, *files[2:]]
    if len(dev) == 1 and len(files) == 2 and dev[0].suffix not in (".tsv", ".xz", ".gz", ".zst"):
        return files[:1], [*dev, files[1]]
    return files, dev


def default_folder(config: RunConfig) -> Path:
    """Where a run goes that names no folder."""
    name = Path(config.data.train[0]).name.split(".")[0] if config.data.train else "demo"
    return Path("runs") / (f"{name}-{config.preset}" if config.data.train else name)


class Stop:
    """Whether a signal has asked the run to stop, and the exit status that goes with it."""

    def __init__(self) -> None:
        self.status = 0

    def __call__(self) -> bool:
        """True once a signal came."""
        return self.status != 0


@contextmanager
def stopping() -> Iterator[Stop]:
    """Turn the first Ctrl-C or SIGTERM into a request to save and stop; a second one stops dead."""
    stop = Stop()

    def asked(number: int, frame: object) -> None:
        if stop():
            raise KeyboardInterrupt
        stop.status = 128 + number
        console.say("saving before stopping; once more to stop at once")

    before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Display:
    """The bars of a run: preparation first, then the updates."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.stack = ExitStack()
        self.label = ""
        self.advance: console.Advance = lambda done, note="": None
        self.dev = ""
        self.tokens, self.seconds, self.shown = 0, 0.0, 0.0

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the bar that is shown."""
        self.stack.close()

    def begin(self, label: str, total: float | None) -> None:
        """Show a bar for another part of the work."""
        if label != self.label:
            self.close()
            self.label = label
            self.advance = self.stack.enter_context(console.progress(label, total=total))

    def show(self, label: str, done: float, total: float) -> None:
        """How far a part of the preparation is."""
        self.begin(label, total)
        self.advance(done)

    def take(self, event: Event | Kept) -> None:
        """Show one event of the training."""
        from attncli.training.loop import Ended, Evaluated, Stepped

        match event:
            case Stepped():
                self.stepped(event)
            case Evaluated():
                bleu = event.scores.bleu
                score = f"loss {event.scores.loss:.3f}" if bleu is None else f"BLEU {bleu:.2f}"
                self.dev = f"  dev {score}{' *' if event.gained else ''}"
                if not console.is_terminal():
                    console.say(f"update {event.step}  dev loss {event.scores.loss:.3f} {score}")
            case Ended():
                self.close()
                console.say(f"ended after {event.step:,} updates: {event.reason}")
            case Kept():
                score = "" if event.score is None else f", dev {event.score:.2f}"
                console.say(f"kept: {event.which}{score}")

    def stepped(self, event: Event) -> None:
        """Epoch, loss, speed and the last dev score, a few times a second."""
        from attncli.training.loop import Stepped

        assert isinstance(event, Stepped)
        train = self.config.train
        total = train.steps or train.epochs or None
        self.begin("training", total)
        self.tokens, self.seconds = self.tokens + event.tokens, self.seconds + event.seconds
        if time.monotonic() - self.shown < 0.2:
            return
        speed = self.tokens / max(self.seconds, 1e-9)
        self.tokens, self.seconds = int(self.tokens * 0.8), self.seconds * 0.8  # recent counts more
        self.shown = time.monotonic()
        done = event.step if train.steps else event.epoch + event.progress
        note = f"epoch {event.epoch + 1}  loss {event.loss:.3f}  {speed:,.0f} tok/s{self.dev}"
        self.advance(done, note)


def described(found: Estimate) -> str:
    """A dry run's findings, a line each."""
    joint = found.source_pieces == found.target_pieces
    pieces = f"{found.source_pieces:,}" + ("" if joint else f" and {found.target_pieces:,}")
    return "\n".join(
        [
            f"parameters        {found.parameters:,}",
            f"vocabulary        {pieces} pieces",
            f"sentence pairs    {found.pairs:,} ({found.left_out:,} left out)",
            f"an epoch          {found.batches:,} batches, {found.target_tokens:,} target tokens",
            f"estimated memory  {found.memory_bytes / 2**20:,.0f} MiB",
        ]
    )


def explained(error: RuntimeError, config: RunConfig) -> Exception:
    """An exhausted GPU as a user's mistake that says what to lower; other errors as they are."""
    from models.errors import ModelError

    if "out of memory" not in str(error).lower():
        return error
    return ModelError(
        "the GPU's memory is exhausted",
        "smaller batches",
        f"lower train.batch_tokens (now {config.train.batch_tokens}) and raise train.accumulate "
        f"(now {config.train.accumulate}) by as much",
    )

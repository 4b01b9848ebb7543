"""How a training run is shown: lines that stay, and a bar, where stderr is a terminal."""

from __future__ import annotations

import time
from contextlib import ExitStack

from attncli import console
from attncli.training.config import TrainConfig
from attncli.training.events import (
    Ended,
    Evaluated,
    FinalModel,
    Finished,
    RunEvent,
    Started,
    Stepped,
)

EVERY = 0.2  # seconds between two looks at the bar
NAMES = {"loss": "loss", "bleu": "BLEU", "cider": "CIDEr"}  # of metrics
RECENT = 0.8  # of tokens and seconds that count at the next look


class Display:
    """The bars of a run: preparation first, then the updates."""

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.stack = ExitStack()
        self.label = ""
        self.advance: console.Progress = lambda done, note="": None
        self.forget()

    def forget(self) -> None:
        """Know nothing of any run; a comparison shows one after another."""
        self.done, self.note, self.dev = 0.0, "", ""
        self.tokens, self.seconds, self.shown = 0.0, 0.0, 0.0

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the bar that is shown."""
        self.stack.close()
        self.label = ""

    def begin(self, label: str, total: float | None) -> None:
        """Progress a bar for another part of the work."""
        if label != self.label:
            self.close()
            self.label = label
            self.advance = self.stack.enter_context(console.progress(label, total=total))

    def progress(self, label: str, done: float, total: float) -> None:
        """How far a part of the work is; an evaluation is a note beside the bar of the updates."""
        if self.label == "training":
            self.advance(self.done, f"{self.note}  {label} {done / total:.0%}")
        else:
            self.begin(label, total or None)
            self.advance(done)

    def take(self, event: RunEvent) -> None:
        """Progress one event of the training."""
        match event:
            case Started():
                self.close()
                self.forget()
                started(event)
            case Stepped():
                self.stepped(event)
            case Evaluated():
                self.evaluated(event)
            case Ended():
                self.close()
                console.say(f"ended after {event.step:,} updates: {event.reason}")
            case FinalModel():
                self.close()
                console.say(f"kept: {_kept(event, self.config)}")
            case Finished():
                console.say(
                    f"finished before, after {event.step:,} updates ({event.reason}); "
                    f"kept: {_kept(event.kept, self.config)}"
                )

    def stepped(self, event: Stepped) -> None:
        """Epoch, loss, speed and the last dev score, a few times a second."""
        self.begin("training", self.config.steps or self.config.epochs or None)
        self.tokens, self.seconds = self.tokens + event.tokens, self.seconds + event.seconds
        if time.monotonic() - self.shown < EVERY:
            return
        speed = self.tokens / max(self.seconds, 1e-9)
        self.tokens, self.seconds = self.tokens * RECENT, self.seconds * RECENT
        self.shown = time.monotonic()
        self.done = event.step if self.config.steps else event.epoch + event.progress
        self.note = f"epoch {event.epoch + 1}  loss {event.loss:.3f}  {speed:,.0f} tok/s{self.dev}"
        self.advance(self.done, self.note)

    def evaluated(self, event: Evaluated) -> None:
        """The scores: a line that stays, and the note beside the bar."""
        loss, bleu, cider, directions = event.scores
        scores = [] if bleu is None else [f"BLEU {bleu:.2f}"]
        scores += [] if cider is None else [f"CIDEr {cider:.3f}"]
        best = " (best)" if event.gained else ""
        self.dev = f"  dev {(scores or [f'loss {loss:.3f}'])[0]}{best}"
        every = "  ".join([*scores, f"loss {loss:.3f}"])
        console.say(f"update {event.step:,}  epoch {event.epoch + 1}  dev {every}{best}")
        if directions:
            shown = "  ".join(f"{name} {score:.2f}" for name, score in directions.items())
            console.say(f"    BLEU by direction: {shown}")


def started(event: Started) -> None:
    """Print what is trained on which data, and warnings about the data."""
    console.say(
        f"{event.preset}: {event.parameters:,} parameters, {event.vocabulary}, "
        f"{event.pairs:,} {event.unit}, {event.dev:,} for dev; {event.device}, {event.precision}"
    )
    if event.empty or event.long:
        console.warn(
            f"{event.empty + event.long:,} {event.unit} are excluded: {event.empty:,} with an "
            f"empty side, {event.long:,} longer than {event.length_limits}"
        )
    if event.dev_long:
        console.warn(
            f"{event.dev_long:,} dev sentences are longer than model.max_source and score as empty"
        )
    for note in event.notes:
        console.warn(note)
    if event.step:
        console.say(f"going on after update {event.step:,}")


def _kept(kept: FinalModel, config: TrainConfig) -> str:
    if kept.score is None:
        return f"{kept.which}, of update {kept.step:,}"
    shown = {"loss": f"{-kept.score:.3f}", "bleu": f"{kept.score:.2f}"}
    score = f"{NAMES[config.metric]} {shown.get(config.metric, f'{kept.score:.3f}')}"
    return f"{kept.which}, dev {score}, of update {kept.step:,}"

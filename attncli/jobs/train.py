"""Training: a run folder from data to a bundle, going on where an earlier run was broken off."""

from __future__ import annotations

import dataclasses
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attncli.data import corpus
from attncli.training.config import RunConfig, run_config
from attncli.training.folder import RunFolder, claim
from models.errors import ModelError

if TYPE_CHECKING:
    import torch

    from attncli.training.loop import Evaluate, Event
    from attncli.training.prepare import DevSet, Prepared, Show
    from attncli.training.state import State


class Kept(NamedTuple):
    """The model that a run leaves."""

    which: str  # "best", "average of N" or "last"
    score: float | None  # on the dev set, by the metric
    step: int


class Interrupted(Exception):
    """The run was asked to stop; its state is saved."""


def settings(
    files: list[Path], dev: list[Path], preset: str | None, assignments: list[str]
) -> RunConfig:
    """The run's configuration from what the command line names: data files or one TOML file."""
    from attncli.training.config import from_toml

    values: dict[str, object] = {}
    if len(files) == 1 and files[0].suffix == ".toml":
        try:
            values = from_toml(files[0].read_text("utf-8"), str(files[0]))
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"cannot read {files[0]} ({error})", "a TOML file") from None
        files = []
    named = {
        name: [str(path.absolute()) for path in paths]
        for name, paths in (("train", files), ("dev", dev))
        if paths
    }
    if named:
        values = {**values, "data": {**_table(values, "data"), **named}}
    default = RunConfig.preset if _table(values, "data").get("train") else "demo"
    chosen = preset or str(values.get("preset", "")) or default
    return run_config(chosen, {**values, "preset": chosen}, assignments)


def _table(values: dict[str, object], name: str) -> dict[str, object]:
    table = values.get(name, {})
    return table if isinstance(table, dict) else {}


def train(
    config: RunConfig,
    path: Path,
    *,
    device: str,
    show: Show,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Event | Kept]:
    """Train in a folder and yield what happens; afterwards the folder is a bundle.

    Raises Interrupted, with everything saved, once `stop()` is true.
    """
    import torch

    from attncli.training import machine, prepare, state

    folder = RunFolder(path)
    resumed = claim(folder, config, fingerprints(config))
    data = config.data
    if not data.train:
        data = prepare.write_demonstration(data, config.train.seed, path)
    prepared = prepare.prepare(config, data, folder.data, show)
    dev = prepare.read_dev(data)
    machine.keep_memory()
    where = torch.device(device)
    run = Run(folder, config, prepared, dev, fresh_state(config, prepared, where))
    if resumed and folder.checkpoint.exists():
        state.restore(run.state, folder.checkpoint)
    yield from run.events(machine.precision(config.train, where), stop)


def fingerprints(config: RunConfig) -> dict[str, str]:
    """What the data files hold, so that a folder of other data is recognised."""
    parts = {"train": config.data.train, "dev": config.data.dev}
    return {name: corpus.fingerprint(paths) if paths else "" for name, paths in parts.items()}


def fresh_state(config: RunConfig, prepared: Prepared, device: torch.device) -> State:
    """A new model of this run's seed, before its first update."""
    import torch

    from attncli.training.state import State
    from models.bundle import build, sizes_of

    torch.manual_seed(config.train.seed)
    model = build(config.model, sizes_of(prepared.tokenizer)).to(device)
    torch.manual_seed(config.train.seed)
    return State(model, config.train)


class Run:
    """One run in its folder: takes the loop's events, logs them, saves, and keeps the best."""

    def __init__(
        self,
        folder: RunFolder,
        config: RunConfig,
        prepared: Prepared,
        dev: DevSet | None,
        state: State,
    ) -> None:
        self.folder, self.config, self.prepared = folder, config, prepared
        self.dev, self.state = dev, state

    def events(self, dtype: torch.dtype, stop: Callable[[], bool]) -> Iterator[Event | Kept]:
        """Train to the end, from wherever the state is."""
        from attncli.training.log import Log
        from attncli.training.loop import Ended, Evaluated, Stepped, fit

        self.log = Log(self.folder.log, self.state.counters.log_bytes)
        saved = time.monotonic()
        evaluate = self.evaluator() if self.dev else None
        for event in fit(self.state, self.prepared.pairs, evaluate, self.config.train, dtype):
            match event:
                case Stepped():
                    self.log_step(event)
                    late = time.monotonic() - saved > 60 * self.config.train.checkpoint_minutes
                    if late or stop():
                        self.save()
                        saved = time.monotonic()
                case Evaluated():
                    self.keep(event)
                    saved = time.monotonic()
                case Ended():
                    self.save()
            yield event
            if stop() and not isinstance(event, Ended):
                self.save()
                raise Interrupted
        yield self.finish()

    def evaluator(self) -> Evaluate:
        """The function that scores the current weights on the dev set."""
        from attncli.training.evaluation import dev_scores

        assert self.dev is not None
        dev = self.dev
        return lambda state: dev_scores(state, self.prepared.tokenizer, dev, self.config)

    def log_step(self, event: Event) -> None:
        """Log every so many updates."""
        if event.step % self.config.train.log_every == 0:
            record = {**event._asdict(), "tokens_per_second": 0.0}
            record["tokens_per_second"] = record["tokens"] / max(record["seconds"], 1e-9)
            self.log.write({"event": "train", **record})

    def keep(self, event: Event) -> None:
        """After an evaluation: log it, keep its weights, and the bundle if it is the best."""
        from attncli.training.loop import Evaluated

        assert isinstance(event, Evaluated)
        counters = self.state.counters
        self.log.write(
            {
                "event": "dev",
                "step": event.step,
                "epoch": event.epoch,
                **event.scores._asdict(),
                "gained": event.gained,
                "seconds": counters.seconds,
            }
        )
        gone: list[int] = []
        if self.config.train.average:
            self.write_snapshot(event.step)
            counters.snapshots.append(event.step)
            gone = counters.snapshots[: -self.config.train.average]
            counters.snapshots = counters.snapshots[-self.config.train.average :]
        if event.gained:
            self.write_bundle(f"best of the evaluations, at update {event.step}")
        self.save()
        for step in gone:
            self.folder.snapshot(step).unlink(missing_ok=True)

    def save(self) -> None:
        """Write the checkpoint, and the bundle too where no dev set chooses the best."""
        from attncli.training import state

        self.state.counters.log_bytes = self.log.size
        state.save(self.state, self.folder.checkpoint)
        if self.dev is None:
            self.write_bundle(f"as it was after update {self.state.counters.step}")

    def write_snapshot(self, step: int) -> None:
        """Keep the weights of an evaluation, to be averaged."""
        from safetensors.torch import save as to_bytes

        from models.files import refused, write_bytes

        path = self.folder.snapshot(step)
        with refused(path):
            path.parent.mkdir(exist_ok=True)
        write_bytes(path, to_bytes(self.state.weights()))

    def write_bundle(self, which: str) -> None:
        """Make the folder a bundle of the state's weights."""
        from attncli.training.evaluation import using
        from models.bundle import Bundle, save

        bundle = Bundle(
            self.state.model, self.prepared.tokenizer, self.config.tokenizer, self.config.search
        )
        with using(self.state.model, self.state.weights()):
            save(bundle, self.folder.path, card=card(self.config, self.state, which))

    def finish(self) -> Kept:
        """Keep the average of the last evaluations if it scores better than the best one."""
        from attncli.render.plots import curves
        from attncli.training.evaluation import averaged, dev_scores, using
        from attncli.training.log import read_log

        counters, snapshots = self.state.counters, self.state.counters.snapshots
        kept = Kept("best", counters.best, counters.best_step)
        if self.dev is None:
            kept = Kept("last", None, counters.step)
        elif len(snapshots) > 1:
            mean = averaged([self.folder.snapshot(step) for step in snapshots])
            self.state.average = None
            with using(self.state.model, mean):
                scores = dev_scores(self.state, self.prepared.tokenizer, self.dev, self.config)
                use_loss = self.config.train.metric == "loss" or scores.bleu is None
                value = -scores.loss if use_loss else scores.bleu
                assert value is not None and counters.best is not None
                self.log.write({"event": "average", "of": snapshots, **scores._asdict()})
                if value > counters.best:
                    self.write_bundle(f"average of the evaluations at updates {snapshots}")
                    kept = Kept(f"average of {len(snapshots)}", value, snapshots[-1])
        self.log.close()
        curves(self.folder.curves, read_log(self.folder.log))
        return kept


def card(config: RunConfig, state: State, which: str) -> str:
    """The model card: what the bundle is, in words."""
    counters = state.counters
    best = "none" if counters.best is None else f"{counters.best:.2f}"
    data = ", ".join(Path(path).name for path in config.data.train) or "the embedded grammar"
    return (
        f"# {config.preset}\n\n"
        f"An attn model of family `{config.model.family}`, "
        f"{state.model.parameter_count():,} parameters.\n\n"
        f"- Trained on: {data}\n"
        f"- Weights: {which}\n"
        f"- Best dev score ({config.train.metric}): {best}\n"
        f"- Target tokens seen: {counters.tokens:,} in {counters.step:,} updates\n"
    )


class Estimate(NamedTuple):
    """What a run would be, without running it."""

    parameters: int
    source_pieces: int
    target_pieces: int
    pairs: int
    left_out: int
    batches: int
    target_tokens: int  # of an epoch
    memory_bytes: int


def estimate(config: RunConfig, *, device: str, show: Show) -> Estimate:
    """Parameters, vocabulary, batches of an epoch and memory; nothing is trained."""
    import tempfile

    import torch

    from attncli.data.batching import epoch_plan, gather
    from attncli.training import prepare
    from attncli.training.evaluation import step_bytes

    with tempfile.TemporaryDirectory(prefix="attn-dry-run-") as name:
        folder, data = Path(name), config.data
        if not data.train:
            data = prepare.write_demonstration(data, config.train.seed, folder)
        prepared = prepare.prepare(config, data, folder / "data", show)
        state = fresh_state(config, prepared, torch.device(device))
        plan = epoch_plan(prepared.pairs, config.train.batch_tokens, seed=1, epoch=0)
        batch = gather(prepared.pairs, max(plan, key=len), torch.device(device))
        return Estimate(
            parameters=state.model.parameter_count(),
            source_pieces=len(prepared.tokenizer.source),
            target_pieces=len(prepared.tokenizer.target),
            pairs=prepared.pairs.count,
            left_out=sum(prepared.dropped),
            batches=len(plan),
            target_tokens=int(prepared.pairs.target.offsets[-1]),
            memory_bytes=step_bytes(state, batch, config.train),
        )


def changed(config: RunConfig, data: dict[str, object]) -> RunConfig:
    """The configuration with other data settings."""
    return dataclasses.replace(config, data=dataclasses.replace(config.data, **data))  # type: ignore[arg-type]


def remove(path: Path) -> None:
    """Delete a run folder, to begin it again."""
    shutil.rmtree(path, ignore_errors=True)

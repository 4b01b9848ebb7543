"""A run: settings, data, state and run folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from attncli.terminal.messages import counted
from attncli.train._fit import batches_of, reopen
from attncli.train._fitting import SHORT
from attncli.train._precision import DTYPES
from attncli.train._state import State, restore
from attncli.train._vectors import load_vectors
from attncli.train.events import Log, LoggedRun, Started, open_listeners
from attncli.train.folder import RunFolder
from attncli.training.config import RunConfig, TrainConfig
from attncli.training.dev import Data, DevSet
from attncli.training.sources import TrainingSource, source_of_run, training_source
from attncli.training.start import start_of
from attncli.version import __version__
from models.core.errors import ConfigurationError, InputError
from models.core.settings import from_dict, to_dict
from models.core.use_config import AlignConfig, SearchConfig
from models.networks.bundle import Bundle, build, read_aligner, sizes_of
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.image_encoder import pretrained_encoder
from models.storage.archive import read_lexicon_bytes
from models.storage.digests import read_part
from models.storage.presets import PRESETS
from models.storage.settings import REPLAY, read_settings

NEVER = -1  # update of the last evaluation


class KeptParts(NamedTuple):
    """The parts of a bundle that a run takes from its initial model, other than weights."""

    settings: AlignConfig = AlignConfig()
    statistical: Any = None  # tables of word links
    replay: bytes = b""
    lexicon: bytes = b""


class Run(NamedTuple):
    """The objects of a run."""

    folder: RunFolder
    config: RunConfig
    data: Data
    state: State
    dtype: torch.dtype  # of matrix products
    log: Log
    kept: KeptParts
    metric_is_auto: bool = False  # True if train.metric was chosen from the dev data

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next(self.state.model.parameters()).device

    def bundle(self, model: EncoderDecoder) -> Bundle:
        """Return a model with the tokenizer, the settings and the kept parts of the run."""
        config, data, kept = self.config, self.data, self.kept
        search = SearchConfig(**vars(config.search))
        tables = (
            search,
            kept.settings,
            kept.statistical,
            data.prepare,
            kept.replay,
            data.lexicon or kept.lexicon,
        )
        return Bundle(model, data.tokenizer, config.tokenizer, *tables)


def open_run(folder: RunFolder, config: RunConfig, data: Data, device: torch.device) -> Run:
    """Return the run of a folder, restored from its checkpoint; a new run if there is none.

    config: its train.precision is fp32 or bf16.
    """
    is_auto = config.train.metric == "auto"
    config = completed(config, data)
    check_end(config.train, data.dev)
    state = stored_state(folder, source_of_run(config), data, device)
    check_dev(data, state.model)
    counters = state.counters
    dtype = DTYPES[config.train.precision]
    logged = LoggedRun(folder.path, counters.step, to_dict(config))
    log = Log(folder.log, counters.log_bytes, open_listeners(config.train.loggers, logged))
    kept = kept_parts(config.start_from)
    return Run(
        folder, config, data, state=state, dtype=dtype, log=log, kept=kept, metric_is_auto=is_auto
    )


def check_end(train: TrainConfig, dev: DevSet | None) -> None:
    """Raise ConfigurationError if nothing ends a run with this dev set."""
    if not (train.steps or train.epochs or train.minutes or (train.patience and dev)):
        stop = "no dev set has a gain to wait for" if train.patience else "train.patience, too"
        seen = f"train.steps, train.epochs and train.minutes are 0, and {stop}"
        raise ConfigurationError(seen, "an end", "set one of them")


def check_dev(data: Data, model: EncoderDecoder) -> None:
    """Raise InputError for a dev set of which no example can be scored."""
    dev, tokenizer = data.dev, data.tokenizer
    if dev is None or next(iter(dev.batches(tokenizer, model)), None) is not None:
        return
    long = dev.too_long(tokenizer, model.config)
    raise InputError(
        f"no usable example in the dev set: of {len(dev):,}, {long:,} are longer than "
        "model.max_source, and the others have an empty side",
        "texts of that length on both sides",
        "name another dev set",
    )


def kept_parts(start_from: str) -> KeptParts:
    """Return what a run keeps of its initial model besides weights; the defaults without one.

    The statistical aligner depends on words alone, and the alignment layer and the heads are part
    of the weights, so their settings still apply.
    """
    if not start_from:
        return KeptParts()
    folder = Path(start_from)
    stored = read_settings(folder).get("alignment", {})
    settings = from_dict(AlignConfig, stored, where="alignment")
    tables = (read_aligner(folder), read_part(folder, REPLAY), read_lexicon_bytes(folder))
    return KeptParts(settings, *tables)


def completed(config: RunConfig, data: Data) -> RunConfig:
    """Return the settings with the metric and the search that are chosen by the data."""
    if config.train.metric == "auto":
        metric = data.dev.default_metric() if data.dev else "bleu"
        config = replace(config, train=replace(config.train, metric=metric))
    source = training_source(config.model.family)
    search = source.search_settings(config.search, data.examples)
    return replace(config, search=search)


def stored_state(
    folder: RunFolder, source: TrainingSource, data: Data, device: torch.device
) -> State:
    """Return the state of a run's checkpoint, or of a new run, ready to continue."""
    state = fresh_state(source, data, device)
    if source.start_from:
        state.counters.evaluated = NEVER  # so that the initial model is scored
    if folder.checkpoint.exists():
        restore(state, folder.checkpoint)
    reopen(state.counters, source.train)
    return state


def fresh_state(source: TrainingSource, data: Data, device: torch.device) -> State:
    """Return the state before the first update: a model initialised from the run's seed."""
    config, train = source.model, source.train
    torch.manual_seed(train.seed)
    own = replace(config, vectors=())  # the bundle names no file of vectors
    model = build(own, sizes_of(data.tokenizer, config.family))
    start_of(source.start_from).fill(model, data.tokenizer)
    load_vectors(model, config.vectors, data.tokenizer)
    for name, values in data.buffers.items() if not source.start_from else ():
        model.get_buffer(name).copy_(values)
    if train.encoder_from and (encoder := pretrained_encoder(model)):
        encoder.unfreeze()  # its weights are part of the state from the start
    # the updates draw the same numbers whatever the initial weights have drawn
    torch.manual_seed(train.seed)
    return State(model.to(device), train)


def started(run: Run, processes: int = 1, changes: tuple[str, ...] = ()) -> Started:
    """Return the first event of the run, and write it to a new log.

    changes: of the learning rate since the run was begun.
    """
    data, dev, family = run.data, run.data.dev, run.config.model.family
    source = training_source(family)
    found = Started(
        preset=run.config.preset,
        parameters=run.state.model.parameter_count(),
        vocabulary=source.describe_vocabulary(sizes_of(data.tokenizer, family)),
        pairs=data.pairs or data.examples.count,
        unit=source.unit,
        length_limits=source.length_limits,
        empty=data.dropped.empty,
        long=data.dropped.long,
        notes=data.notes + changes,
        dev=len(dev) if dev else 0,
        dev_long=dev.too_long(data.tokenizer, run.config.model) if dev else 0,
        device=str(run.device),
        precision=run.config.train.precision,
        metric=run.config.train.metric if dev else "",
        metric_is_auto=run.metric_is_auto,
        step=run.state.counters.step,
        remarks=data.remarks + short_warm_up(run),
        processes=processes,
        dev_option=run.config.data.dev_option,
    )
    if not run.log.size:
        versions = {"attn": __version__, "torch": torch.__version__}
        threads = torch.get_num_threads()
        run.log.write("start", {**found._asdict(), "threads": threads, **versions})
    return found


def short_warm_up(run: Run) -> tuple[str, ...]:
    """Return a remark if the warm-up of the preset was shortened to a tenth of the run."""
    train, chosen = run.config.train, PRESETS.get(run.config.preset)
    usual = chosen.train.get("warmup", TrainConfig.warmup) if chosen else 0
    passes = train.epochs * len(batches_of(run.data.examples.at(0), train))
    updates = min(filter(None, (train.steps, passes)), default=0)
    if run.config.start_from or not train.warmup < usual or SHORT * train.warmup > updates + SHORT:
        return ()
    return (
        f"warm-up: {counted(train.warmup, 'update')}, a tenth of the run, where the preset has "
        f"{usual:,} (train.warmup)",
    )

"""What a run keeps: its checkpoint, snapshots of its weights, and the best of them as a bundle."""

from __future__ import annotations

import math
from pathlib import Path

from safetensors.torch import save as to_bytes

from attncli.render.plots import curves
from attncli.training import state as checkpoint
from attncli.training.config import RunConfig
from attncli.training.dev_texts import DevTexts
from attncli.training.evaluation import averaged, dev_scores, using
from attncli.training.events import Evaluated, Kept
from attncli.training.folder import RunFolder
from attncli.training.log import read_log
from attncli.training.loop import value_of
from attncli.training.material import Heartbeat
from attncli.training.run import Run
from attncli.training.state import Counters, State
from models import load_translator
from models.alignment import alone
from models.bundle import Bundle, write_alignment
from models.bundle import save as save_bundle
from models.config import AlignConfig
from models.files import refused, write_bytes

HEAD_PAIRS = 200  # of the dev set, on which heads are compared


def save(run: Run) -> None:
    """Write the checkpoint, and the bundle too where no dev set chooses the best."""
    run.log.sync()
    run.state.counters.log_bytes = run.log.size
    checkpoint.save(run.state, run.folder.checkpoint)
    if run.data.dev is None:
        write_bundle(run, f"as it was after update {run.state.counters.step}")


def keep(run: Run, event: Evaluated) -> None:
    """Keep the weights of an evaluation, as the bundle too if they are the best so far."""
    counters, count = run.state.counters, run.config.train.average
    if count:
        write_snapshot(run)
        counters.snapshots = [*counters.snapshots, event.step][-count:]
    if event.gained:
        write_bundle(run, f"best of the evaluations, at update {event.step}")
    save(run)
    remove_others(run.folder, counters.snapshots)  # only now: the old checkpoint named them


def finish(run: Run, beat: Heartbeat) -> Kept:
    """Settle for the best weights or, where that scores better, the average of the last ones."""
    counters = run.state.counters
    if run.data.dev is None:
        kept = Kept("last", None, counters.step)
    else:
        kept = average(run, beat) or Kept("best", counters.best, counters.best_step)
        choose_head(run)
    draw(run)
    remove_others(run.folder, counters.snapshots)  # a killed process may have left some
    counters.kept = kept
    run.log.sync()
    counters.log_bytes = run.log.size
    checkpoint.save(run.state, run.folder.checkpoint)
    return kept


def average(run: Run, beat: Heartbeat) -> Kept | None:
    """The mean of the last snapshots as the bundle, if it is better than the best of them."""
    steps, best, dev = run.state.counters.snapshots, run.state.counters.best, run.data.dev
    if dev is None or best is None or len(steps) < 2:
        return None
    mean = averaged([run.folder.snapshot(step) for step in steps])
    with using(run.state.model, mean):
        scores = dev_scores(run.state.model, run.data.prepared.tokenizer, dev, run.config, beat)
        run.log.write("average", {"of": steps, **scores._asdict()})
        value = value_of(scores, run.config.train)
        if value <= best:
            return None
        _write_bundle(run, f"average of the evaluations at updates {', '.join(map(str, steps))}")
    return Kept(f"average of {len(steps)}", value, steps[-1])


def choose_head(run: Run) -> None:
    """Let the bundle say which of several heads aligns, by the dev set; a guided one stays."""
    decoder, dev, config = run.state.model.decoder, run.data.dev, run.config
    if (
        not decoder.attends
        or math.prod(decoder.attention_shape) < 2
        or not isinstance(dev, DevTexts)
    ):
        return
    if alignment_of(config) != AlignConfig():
        return
    translator = load_translator(run.folder.path, device=str(run.device))
    if pairs := dev.shown_to(translator, HEAD_PAIRS):
        write_alignment(run.folder.path, alone(translator, pairs)[0].config)


def draw(run: Run) -> None:
    """Draw what happened so far."""
    curves(run.folder.curves, read_log(run.folder.log))


def write_snapshot(run: Run) -> None:
    """Write the weights of an evaluation, to be averaged."""
    with refused(run.folder.snapshots):
        run.folder.snapshots.mkdir(exist_ok=True)
    path = run.folder.snapshot(run.state.counters.step)
    write_bytes(path, to_bytes(run.state.weights()))


def remove_others(folder: RunFolder, steps: list[int]) -> None:
    """Remove snapshots that no checkpoint names."""
    for path in folder.snapshots.glob("*.safetensors"):
        if path not in [folder.snapshot(step) for step in steps]:
            path.unlink(missing_ok=True)


def write_bundle(run: Run, which: str) -> None:
    """Make the folder a bundle of the state's weights."""
    with using(run.state.model, run.state.weights()):
        _write_bundle(run, which)


def _write_bundle(run: Run, which: str) -> None:
    config, tokenizer = run.config, run.data.prepared.tokenizer
    bundle = Bundle(
        run.state.model, tokenizer, config.tokenizer, config.search, alignment_of(config)
    )
    save_bundle(bundle, run.folder.path, card=card(config, run.state, which))


def alignment_of(config: RunConfig) -> AlignConfig:
    """How the attention is read as an alignment: by the head that was guided, if one was."""
    loss = config.train.attention
    if not (config.data.alignments and loss.guide):
        return AlignConfig()
    return AlignConfig(layer=loss.guide_layer, head=loss.guide_head)


def card(config: RunConfig, state: State, which: str) -> str:
    """The model card: what the bundle is, in words."""
    files = (*config.data.train, *filter(None, [config.data.captions]))
    embedded = "embedded scenes" if config.sees_pictures else "the embedded grammar"
    data = ", ".join(Path(path).name for path in files) or embedded
    return (
        f"# {config.preset}\n\n"
        f"An attn model of family `{config.model.family}`, "
        f"{state.model.parameter_count():,} parameters.\n\n"
        f"- Trained on: {data}\n"
        f"{begun_with(config)}"
        f"{guided_by(config)}"
        f"- Weights: {which}\n"
        f"- Best dev score ({config.train.metric}): {_best(state.counters)}\n"
        f"- Target tokens seen: {state.counters.tokens:,} in {state.counters.step:,} updates\n"
    )


def begun_with(config: RunConfig) -> str:
    """The card's line on the model that the run began with, if there was one."""
    return f"- Began with: {Path(config.start_from).name}\n" if config.start_from else ""


def guided_by(config: RunConfig) -> str:
    """The card's line on guided attention, if there was any."""
    if alignment_of(config) == AlignConfig():
        return ""
    loss = config.train.attention
    layer = f"layer {loss.guide_layer}, " if loss.guide_layer else ""
    links = Path(config.data.alignments).name
    return f"- Attention guided ({layer}head {loss.guide_head}) by: {links}\n"


def _best(counters: Counters) -> str:
    return "none" if counters.best is None else f"{counters.best:.2f}"

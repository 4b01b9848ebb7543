"""Weights stored during training: the checkpoint, snapshots to average, and the best bundle."""

from __future__ import annotations

from pathlib import Path

from attncli.training.events import Evaluated
from attncli.training.run.run import Run
from attncli.training.sources import training_source
from attncli.training.storage.folder import RunFolder
from attncli.training.storage.state import content
from attncli.training.storage.tensor_file import to_bytes
from models.base.files import write_bytes, write_errors
from models.bundle import save as save_bundle
from models.families.encoder_decoder import EncoderDecoder
from models.storage.about import About


def save_checkpoint(run: Run) -> None:
    """Write the checkpoint; without a dev set, write the current weights as the bundle too."""
    save_state(run)
    if run.data.dev is None:
        save_weights(run, f"as it was after update {run.state.counters.step}")


def save_state(run: Run) -> None:
    """Write the checkpoint."""
    run.log.sync()
    run.state.counters.log_bytes = run.log.size
    write_bytes(run.folder.checkpoint, content(run.state))


def save_evaluated(run: Run, event: Evaluated) -> None:
    """Write a snapshot and the checkpoint; write the bundle too if the score is the best so far."""
    counters, count = run.state.counters, run.config.train.average
    if count:
        with write_errors(run.folder.snapshots):
            run.folder.snapshots.mkdir(exist_ok=True)
        write_bytes(run.folder.snapshot(counters.step), to_bytes(run.state.weights()))
        counters.snapshots = [*counters.snapshots, event.step][-count:]
    if event.gained:
        save_weights(run, f"best of the evaluations, at update {event.step}")
    save_checkpoint(run)
    remove_old(run.folder, counters.snapshots)


def remove_old(folder: RunFolder, steps: list[int]) -> None:
    """Remove snapshots other than those of the given steps."""
    for path in folder.snapshots.glob("*.safetensors"):
        if path not in [folder.snapshot(step) for step in steps]:
            path.unlink(missing_ok=True)


def save_weights(run: Run, description: str) -> None:
    """Write the state's weights as the bundle of the run folder."""
    with run.state.evaluated() as model:
        save_model(run, model, description)


def save_model(run: Run, model: EncoderDecoder, description: str) -> None:
    """Write a model as the bundle of the run folder."""
    best, languages = run.state.counters.best, run.config.tokenizer.languages
    score = "" if best is None else f"{run.config.train.metric} {best:.2f} (dev)"
    about = About(languages=languages, score=score).to_dict()
    save_bundle(run.bundle(model), run.folder.path, card=card(run, description), about=about)


def card(run: Run, weights: str) -> str:
    """Return the model card as Markdown. weights: description of the weights in the bundle."""
    config, state = run.config, run.state
    source = training_source(config.model.family)
    data = ", ".join(Path(path).name for path in source.files(config.data)) or source.embedded
    start = f"- Initial model: {Path(config.start_from).name}\n" if config.start_from else ""
    best = "none" if state.counters.best is None else f"{state.counters.best:.2f}"
    return (
        f"# {config.preset}\n\n"
        f"An attn model of family `{config.model.family}`, "
        f"{state.model.parameter_count():,} parameters.\n\n"
        "## Data and licence\n\n"
        f"- Trained on: {data}\n"
        "- Licence: not stated; add it before sharing the model\n\n"
        "## Recipe\n\n"
        "- Command: `attn train config.toml -o NEW_FOLDER`, with the config.toml of the run\n"
        f"{start}"
        f"- Weights: {weights}\n"
        f"- Target tokens seen: {state.counters.tokens:,} in {state.counters.step:,} updates\n\n"
        "## Scores\n\n"
        f"- Best dev score ({config.train.metric}): {best}\n"
    )

"""The model card of a bundle: what the model is and how it was trained."""

from __future__ import annotations

from pathlib import Path

from attncli.training.run.run import Run
from attncli.training.sources import training_source


def card(run: Run, weights: str) -> str:
    """Return the card as Markdown. weights: description of the weights in the bundle."""
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

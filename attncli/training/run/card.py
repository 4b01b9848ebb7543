"""The model card of a bundle: what the model is and how it was trained."""

from __future__ import annotations

from pathlib import Path

from attncli.training.run.word_aligner import guided_alignment
from attncli.training.settings.config import RunConfig
from attncli.training.sources import training_source
from attncli.training.storage.state import Counters, State
from models.config.tables import AlignConfig
from models.storage.about import About


def card(config: RunConfig, state: State, weights: str) -> str:
    """Return the card as Markdown. weights: description of the weights in the bundle."""
    source = training_source(config.model.family)
    data = ", ".join(Path(path).name for path in source.files(config.data)) or source.embedded
    return (
        f"# {config.preset}\n\n"
        f"An attn model of family `{config.model.family}`, "
        f"{state.model.parameter_count():,} parameters.\n\n"
        "## Data and licence\n\n"
        f"- Trained on: {data}\n"
        "- Licence: not stated; add it before sharing the model\n\n"
        "## Recipe\n\n"
        "- Command: `attn train config.toml -o NEW_FOLDER`, with the config.toml of the run\n"
        f"{_initial_model(config)}"
        f"{_guidance(config)}"
        f"- Weights: {weights}\n"
        f"- Target tokens seen: {state.counters.tokens:,} in {state.counters.step:,} updates\n\n"
        "## Scores\n\n"
        f"- Best dev score ({config.train.metric}): {_best(state.counters)}\n"
    )


def about(config: RunConfig, counters: Counters) -> About:
    """Return the facts for `attn models`: best dev score, and the languages if they are known."""
    score = "" if counters.best is None else f"{config.train.metric} {counters.best:.2f} (dev)"
    return About(languages=config.tokenizer.languages, score=score)


def _initial_model(config: RunConfig) -> str:
    return f"- Initial model: {Path(config.start_from).name}\n" if config.start_from else ""


def _guidance(config: RunConfig) -> str:
    if guided_alignment(config) == AlignConfig():
        return ""
    loss = config.train.attention
    layer = f"layer {loss.guide_layer}, " if loss.guide_layer else ""
    links = ", ".join(Path(path).name for path in config.data.guides)
    return f"- Attention guided ({layer}head {loss.guide_head}) by: {links}\n"


def _best(counters: Counters) -> str:
    return "none" if counters.best is None else f"{counters.best:.2f}"

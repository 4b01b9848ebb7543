"""The bundle of `attn align train`: a translator, an alignment layer and a statistical aligner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from models.alignment.align import align
from models.alignment.links import best_threshold
from models.bundle import Bundle, build, read, save, sizes_of
from models.config import AlignConfig
from models.inference.translator import Translator
from models.storage.about import read_about, read_card
from models.storage.settings import read_settings
from models.storage.statistical import StatisticalTables
from models.text.languages import parse_direction

STATISTICAL_SHARE = 0.5  # both kinds of probabilities count alike
HEADING = "## Word alignment"


def with_layer(folder: Path, statistical: StatisticalTables | None) -> Bundle:
    """Return the bundle of a translator with a new alignment layer and a statistical aligner."""
    bundle = read(folder)
    config = replace(bundle.model.config, alignment_layer=True)
    with torch.random.fork_rng([]):
        model = build(config, sizes_of(bundle.tokenizer, config.family))
    model.load_state_dict(bundle.model.state_dict(), strict=False)
    return bundle._replace(model=model.eval(), statistical=statistical)


def ways_of(translator: Translator, languages: str) -> list[Translator]:
    """Return the model in each of its directions, the first from source to target."""
    if not translator.languages:
        return [translator]
    source, target = parse_direction(languages)
    return [translator.for_direction(target, source), translator.for_direction(source, target)]


def alignment_of(
    translator: Translator, languages: str, pairs: Sequence[tuple[str, str]]
) -> tuple[AlignConfig, float]:
    """Return alignment settings, and the expected F score of their links on some pairs.

    The weights are the mean of both directions, and of the layer and the statistical aligner. Only
    the threshold is chosen.
    """
    config = AlignConfig(
        layer=translator.model.decoder.attention_shape[0],
        shift=1,
        extract="threshold",
        statistical=STATISTICAL_SHARE,
        languages=languages if translator.languages else "",
    )
    found = align(translator, pairs, config=config)
    threshold, expected = best_threshold(one.weights for one in found)
    return replace(config, threshold=round(threshold, 3)), expected


def save_aligner(bundle: Bundle, config: AlignConfig, source: Path, folder: Path) -> None:
    """Write the bundle, with weights in the precision of the translator that it was made from."""
    stored = read_settings(source)
    save(
        bundle._replace(model=bundle.model.cpu(), alignment=config),
        folder,
        card=card(source),
        weights=stored.get("weights", "fp32"),
        about=read_about(stored).to_dict(),
    )


def card(source: Path) -> str:
    """Return the card of the translator with a section about the alignment."""
    before = read_card(source).partition(HEADING)[0].rstrip()
    return (
        f"{before}\n\n{HEADING}\n\n"
        "- `attn align train` added an alignment layer and a statistical aligner; the weights\n"
        "  that translate are unchanged\n"
        "- Trained on word links of two hidden Markov models; no links made by people\n"
    )

"""The table of all combinations of attention: which ones train, and why the others are refused.

    python benchmarks/combinations.py
    python benchmarks/combinations.py --family transformer --every

A combination is a score, a window, a normaliser and a read in one place of a small model; in
self-attention, a score and a normaliser. It trains
if one pass over two sentences gives finite gradients, and if the next token has finite scores when
decoding. The attention has two heads.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import torch

from models.core.config import AttentionConfig, ModelConfig, SelfAttentionConfig
from models.core.errors import ModelError
from models.core.registry import names
from models.core.settings import fields_of
from models.core.types import Batch, VocabularySizes
from models.networks.bundle import build
from models.storage.presets import model_config

PARTS = ("score", "window", "normalise", "read")
PLACES = {  # place: preset, settings of the model that hold the attention
    "rnnsearch": ("rnnsearch-nano", ("attention",)),
    "luong": ("luong-nano", ("attention",)),
    "transformer": ("transformer-nano", ("attention",)),
    "transformer, self-attention": ("transformer-nano", ("self_attention",)),
    "captioner": ("show-attend-tell-soft-nano", ("attention",)),
}
WORDS = VocabularySizes(12, 12, True)
SLOTS = 64  # of a text, and of the grid of the captioner


class Outcome(NamedTuple):
    """A combination, and why it is refused."""

    parts: tuple[str, ...]
    refusal: str  # "" if it trains


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--family", default="", help="only places whose name begins so")
    parser.add_argument("--every", action="store_true", help="print a row for each combination")
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    print("| place | combinations | train | refused |\n|---|---:|---:|---:|")
    reasons: Counter[tuple[str, str]] = Counter()
    for place in PLACES:
        if place.startswith(options.family):
            outcomes = list(tried(place))
            refused = [one for one in outcomes if one.refusal]
            trained = len(outcomes) - len(refused)
            print(f"| {place} | {len(outcomes)} | {trained} | {len(refused)} |", flush=True)
            reasons.update((place, one.refusal) for one in refused)
            for one in outcomes if options.every else ():
                print(f"  {' '.join(one.parts)}: {one.refusal or 'trains'}")
    print()
    for (place, reason), count in reasons.items():
        print(f"{place}, {count}: {reason}")


def tried(place: str) -> Iterator[Outcome]:
    """Yield the outcome of each combination in a place."""
    preset, tables = PLACES[place]
    kind = SelfAttentionConfig if tables == ("self_attention",) else AttentionConfig
    kinds = [part for part in PARTS if part in fields_of(kind)]
    for parts in product(*map(names, kinds)):
        config = model_config(preset)
        chosen: dict[str, Any] = dict(zip(kinds, parts, strict=True))
        own: Any = kind(**chosen)
        changes: dict[str, Any] = {"embedding": 16, "hidden": 16, "dropout": 0.0}
        changes["readout"] = min(config.readout, 16)
        if config.family == "transformer":
            changes["heads"] = 2
        else:
            own = replace(own, heads=2, window_size=2)
        changes |= dict.fromkeys(tables, own)
        try:
            yield Outcome(parts, trained(replace(config, **changes)))
        except ModelError as error:
            yield Outcome(parts, str(error))


def trained(config: ModelConfig) -> str:
    """Return what fails in one pass and one step of decoding; "" if nothing does.

    Raises ModelError if the settings are refused.
    """
    has_image = config.family.startswith("captioner")
    model = build(config, VocabularySizes(0, 12, False) if has_image else WORDS).train()
    mask = torch.ones(2, SLOTS, dtype=torch.bool)
    source = torch.randint(4, 12, (2, SLOTS))
    target = torch.randint(4, 12, (2, 6))
    images = torch.rand(2, 3, config.image.size, config.image.size)
    given, wanted = target[:, :-1], target[:, 1:]
    batch = Batch(images if has_image else source, mask, given, wanted, wanted > 0)
    forced = model.teacher_force(batch)
    loss = -model.log_probs(forced).gather(-1, batch.target_out.unsqueeze(-1)).mean()
    if forced.log_prob is not None:
        loss = loss - forced.log_prob.mean()
    loss.backward()
    gradients = [each.grad for each in model.parameters() if each.grad is not None]
    if not all(gradient.isfinite().all() for gradient in gradients):
        return "gradients that are not finite"
    prepared, state = model.eval().start(model.encode(batch.source, mask))
    step = model.step(target[:, 0], state, prepared)
    return "" if step.logits.isfinite().all() else "scores that are not finite"


if __name__ == "__main__":
    main()

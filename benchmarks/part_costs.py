"""Processor time of an update with each part of attention, beside the default parts.

    python benchmarks/part_costs.py
    python benchmarks/part_costs.py --preset rnnsearch-nano --rounds 7 --only score read

The part replaces that of every attention of the model: the decoder's to the encoder, and in a
Transformer also the self-attention of both. An update is one forward and backward pass over random
tokens, in fp32, and a step of Adam. In each round every variant computes a few updates, one variant
after another, so that a change of the machine's speed affects all of them. The table has medians
over the rounds: of the time, and of its ratio to the default in the same round. A default part is
measured twice, so that its row shows the noise. Parts that the family refuses are left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median
from typing import Any

import torch

from models.base.errors import ModelError
from models.base.registry import names
from models.base.types import Batch, VocabularySizes
from models.bundle import build
from models.catalogue.presets import model_config
from models.config import ModelConfig
from models.losses import sequence_loss
from models.sources import unused_settings

TABLES = ("attention", "self_attention")
ATTENTION = ("score", "window", "normalise", "read")  # fields of AttentionConfig
MODEL = ("position", "mixing", "copy")  # fields of ModelConfig
DEFAULT = "default"
TOKENS = 2000  # of the vocabulary


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--preset", default="transformer-nano", help="default: transformer-nano")
    parser.add_argument("--batch", type=int, default=64, help="sentences (64)")
    parser.add_argument("--length", type=int, default=20, help="tokens of a sentence (20)")
    parser.add_argument("--updates", type=int, default=3, help="of a variant in a round (3)")
    parser.add_argument("--rounds", type=int, default=5, help="default: 5")
    parser.add_argument("--threads", type=int, default=1, help="default: 1")
    kinds = (*ATTENTION, *MODEL, "heads")
    parser.add_argument("--only", nargs="+", choices=kinds, default=kinds, help="kinds of parts")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    updates = dict(variants(model_config(given.preset), given))
    found: dict[str, list[float]] = {name: [] for name in updates}
    for number in range(given.rounds + 1):
        for name, update in updates.items():
            started = time.process_time()
            for _ in range(given.updates):
                update()
            if number:  # the first round does not count
                found[name].append(1000 * (time.process_time() - started) / given.updates)
    print(f"{given.preset}, {given.batch} x {given.length} tokens, fp32, {given.threads} thread(s)")
    print("| part | ms | ratio |\n|---|---:|---:|")
    for name, times in found.items():
        ratio = median(own / base for own, base in zip(times, found[DEFAULT], strict=True))
        print(f"| {name} | {median(times):.1f} | {ratio:.2f} |")


def variants(
    config: ModelConfig, given: argparse.Namespace
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the name and the update of the default and of each part that can be built."""
    yield DEFAULT, update_of(config, given)
    unused = unused_settings(config)
    for kind in [kind for kind in given.only if f"model.{kind}" not in unused]:
        for part in names(kind) if kind != "heads" else ("kv_heads=1", "null_slot=true"):
            changed = config_with(config, kind, part)
            try:
                yield part if "=" in part else f"{kind}={part}", update_of(changed, given)
            except ModelError as error:
                print(f"left out: {error}")


def config_with(config: ModelConfig, kind: str, part: str) -> ModelConfig:
    """Return settings with a part in every attention of the model."""
    changes: dict[str, Any] = {}
    if kind in MODEL:
        changes[kind] = part
        return replace(config, **changes)
    options: dict[str, dict[str, Any]] = {
        "kv_heads=1": {"kv_heads": 1},
        "null_slot=true": {"null_slot": True},
    }
    chosen = options.get(part, {kind: part})
    for table in TABLES:
        own = getattr(config, table)
        if f"model.{table}" not in unused_settings(config) and chosen.keys() <= vars(own).keys():
            changes[table] = replace(own, **chosen)
    return replace(config, **changes)


def update_of(config: ModelConfig, given: argparse.Namespace) -> Callable[[], None]:
    """Return a function that computes one update of a new model."""
    torch.manual_seed(1)
    model = build(config, VocabularySizes(TOKENS, TOKENS, True)).train()
    optimiser = torch.optim.Adam(model.parameters())
    ids = torch.randint(4, TOKENS, (given.batch, given.length + 1))
    source, mask = ids[:, 1:].flip(1), torch.ones(given.batch, given.length, dtype=torch.bool)
    batch = Batch(source, mask, ids[:, :-1], ids[:, 1:], mask)

    def update() -> None:
        sequence_loss(model.teacher_force(batch), batch, model.output).loss.backward()
        optimiser.step()
        optimiser.zero_grad()

    return update


if __name__ == "__main__":
    main()

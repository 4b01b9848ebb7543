"""Defaults of a run that starts from a trained model, which should learn without forgetting.

A low rate that falls linearly, few passes over little data, and the replay set of the model
(models.storage.replay) keep what the model knew. The settings of the model's own training apply to
new weights and would destroy trained ones.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

PASSES = 3000  # examples that a run sees at most, unless it has MOST passes or LEAST
MOST, LEAST = 10, 3  # passes over the data
COUNTED = PASSES // LEAST  # examples to count; more do not change the number of passes
# what makes a run another stage of training (hard attention, rewards, unfreezing): the settings
# of the model's own training apply
STAGES = ("model.", "train.self_critical_from", "train.encoder_from", "train.attention.")
REPLAY = 1 / 3  # share of the replay set in the examples of an epoch


def train_defaults(examples: int, rate: float, given: Collection[str]) -> dict[str, Any]:
    """Return the defaults of [train] for a number of examples.

    rate: peak learning rate of the kind of input. given: names of the settings that the user set.
    There are none for a run that is another stage of training.
    """
    if any(name.startswith(STAGES) for name in given):
        return {}
    passes = max(LEAST, min(MOST, PASSES // max(1, examples)))
    return {
        "optimiser": "adam",
        "lr": rate,
        "schedule": "linear",
        "warmup": 20,
        "epochs": 0 if "train.steps" in given else passes,
        "patience": 4,
        "batch_tokens": max(128, min(1024, 4 * examples)),  # few examples: several updates a pass
        "evaluate_every": 0,
        "metric": "loss",  # scores of few examples vary too much to choose by them
        "ema": 0.0,
    }

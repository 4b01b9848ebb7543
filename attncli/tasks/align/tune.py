"""Choose the settings that turn attention weights into links, and store them in the model."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attncli.tasks.align.evaluation import Gold, Pairs, score_model

if TYPE_CHECKING:
    from models.alignment import Trial
    from models.inference.translator import Translator


class Tuned(NamedTuple):
    """Errors of all settings."""

    before: float  # AER with the previous settings, 0 to 1
    trials: list[Trial]  # the best first
    notes: tuple[str, ...] = ()  # pairs that were not aligned


def tune_on(translator: Translator, gold: Gold) -> Tuned:
    """Return the error of every setting on gold links; nothing is stored."""
    from models.alignment import GoldLinks, trials

    before = score_model("before", translator, gold)
    links = [GoldLinks(row.sure, row.possible) for row in gold.links.rows]
    return Tuned(before.scores.error_rate, trials(translator, gold.pairs, links), before.notes)


def tune_by_agreement(
    forward: Translator, reverse: Translator, pairs: Pairs
) -> tuple[Tuned, Tuned]:
    """Return the disagreement of two directions for every setting; nothing is stored."""
    from models.alignment import agree, align, error_rate

    turned = tuple((target, source) for source, target in pairs)
    found = [
        align(model, texts, config=dataclasses.replace(model.alignment, units="word"))
        for model, texts in ((forward, pairs), (reverse, turned))
    ]
    ahead, back = ([one.links for one in links] for links in found)
    before = error_rate(ahead, [frozenset((i, j) for j, i in links) for links in back])
    notes = tuple(f"pair {n}: {one.note}" for n, one in enumerate(found[0], 1) if one.note)
    chosen = agree(forward, reverse, pairs)
    return Tuned(before, chosen.forward, notes), Tuned(before, chosen.reverse)


def tune_alone(translator: Translator, pairs: Pairs) -> Tuned:
    """Return the share of weight that is not mutual for every layer, head and shift."""
    from models.alignment import mutual_trials

    tried = mutual_trials(translator, pairs)
    known = {(t.config.layer, t.config.head, t.config.shift): t.error_rate for t in tried}
    config = translator.alignment
    layer = config.layer or translator.model.decoder.shown_layer + 1
    return Tuned(known[layer, config.head, config.shift], tried)


def keep(folder: Path, best: Trial) -> None:
    """Store the alignment settings of a trial in the model."""
    from models.bundle import write_alignment

    write_alignment(folder, best.config)

"""The replay set of an initial model as corpora of a run, a part of them to measure what is kept.

replay/en-de.tsv      pairs to train on: references and outputs of the initial model
replay/dev.en-de.tsv  the first TESTED sources of the direction with their references
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from attncli.fine_tuning.replay_set import read_replay
from attncli.translate.corpora import CorpusConfig
from attncli.translate.mixture import Direction, shares_of
from models.core.errors import ModelError
from models.core.files import write_text

TESTED = 30  # sources of a direction; they are decoded at the end of the run


def replay_corpora(start_from: str, folder: Path) -> tuple[list[CorpusConfig], list[CorpusConfig]]:
    """Write the replay set of a model into a run folder; return its training and dev corpora."""
    pairs = read_replay(Path(start_from)) if start_from else []
    if not pairs:
        raise ModelError(
            f"data.replay with {start_from or 'no initial model'}, which has no replay set",
            "--start-from with a model that has one",
            "set data.replay=0",
        )
    place = folder / "replay"
    place.mkdir(exist_ok=True)
    train, dev = [], []
    for direction in dict.fromkeys(pair.direction for pair in pairs):
        rows = [(pair.source, pair.target) for pair in pairs if pair.direction == direction]
        references = dict(reversed(rows))  # the first target of each source
        tested = list(dict.fromkeys(source for source, _ in rows))[:TESTED]
        # what measures the loss of old knowledge must not be trained on
        kept = [row for row in dict(rows).items() if row[0] not in tested]
        train.append(_write(place / f"{direction}.tsv", direction, kept))
        measured = [(source, references[source]) for source in tested]
        dev.append(_write(place / f"dev.{direction}.tsv", direction, measured))
    return train, dev


def _write(path: Path, direction: str, rows: Sequence[tuple[str, str]]) -> CorpusConfig:
    if not path.exists():
        write_text(path, "".join(f"{source}\t{target}\n" for source, target in rows))
    return CorpusConfig(direction, (str(path),), both=False)


def example_share(directions: Sequence[Direction], own: int, share: float) -> float:
    """Return the share of the examples that has a share of the target tokens.

    The sentences of the replay set may be much shorter than those of the run's corpora.
    """
    lengths = [
        np.concatenate([direction.target.lengths for direction in part]).mean()
        for part in (directions[:own], directions[own:])
    ]
    ratio = share / (1 - share) * lengths[0] / lengths[1]
    return float(ratio / (1 + ratio))


def with_replay_share(
    directions: Sequence[Direction], own: int, share: float, temperature: float
) -> list[Direction]:
    """Return directions with weights that give those of the replay set their share of an epoch.

    own: number of directions of the run's corpora, which come first. Replay directions that the
    corpora have too, which lose the most, get half of the share; within a half all are equal.
    """
    parts = shares_of(directions, temperature)
    names = [direction.name for direction in directions]
    repeated = np.isin(names[own:], names[:own])
    halves = [1 / np.maximum(1, group.sum()) * group for group in (repeated, ~repeated)]
    replayed = sum(halves) / sum(half.sum() for half in halves)
    factors = np.ones(len(parts))
    factors[own:] = share / (1 - share) * parts[:own].sum() * replayed / parts[own:]
    return [
        direction._replace(weight=direction.weight * float(factor))
        for direction, factor in zip(directions, factors, strict=True)
    ]

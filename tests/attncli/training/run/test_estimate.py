"""The estimate of a run counts the batches that its training forms."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
import torch

from attncli.embedded.grammar import generate
from attncli.jobs.train import dry_run
from attncli.training.run.command_line import settings
from attncli.training.run.run import fresh_state
from attncli.training.sources import training_source
from attncli.training.updates.epoch import start_epoch
from tests.attncli.training.small import SMALL


def unequal_pairs(folder: Path) -> Path:
    """Write pairs whose sides have unrelated lengths, so that the two orders differ."""
    sides = [[pair.source for pair in generate(90)], [pair.target for pair in generate(90)]]
    random = Random(1)
    lines = [" ".join(random.choices(side, k=random.randint(1, 5))) for side in sides * 60]
    rows = zip(lines[::2], lines[1::2], strict=True)
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in rows), "utf-8")
    return path


@pytest.mark.parametrize("sort", ["longer_side", "both_sides"])
def test_the_estimate_counts_the_batches_of_an_epoch(sort: str, tmp_path: Path) -> None:
    config = settings(
        [unequal_pairs(tmp_path)], [], "transformer-nano", [*SMALL, f"train.sort={sort}"]
    )
    found = dry_run(config, device="cpu", progress=unseen)
    source = training_source(config.model.family)
    prepared = source.load(config, tmp_path / "data", unseen).prepared
    state = fresh_state(config, prepared, torch.device("cpu"))
    assert found.batches == len(start_epoch(state.model, prepared.examples, config.train, 0).plan)


def test_several_processes_have_the_batches_of_one(tmp_path: Path) -> None:
    config = settings([unequal_pairs(tmp_path)], [], "transformer-nano", [*SMALL])
    one, four = (
        dry_run(config, device="cpu", progress=unseen, processes=count) for count in (1, 4)
    )
    assert (one.processes, four.processes) == (1, 4)
    assert (one.batches, one.target_tokens) == (four.batches, four.target_tokens)


def unseen(label: str, done: float, total: float) -> None:
    """Show no progress."""

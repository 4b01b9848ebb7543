"""A dev set that is held out of the training data."""

from __future__ import annotations

import random
from pathlib import Path

from attncli.data.text.corpus import LEAST, MOST, held_out, read_pairs
from attncli.tasks.translate.training.data import pairs_of, split_dev
from attncli.tasks.translate.training.source import TextData
from attncli.training.pairs import sampled_lines


def test_a_share_of_the_distinct_sources_is_held_out() -> None:
    sources = [(f"source {number % 300}", f"{number}") for number in range(900)]
    held = held_out(sources, 0.1, seed=1)
    assert len(held) == 30 and held.items() < set(sources)
    assert all(source == f"source {target}" for source, target in held.items())  # the first
    shuffled = random.Random(0).sample(sources, len(sources))
    assert held_out(shuffled, 0.1, seed=1).keys() == held.keys()
    assert held_out(sources, 0.1, seed=2).keys() != held.keys()
    assert held_out([("", "a"), *sources, ("  ", "b")], 0.1, seed=1) == held
    without = [(source, " ") for source, _ in sources[:300]]
    assert held_out([*without, *sources], 0.1, seed=1) == held


def test_the_number_is_bounded() -> None:
    many = [(f"source {number}", "") for number in range(30 * MOST)]
    held = held_out(many, 0.1, seed=1)
    assert len(held) == MOST
    assert held_out(many[::-1], 0.1, seed=1).keys() == held.keys()
    assert not held_out(many[: 10 * LEAST - 1], 0.1, seed=1)
    assert not held_out(many, 0, seed=1)


def test_no_source_is_on_both_sides(tmp_path: Path) -> None:
    rows = [f"a {number % 150} b\tc {number}\n" for number in range(400)]
    (tmp_path / "train.tsv").write_text("".join(rows))
    data = TextData(train=(str(tmp_path / "train.tsv"),))
    named, held = split_dev(data, tmp_path)
    dev = list(read_pairs(named.dev))
    assert {pair.source for pair in dev} == {*held} and len(dev) == len(held) == 15
    source, _, total = sampled_lines(pairs_of(data.train, held), 1000, 1)
    assert not {*held} & {*source} and total == len(source)
    assert total == sum(row.split("\t")[0] not in held for row in rows)
    (tmp_path / "data").mkdir()
    assert split_dev(data, tmp_path)[0] == named  # a run that continues
    (tmp_path / "dev.tsv").unlink()
    assert split_dev(data, tmp_path)[0] == data  # a run of an earlier version

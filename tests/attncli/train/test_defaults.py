"""Defaults obey the rules that settings obey: kinds of tables at every door, drawn."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from attncli.align_train._run import PRESET, RECIPE
from attncli.compare.command import ComparedData, base_config
from attncli.train.command_line import settings
from attncli.training.config import RunConfig
from attncli.training.sources import source_of_run
from attncli.translate.corpora import parse_corpus
from models.storage.installed import BOX

Side = Callable[[random.Random], str]


def word(rng: random.Random) -> str:
    return "".join(rng.choices("abdegilmnoprstu", k=rng.randint(2, 9)))


def spaced(rng: random.Random) -> str:
    return " ".join(word(rng))


def sentence(rng: random.Random) -> str:
    return " ".join(word(rng) for _ in range(rng.randint(2, 9)))


def chinese(rng: random.Random) -> str:
    return "".join(chr(rng.randint(0x4E00, 0x4F00)) for _ in range(rng.randint(3, 15)))


def number(rng: random.Random) -> str:
    return str(rng.randint(0, 10**6))


def one_of_few(rng: random.Random) -> str:
    return rng.choice(["yes", "no", "perhaps"])


SIDES: list[Side] = [word, spaced, sentence, chinese, number, one_of_few]
DOORS: dict[str, Callable[[Path], RunConfig]] = {
    "files": lambda path: settings([path]),
    "corpus": lambda path: settings([], corpora=[parse_corpus(f"en-xx={path}")]),
    "corpora": lambda path: settings(
        [], corpora=[parse_corpus(f"en-xx={path}"), parse_corpus(f"xx-to-yy={path}")]
    ),
    "align": lambda path: settings([], (), PRESET, RECIPE, corpora=[parse_corpus(f"en-xx={path}")]),
    "compare": lambda path: base_config(ComparedData([path]), None, ()),
    "fine-tuning": lambda path: settings(
        [], corpora=[parse_corpus(f"en-de={path}")], start=BOX / "everyday"
    ),
    "labels": lambda path: settings([], inputs={"labels": path}),
    "captions": lambda path: settings([], inputs={"images": path.parent, "captions": path}),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("seed", range(6))
def test_the_defaults_of_a_drawn_table_are_accepted(door: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"{door} {seed}")
    source = SIDES[seed % len(SIDES)]
    target, count = rng.choice(SIDES), rng.choice([12, 60, 300])
    path = tmp_path / "table.tsv"
    path.write_text("".join(f"{source(rng)}\t{target(rng)}\n" for _ in range(count)), "utf-8")
    config = DOORS[door](path)
    found = source_of_run(config)
    found.check()
    if door not in ("captions", "labels"):
        (tmp_path / "run").mkdir()
        assert found.loaded(tmp_path / "run", lambda *_: None).examples.count

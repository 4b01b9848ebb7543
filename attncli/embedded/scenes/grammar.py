"""Scenes of one or two things, and what can be said of them.

    caption = thing | thing JOIN thing
    thing   = a SIZE COLOUR SHAPE

A big thing is never beside a big one, so that either word order is true of one scene only, and a
model has to look where it speaks: which thing comes first is the caption's choice.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import NamedTuple

SIDE = 64  # pixels of a scene
SIZES = {"big": 22, "small": 12}  # pixels of a thing
COLOURS = {
    "red": (214, 39, 40),
    "green": (44, 150, 44),
    "blue": (31, 90, 200),
    "yellow": (240, 200, 20),
    "purple": (148, 60, 190),
    "black": (20, 20, 20),
}
SHAPES = ("circle", "square", "triangle", "cross")
JOINS = ("and", "beside")
GAP = 4  # pixels between two things, at least
ALONE = 0.2  # share of scenes with one thing


class Box(NamedTuple):
    """Where something is, in pixels: left and top inside, right and bottom outside."""

    left: int
    top: int
    right: int
    bottom: int

    def apart(self, other: Box) -> bool:
        """Whether there is a gap between two boxes."""
        return (
            self.right + GAP <= other.left
            or other.right + GAP <= self.left
            or self.bottom + GAP <= other.top
            or other.bottom + GAP <= self.top
        )


class Thing(NamedTuple):
    """One thing of a scene."""

    size: str
    colour: str
    shape: str
    box: Box

    @property
    def words(self) -> tuple[str, ...]:
        """How it is called."""
        return ("a", self.size, self.colour, self.shape)


class Caption(NamedTuple):
    """Words, and which thing each of them speaks of."""

    words: tuple[str, ...]
    things: tuple[Thing | None, ...]  # one per word

    @property
    def text(self) -> str:
        """The words as a line."""
        return " ".join(self.words)


class Scene(NamedTuple):
    """Things that do not touch."""

    things: tuple[Thing, ...]

    @property
    def captions(self) -> tuple[Caption, ...]:
        """Everything that can be said of the scene."""
        if len(self.things) == 1:
            [thing] = self.things
            return (Caption(thing.words, (thing,) * 4),)
        return tuple(
            Caption((*one.words, join, *two.words), (*(one,) * 4, None, *(two,) * 4))
            for one, two in itertools.permutations(self.things)
            for join in JOINS
        )


class Splits(NamedTuple):
    """Scenes to train on, and two sets that have none of them."""

    train: list[Scene]
    dev: list[Scene]
    test: list[Scene]


def split(train: int, dev: int, test: int, *, seed: int) -> Splits:
    """So many scenes of each part, no two of them the same."""
    scenes = generate(seed)
    return Splits(*(list(itertools.islice(scenes, count)) for count in (train, dev, test)))


def generate(seed: int) -> Iterator[Scene]:
    """Scenes without end, each once."""
    chance, seen = random.Random(seed), set()
    while True:
        scene = _drawn(chance)
        if scene not in seen:
            seen.add(scene)
            yield scene


def _drawn(chance: random.Random) -> Scene:
    sizes = chance.sample(sorted(SIZES), 1 if chance.random() < ALONE else 2)
    things: list[Thing] = []
    while len(things) < len(sizes):
        size = sizes[len(things)]
        box = _box(chance, SIZES[size])
        if all(box.apart(thing.box) for thing in things):
            colour, shape = chance.choice(sorted(COLOURS)), chance.choice(SHAPES)
            things.append(Thing(size, colour, shape, box))
    return Scene(tuple(things))


def _box(chance: random.Random, side: int) -> Box:
    left, top = (chance.randrange(SIDE - side + 1) for _ in range(2))
    return Box(left, top, left + side, top + side)

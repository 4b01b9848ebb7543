"""Generated images of scenes of one or two things, and their captions.

    caption = thing | thing JOIN thing
    thing   = a SIZE COLOUR SHAPE

The two things of a scene have different sizes, so that both word orders describe the same scene.
A caption may begin with either thing, so a model must attend to the thing that it describes.
"""

from __future__ import annotations

import io
import itertools
import random
from collections.abc import Iterator
from typing import NamedTuple

from PIL import Image, ImageDraw

from attncli.data.embedded import Splits

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
GROUND = (235, 235, 230)
FINE = 4  # factor of supersampling, for smooth edges


class Box(NamedTuple):
    """Bounding box in pixels: left and top are inside, right and bottom are outside."""

    left: int
    top: int
    right: int
    bottom: int

    def apart(self, other: Box) -> bool:
        """Return True if there is a gap between two boxes."""
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
        """Return the words that describe the thing."""
        return ("a", self.size, self.colour, self.shape)


class SceneCaption(NamedTuple):
    """Words, and the thing that each word describes."""

    words: tuple[str, ...]
    things: tuple[Thing | None, ...]  # one per word

    @property
    def text(self) -> str:
        """Return the words as a line."""
        return " ".join(self.words)


class Scene(NamedTuple):
    """Things that do not touch."""

    things: tuple[Thing, ...]

    @property
    def captions(self) -> tuple[SceneCaption, ...]:
        """Return all captions of the scene."""
        if len(self.things) == 1:
            [thing] = self.things
            return (SceneCaption(thing.words, (thing,) * 4),)
        return tuple(
            SceneCaption((*one.words, join, *two.words), (*(one,) * 4, None, *(two,) * 4))
            for one, two in itertools.permutations(self.things)
            for join in JOINS
        )


def split(train: int, dev: int, test: int, *, seed: int) -> Splits:
    """Return different scenes for each part."""
    scenes = generate(seed)
    return Splits(*(list(itertools.islice(scenes, count)) for count in (train, dev, test)))


def generate(seed: int) -> Iterator[Scene]:
    """Yield different scenes without end."""
    rng, seen = random.Random(seed), set()
    while True:
        scene = _random_scene(rng)
        if scene not in seen:
            seen.add(scene)
            yield scene


def _random_scene(rng: random.Random) -> Scene:
    sizes = rng.sample(sorted(SIZES), 1 if rng.random() < ALONE else 2)
    things: list[Thing] = []
    while len(things) < len(sizes):
        size = sizes[len(things)]
        side = SIZES[size]
        left, top = (rng.randrange(SIDE - side + 1) for _ in range(2))
        box = Box(left, top, left + side, top + side)
        if all(box.apart(thing.box) for thing in things):
            colour, shape = rng.choice(sorted(COLOURS)), rng.choice(SHAPES)
            things.append(Thing(size, colour, shape, box))
    return Scene(tuple(things))


def png(scene: Scene) -> bytes:
    """Return the scene as a PNG file."""
    image = Image.new("RGB", (SIDE * FINE, SIDE * FINE), GROUND)
    draw = ImageDraw.Draw(image)
    for thing in scene.things:
        _draw(draw, thing)
    stream = io.BytesIO()
    image.resize((SIDE, SIDE), Image.Resampling.BOX).save(stream, "PNG")
    return stream.getvalue()


def _draw(draw: ImageDraw.ImageDraw, thing: Thing) -> None:
    left, top, right, bottom = (FINE * place for place in thing.box)
    right, bottom = right - 1, bottom - 1  # Pillow draws the last pixel, too
    colour, third = COLOURS[thing.colour], (right - left) // 3
    match thing.shape:
        case "circle":
            draw.ellipse((left, top, right, bottom), fill=colour)
        case "square":
            draw.rectangle((left, top, right, bottom), fill=colour)
        case "triangle":
            draw.polygon([(left, bottom), ((left + right) // 2, top), (right, bottom)], fill=colour)
        case _:
            draw.rectangle((left + third, top, right - third, bottom), fill=colour)
            draw.rectangle((left, top + third, right, bottom - third), fill=colour)

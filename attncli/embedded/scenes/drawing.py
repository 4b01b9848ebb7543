"""Drawing of a scene."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw

from attncli.embedded.scenes.grammar import COLOURS, SIDE, Scene, Thing

GROUND = (235, 235, 230)
FINE = 4  # factor of supersampling, for smooth edges


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

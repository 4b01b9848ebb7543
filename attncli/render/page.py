"""HTML pages with attention maps: their parts, and the page of a training run's samples.

That page has each dev example with its outputs, newest evaluation first. A page has no script and
loads nothing from the network or from other files.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attncli.task.panels import AlignedPair, SampledEvaluation
from models.core.types import Link
from models.text.alignment import Alignment

if TYPE_CHECKING:
    from PIL import Image


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem; background: #fff; color: #1a1a1a }
main { display: flex; flex-wrap: wrap; gap: 2rem; align-items: flex-start }
figure { position: relative; width: 384px; margin: 0 }
figure img { display: block }
figcaption { padding-top: .5rem }
.words { font-size: 1.15rem }
.word { cursor: pointer; border-radius: 3px; padding: 0 .12em }
.word:hover, .word:focus { background: #c2410c; color: #fff; outline: 0 }
.word img, .word small { display: none; position: absolute; pointer-events: none }
.word img { left: 0; top: 0 }
.word small { left: 0; top: 0; padding: 0 .4em; color: #fff; background: #c2410c }
.word:hover img, .word:focus img, .word:hover small, .word:focus small { display: block }
.name, .others, .fault { color: #6a6a6a; font-size: .85rem; overflow-wrap: anywhere }
.fault { color: #b91c1c }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #eee } }
"""
LONGEST = 30  # words on a side of a heat map

SAMPLES_STYLE = """
body { font: 16px/1.5 "Noto Sans", "DejaVu Sans", system-ui, sans-serif; color: #222;
  background: #fff; max-width: 1200px; margin: 0 auto; padding: 0 1.5rem 4rem }
section { border-bottom: 1px solid #e4e4e4; padding: .6rem 0 1.2rem }
.source { font-size: 1.1em; font-weight: bold }
.name, .score, figcaption { color: #777; font-size: .85em }
table { border-collapse: collapse }
td { padding: .1rem 1.2rem .1rem 0; vertical-align: top }
td.score { white-space: nowrap; text-align: right }
.maps { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start }
.maps > div { overflow-x: auto }
"""


def data_url(image: Image.Image, kind: str, **options: object) -> str:
    """Return an image as a data URL. kind: of its file, with Pillow's options to save it."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def escaped(text: str) -> str:
    """Return a text as HTML; characters that UTF-8 lacks become question marks."""
    return html.escape(text.encode("utf-8", "replace").decode())


def samples_page(name: str, evaluations: Sequence[SampledEvaluation]) -> str:
    """Return the page. evaluations: oldest first."""
    newest_first = list(reversed(evaluations))
    count = max((len(evaluation.samples) for evaluation in evaluations), default=0)
    title = escaped(f"Samples of {name}")
    sections = "".join(_example(number, newest_first) for number in range(count))
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}{SAMPLES_STYLE}</style>\n<h1>{title}</h1>\n"
        "<p>Dev examples and the model's outputs for them, newest evaluation first.</p>\n"
        f"{sections}</html>\n"
    )


def _example(number: int, newest_first: Sequence[SampledEvaluation]) -> str:
    """Return the section of one example: its source, its reference and its outputs."""
    having = [each for each in newest_first if len(each.samples) > number]
    sample = having[0].samples[number]
    image = f'<img src="{escaped(sample.image)}" alt="">\n' if sample.image else ""
    rows = "".join(
        f'<tr><td class="score">update {each.step:,}<td class="score">{escaped(each.score)}'
        f'<td dir="auto">{escaped(each.samples[number].output)}\n'
        for each in having
    )
    mapped = [(each.step, each.samples[number].attention) for each in having]
    maps = "".join(
        f"<div><figcaption>update {step:,}</figcaption>{attention}</div>\n"
        for step, attention in mapped
        if attention
    )
    drawn = f'<h3>Attention</h3>\n<div class="maps">\n{maps}</div>\n' if maps else ""
    return (
        f'<section>\n{image}<div class="source" dir="auto">{escaped(sample.source)}</div>\n'
        f'<div dir="auto"><span class="name">reference</span> {escaped(sample.reference)}</div>\n'
        f"<table>\n{rows}</table>\n{drawn}</section>\n"
    )


def heat_map(
    source: Sequence[str],
    target: Sequence[str],
    weights: NDArray[np.float32],
    links: frozenset[Link] = frozenset(),
) -> str:
    """Return a heat map as SVG; "" if a side is empty or has more than LONGEST words.

    weights: (J, I) of each target word on each source word.
    """
    if not (0 < len(source) <= LONGEST and 0 < len(target) <= LONGEST):
        return ""
    pair = AlignedPair(1, (Alignment(tuple(source), tuple(target), weights, links),))
    from attncli.render.figures import draw_alignments

    drawn = draw_alignments([pair], kind="svg").decode()
    return drawn[drawn.index("<svg") :]  # without the head of a file

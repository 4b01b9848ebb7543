"""Attention over time: a spectrogram, and below it the weights of each token, as plain arrays.

The weights of a token are drawn as shares of its largest, because the attention of a word is spread
over all the slots that it lasts.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from attncli.render.alignment import MARKS, coloured
from attncli.render.image_maps import archive
from attncli.render.page import data_url, escaped
from attncli.task.panels import shade
from attncli.terminal.messages import Screen, fitted, padded, without_controls

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from models.speech.transcripts import SoundAttention, SpokenSegment, Transcript

    Array = NDArray[np.float32]
    Maps = Sequence[tuple[SpokenSegment, SoundAttention]]

MAX_DRAWN_SEGMENTS = 12  # segments of a picture; a page has all
LONGEST_PAGE = 900  # pixels
SPACE = "▁"  # at the start of a token that begins a word
LEVELS = " ▁▂▃▄▅▆▇█"  # energies in a terminal
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem; background: #fff; color: #1a1a1a }
section { margin: 0 0 2.5rem }
.words { font-size: 1.3rem }
.word { cursor: pointer; border-radius: 3px; padding: 0 .15em }
.word:hover, .word:focus, .word.at { background: #08519c; color: #fff; outline: 0 }
.time { position: relative; margin-left: 7rem }
.time img { display: block; width: 100%; image-rendering: pixelated }
.time > img { height: 9rem; image-rendering: auto }
.row { position: relative; height: 1.35rem; border-top: 1px solid #ddd }
.row img { height: 100% }
.row span { position: absolute; right: 100%; width: 7rem; padding-right: .5rem; text-align: right;
  box-sizing: border-box; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.span { position: absolute; top: 0; bottom: 0; background: #56b4e966; pointer-events: none }
.note { color: #6a6a6a; font-size: .9rem }
"""
SCRIPT = """
const sound = document.querySelector("audio"), words = [...document.querySelectorAll(".word")];
function show(word) {
  for (const span of document.querySelectorAll(".span")) span.style.width = 0;
  words.forEach((one) => one.classList.toggle("at", one === word));
  const { start, end, from, to } = word.dataset, time = to - from;
  const span = word.closest("section").querySelector(".span");
  span.style.left = `${100 * (start - from) / time}%`;
  span.style.width = `${100 * (end - start) / time}%`;
}
for (const word of words) {
  word.onpointerenter = word.onfocus = word.onclick = () => {
    show(word);
    if (!sound) return;
    sound.currentTime = word.dataset.start;
    sound.play().catch(() => {});
  };
  word.onpointerleave = () => sound?.pause();
}
sound?.addEventListener("timeupdate", () => {
  const now = words.findLast((word) => Number(word.dataset.start) <= sound.currentTime);
  if (now && !sound.paused) show(now);
});
"""


def sound_maps(transcript: Transcript | None) -> Maps:
    """Return the segments of a transcript that have attention, with it."""
    segments = transcript.segments if transcript else ()
    return [(each, each.attention) for each in segments if each.attention]


def tokens_of(attention: SoundAttention) -> list[str]:
    """Return the tokens without what controls a terminal."""
    texts = (without_controls(token.replace(SPACE, "")) for token in attention.tokens)
    return [text or SPACE for text in texts]


def shares(attention: SoundAttention) -> Array:
    """Return the weights (T, S) as shares of the largest of each token."""
    weights: Array = attention.weights.float().cpu().numpy()
    return weights / weights.max(1, keepdims=True).clip(1e-9)


def energies(attention: SoundAttention) -> Array:
    """Return the spectrogram (F, bands) from 0 to 1."""
    values: Array = attention.spectrogram.float().cpu().numpy()
    low, high = np.percentile(values, (5, 99.5))
    return ((values - low) / max(high - low, 1e-9)).clip(0, 1)


def draw_sound(name: str, maps: Maps, wav: bytes = b"", *, kind: str = "png") -> bytes:
    """Draw the first MAX_DRAWN_SEGMENTS segments. kind: svg, png or pdf."""
    import matplotlib
    from matplotlib.figure import Figure

    from attncli.render.figures import fonts, label_of, saved

    shown = maps[:MAX_DRAWN_SEGMENTS]
    rows = [0.24 * max(len(found.tokens), 1) for _, found in shown]  # inches
    heights = [size for tokens in rows for size in (1.3, tokens)] or [1.0]
    longest = max((one.end - one.start for one, _ in shown), default=1.0)
    width = min(max(5.0, 1.5 + 1.2 * longest), 16.0)
    blue = matplotlib.colors.ListedColormap([shade(n / 255).code for n in range(256)])
    with matplotlib.rc_context({"font.family": fonts()}):
        size = width, sum(heights) + 0.75 * max(len(shown), 1)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
        for (one, found), upper, lower in zip(shown, axes[::2], axes[1::2], strict=False):
            frames, bands = found.spectrogram.shape
            extent = (one.start, one.start + frames * found.frame_seconds, 0, bands)
            image = energies(found).T
            upper.imshow(image, aspect="auto", origin="lower", extent=extent, cmap="magma")
            upper.set(ylabel="mel band", title=label_of(one.text))
            upper.tick_params(labelbottom=False)
            for word in one.words:
                upper.axvspan(word.start, word.end, ymin=0.94, color="#56b4e9")
            tokens, slots = found.weights.shape
            extent = (one.start, one.start + slots * found.slot_seconds, tokens, 0)
            lower.imshow(shares(found), aspect="auto", extent=extent, cmap=blue, vmin=0, vmax=1)
            lower.set_yticks(np.arange(tokens) + 0.5, [*map(label_of, tokens_of(found))])
            lower.set(xlabel="seconds; dark: attention of a token, as a share of its largest")
            for each in (upper, lower):
                each.set_xlim(one.start, one.end)
        if not shown:
            axes[0].set_axis_off()
        return saved(figure, kind)


def sound_page(name: str, maps: Maps, wav: bytes = b"") -> bytes:
    """Return the page of a recording. wav: its sound, which the page then contains."""
    address = f"data:audio/wav;base64,{base64.b64encode(wav).decode()}"
    sound = f'<audio controls src="{address}"></audio>' if wav else ""
    hint = "A browser plays a word that is pointed at once the page was clicked." if wav else ""
    body = "".join(_section(*each) for each in maps)
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{escaped(name)}</title>\n'
        f"<style>{STYLE}</style>\n<h1>{escaped(Path(name).name)}</h1>\n{sound}\n"
        f'<p class="note">Dark: attention of a token, as a share of its largest. {hint}</p>\n'
        f"{body}<script>{SCRIPT}</script>\n</html>\n"
    ).encode("utf-8", "replace")


def page_height(maps: Maps) -> int:
    """Return the height of a page in pixels; longer ones are scrolled."""
    return min(260 + sum(290 + 22 * len(found.tokens) for _, found in maps), LONGEST_PAGE)


def _section(one: SpokenSegment, found: SoundAttention) -> str:
    time = f'data-from="{one.start:.3f}" data-to="{one.end:.3f}"'
    words = " ".join(
        f'<span class="word" tabindex="0" data-start="{word.start:.3f}" '
        f'data-end="{word.end:.3f}" {time}>{escaped(word.text)}</span>'
        for word in one.words
    )
    rows = "".join(
        f'<div class="row"><span>{escaped(token)}</span><img src="{shaded(row[None])}" alt="">'
        "</div>"
        for token, row in zip(tokens_of(found), shares(found), strict=True)
    )
    return (
        f'<section><p class="words">{words}</p>\n<p class="note">{one.start:.2f} to {one.end:.2f} '
        f'seconds</p>\n<div class="time"><img src="{spectrogram_url(found)}" alt="spectrogram">'
        f'{rows}<div class="span"></div></div></section>\n'
    )


def spectrogram_url(found: SoundAttention) -> str:
    """Return the spectrogram as a data URL, high bands on top."""
    return shaded(energies(found).T[::-1])


def shaded(values: Array) -> str:
    """Return values (rows, columns) from 0 to 1 as a data URL of a PNG in shades of blue."""
    palette = [part for n in range(256) for part in shade(n / 255)]
    image = Image.fromarray((255 * values.clip(0, 1)).round().astype(np.uint8), "P")
    image.putpalette(palette)
    return data_url(image, "PNG", optimize=True)


def wav_of(samples: Array, rate: int) -> bytes:
    """Return samples (N,) from -1 to 1 as a WAV file of 16 bits."""
    import soundfile

    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, "PCM_16", format="WAV")
    return buffer.getvalue()


def arrays(name: str, maps: Maps, wav: bytes = b"") -> bytes:
    """Return the arrays; see `archive`.

    Of segment N: tokens-N (T,), weights-N (T, S), spectrogram-N (F, bands), words-N (W,), times-N
    (W, 2) in seconds, and seconds-N: start, end, slot and frame.
    """
    found: dict[str, NDArray[np.generic]] = {}
    for n, (one, each) in enumerate(maps, 1):
        found[f"tokens-{n}"] = np.array(tokens_of(each), np.str_)
        found[f"weights-{n}"] = each.weights.float().cpu().numpy()
        found[f"spectrogram-{n}"] = each.spectrogram.float().cpu().numpy()
        found[f"words-{n}"] = np.array([word.text for word in one.words], np.str_)
        found[f"times-{n}"] = np.array([(word.start, word.end) for word in one.words], np.float64)
        seconds = (one.start, one.end, each.slot_seconds, each.frame_seconds)
        found[f"seconds-{n}"] = np.array(seconds, np.float64)
    return archive(found)


def strips(maps: Maps, screen: Screen) -> str:
    """Return the segments as lines, each token with its attention over time."""
    return "".join(f"{line.rstrip()}\n" for each in maps for line in _strip(*each, screen))


def _strip(one: SpokenSegment, found: SoundAttention, screen: Screen) -> list[str]:
    tokens = tokens_of(found)
    margin = min(max(map(len, tokens), default=1), 12)
    columns = max(screen.width - margin - 3, 10)
    loud = _columns(energies(found).mean(1)[None], columns)[0]
    bars = "".join(LEVELS[round(float(level) * (len(LEVELS) - 1))] for level in loud)
    lines = [f"{one.start:.2f} to {one.end:.2f} s: {without_controls(one.text)}"]
    lines.append(f"{' ' * margin}  {bars}")
    for token, row in zip(tokens, _columns(shares(found), columns), strict=True):
        marks = (MARKS[round(float(share) * (len(MARKS) - 1))] for share in row)
        colours = (coloured(" ", float(share), screen) for share in row)
        cells = "".join(colours if screen.colours else marks)
        lines.append(f"{padded(fitted(token, margin), margin, right=True)}  {cells}")
    return [*lines, ""]


def _columns(rows: Array, columns: int) -> Array:
    """Return rows (R, N) in another number of columns: the largest value of each."""
    return np.maximum.reduceat(rows, np.arange(columns) * rows.shape[1] // columns, 1)


WRITERS: dict[str, Callable[[str, Maps, bytes], bytes]] = {
    **{f".{kind}": partial(draw_sound, kind=kind) for kind in ("png", "svg", "pdf")},
    ".html": sound_page,
    ".npz": arrays,
}

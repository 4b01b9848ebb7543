"""Attention over time: a spectrogram, and below it the weights of each token, as plain arrays.

The weights of a token are drawn as shares of its largest, because the attention of a word is spread
over all the slots that it lasts.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image

from attncli.render.alignment import shade
from attncli.render.alignment_writers import MARKS, coloured
from attncli.render.image_attention import data_url, escaped
from attncli.render.image_maps import archive
from attncli.terminal.messages import Screen, fitted, padded, without_controls

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from models.engines.transcripts import Transcript

MOST = 12  # segments of a picture; a page has all
SPACE = "▁"  # at the start of a token that begins a word
LEVELS = " ▁▂▃▄▅▆▇█"  # energies in a terminal


class SoundMap(NamedTuple):
    """A segment of a recording, and the attention of its tokens."""

    start: float  # in seconds from the start of the recording
    end: float
    tokens: tuple[str, ...]  # T
    weights: NDArray[np.float32]  # (T, S)
    slot_seconds: float
    spectrogram: NDArray[np.float32]  # (F, bands) log energies
    frame_seconds: float
    words: tuple[tuple[str, float, float], ...]  # with start and end, from that of the recording

    @property
    def text(self) -> str:
        """The words as one line."""
        return " ".join(word for word, _, _ in self.words)

    @property
    def shares(self) -> NDArray[np.float32]:
        """The weights (T, S) as shares of the largest of each token."""
        return self.weights / self.weights.max(1, keepdims=True).clip(1e-9)

    @property
    def energies(self) -> NDArray[np.float32]:
        """The spectrogram (F, bands) from 0 to 1."""
        low, high = np.percentile(self.spectrogram, (5, 99.5))
        return ((self.spectrogram - low) / max(high - low, 1e-9)).clip(0, 1)


def sound_maps(transcript: Transcript) -> list[SoundMap]:
    """Return the maps of the segments of a transcript that have attention."""
    return [
        SoundMap(
            segment.start,
            segment.end,
            tuple(without_controls(token.replace(SPACE, "")) or SPACE for token in found.tokens),
            weights=found.weights.float().cpu().numpy(),
            slot_seconds=found.slot_seconds,
            spectrogram=found.spectrogram.float().cpu().numpy(),
            frame_seconds=found.frame_seconds,
            words=tuple((word.text, word.start, word.end) for word in segment.words),
        )
        for segment in transcript.segments
        if (found := segment.attention)
    ]


# A picture: the segments one under another.


def draw_sound(maps: Sequence[SoundMap], *, kind: str = "png") -> bytes:
    """Draw the first MOST segments. kind: svg, png or pdf."""
    import matplotlib
    from matplotlib.figure import Figure

    from attncli.render.figures import fonts, label_of, saved

    shown = maps[:MOST]
    rows = [0.24 * max(len(one.tokens), 1) for one in shown]  # inches
    heights = [size for tokens in rows for size in (1.3, tokens)] or [1.0]
    longest = max((one.end - one.start for one in shown), default=1.0)
    width = min(max(5.0, 1.5 + 1.2 * longest), 16.0)
    blue = matplotlib.colors.ListedColormap([shade(n / 255).code for n in range(256)])
    with matplotlib.rc_context({"font.family": fonts()}):
        size = width, sum(heights) + 0.75 * max(len(shown), 1)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
        for one, upper, lower in zip(shown, axes[::2], axes[1::2], strict=False):
            ends = one.start + len(one.spectrogram) * one.frame_seconds
            extent = (one.start, ends, 0, one.spectrogram.shape[1])
            upper.imshow(one.energies.T, aspect="auto", origin="lower", extent=extent, cmap="magma")
            upper.set(ylabel="mel band", title=label_of(one.text))
            upper.tick_params(labelbottom=False)
            for _, start, end in one.words:
                upper.axvspan(start, end, ymin=0.94, color="#56b4e9")
            ends = one.start + one.weights.shape[1] * one.slot_seconds
            extent = (one.start, ends, len(one.tokens), 0)
            lower.imshow(one.shares, aspect="auto", extent=extent, cmap=blue, vmin=0, vmax=1)
            lower.set_yticks(np.arange(len(one.tokens)) + 0.5, [*map(label_of, one.tokens)])
            lower.set(xlabel="seconds; dark: attention of a token, as a share of its largest")
            for each in (upper, lower):
                each.set_xlim(one.start, one.end)
        if not shown:
            axes[0].set_axis_off()
        return saved(figure, kind)


# A page: pointing at a word shows where it is heard, and plays the sound from there.

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


def sound_page(name: str, maps: Sequence[SoundMap], wav: bytes = b"") -> bytes:
    """Return the page of a recording. wav: its sound, which the page then contains."""
    address = f"data:audio/wav;base64,{base64.b64encode(wav).decode()}"
    sound = f'<audio controls src="{address}"></audio>' if wav else ""
    hint = "A browser plays a word that is pointed at once the page was clicked." if wav else ""
    body = "".join(map(_section, maps))
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{escaped(name)}</title>\n'
        f"<style>{STYLE}</style>\n<h1>{escaped(Path(name).name)}</h1>\n{sound}\n"
        f'<p class="note">Dark: attention of a token, as a share of its largest. {hint}</p>\n'
        f"{body}<script>{SCRIPT}</script>\n</html>\n"
    ).encode("utf-8", "replace")


def _section(one: SoundMap) -> str:
    time = f'data-from="{one.start:.3f}" data-to="{one.end:.3f}"'
    words = " ".join(
        f'<span class="word" tabindex="0" data-start="{start:.3f}" data-end="{end:.3f}" {time}>'
        f"{escaped(word)}</span>"
        for word, start, end in one.words
    )
    rows = "".join(
        f'<div class="row"><span>{escaped(token)}</span><img src="{shaded(row[None])}" alt="">'
        "</div>"
        for token, row in zip(one.tokens, one.shares, strict=True)
    )
    return (
        f'<section><p class="words">{words}</p>\n<p class="note">{one.start:.2f} to {one.end:.2f} '
        f'seconds</p>\n<div class="time"><img src="{spectrogram_url(one)}" alt="spectrogram">{rows}'
        '<div class="span"></div></div></section>\n'
    )


def spectrogram_url(one: SoundMap) -> str:
    """Return the spectrogram as a data URL, high bands on top."""
    return shaded(one.energies.T[::-1])


def shaded(values: NDArray[np.float32]) -> str:
    """Return values (rows, columns) from 0 to 1 as a data URL of a PNG in shades of blue."""
    palette = [part for n in range(256) for part in shade(n / 255)]
    image = Image.fromarray((255 * values.clip(0, 1)).round().astype(np.uint8), "P")
    image.putpalette(palette)
    return data_url(image, "PNG", optimize=True)


def wav_of(samples: NDArray[np.float32], rate: int) -> bytes:
    """Return samples (N,) from -1 to 1 as a WAV file of 16 bits."""
    import wave

    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((32767 * samples.clip(-1, 1)).round().astype("<i2").tobytes())
    return buffer.getvalue()


def arrays(maps: Sequence[SoundMap]) -> bytes:
    """Return the arrays; see `archive`.

    Of segment N: tokens-N (T,), weights-N (T, S), spectrogram-N (F, bands), words-N (W,), times-N
    (W, 2) in seconds, and seconds-N: start, end, slot and frame.
    """
    found: dict[str, NDArray[np.generic]] = {}
    for n, one in enumerate(maps, 1):
        found[f"tokens-{n}"] = np.array(one.tokens, np.str_)
        found[f"weights-{n}"], found[f"spectrogram-{n}"] = one.weights, one.spectrogram
        found[f"words-{n}"] = np.array([word for word, _, _ in one.words], np.str_)
        found[f"times-{n}"] = np.array([times for _, *times in one.words], np.float64)
        seconds = (one.start, one.end, one.slot_seconds, one.frame_seconds)
        found[f"seconds-{n}"] = np.array(seconds, np.float64)
    return archive(found)


# A strip in a terminal: a row for each token, below the loudness.


def strips(maps: Sequence[SoundMap], screen: Screen) -> str:
    """Return the segments as lines, each token with its attention over time."""
    return "".join(f"{line.rstrip()}\n" for one in maps for line in _strip(one, screen))


def _strip(one: SoundMap, screen: Screen) -> list[str]:
    margin = min(max(map(len, one.tokens), default=1), 12)
    columns = max(screen.width - margin - 3, 10)
    loud = _columns(one.energies.mean(1)[None], columns)[0]
    bars = "".join(LEVELS[round(float(level) * (len(LEVELS) - 1))] for level in loud)
    lines = [f"{one.start:.2f} to {one.end:.2f} s: {without_controls(one.text)}"]
    lines.append(f"{' ' * margin}  {bars}")
    for token, row in zip(one.tokens, _columns(one.shares, columns), strict=True):
        cells = "".join(_cell(float(share), screen) for share in row)
        lines.append(f"{padded(fitted(token, margin), margin, right=True)}  {cells}")
    return [*lines, ""]


def _cell(share: float, screen: Screen) -> str:
    if screen.colours:
        return coloured(" ", share, screen)
    return MARKS[round(share * (len(MARKS) - 1))]


def _columns(rows: NDArray[np.float32], columns: int) -> NDArray[np.float32]:
    """Return rows (R, N) in another number of columns: the largest value of each."""
    size = rows.shape[1]
    if not size:
        return np.zeros((len(rows), columns), np.float32)
    edges = np.linspace(0, size, columns + 1)
    firsts = edges[:-1].astype(int)
    lasts = np.maximum(np.ceil(edges[1:]).astype(int), firsts + 1)
    return np.stack([rows[:, a:b].max(1) for a, b in zip(firsts, lasts, strict=True)], 1)


Writer = Callable[[str, Sequence[SoundMap], bytes], bytes]
WRITERS: dict[str, Writer] = {
    ".png": lambda name, maps, wav: draw_sound(maps, kind="png"),
    ".svg": lambda name, maps, wav: draw_sound(maps, kind="svg"),
    ".pdf": lambda name, maps, wav: draw_sound(maps, kind="pdf"),
    ".html": sound_page,
    ".npz": lambda name, maps, wav: arrays(maps),
}

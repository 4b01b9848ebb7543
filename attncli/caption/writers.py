"""The captions of an image, and the page of several; see docs/caption.md."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from attncli.data.named_files import NamedFile
from attncli.render.rows import (
    RowFormat,
)
from attncli.terminal.messages import one_cell
from models.core.types import Hypothesis

if TYPE_CHECKING:
    from attncli.render.image_maps import AttentionMaps


class CaptionedImage(NamedTuple):
    """An image with its captions."""

    file: NamedFile
    hypotheses: tuple[Hypothesis, ...]  # best first; none: `note` has the reason
    attention: AttentionMaps | None = None  # attention maps, if requested
    note: str = ""

    @property
    def caption(self) -> str:
        """The best caption; empty if there is none."""
        return one_cell(self.hypotheses[0].text) if self.hypotheses else ""


if TYPE_CHECKING:
    CaptionFormat = str
else:  # for the command line
    CaptionFormat = Literal[RowFormat, "html"]


def frame(format: str) -> tuple[bytes, bytes]:
    """Return the bytes before the first result and those after the last: of a page in HTML."""
    if format != "html":
        return b"", b""
    from attncli.render.image_attention import FOOT, HEAD

    return HEAD.encode(), FOOT.encode()


def figures(outcomes: Iterable[CaptionedImage]) -> bytes:
    """Return the figures of images in a page, or why there is none."""
    from attncli.render.image_attention import fault, figure

    rows = []
    for outcome in outcomes:
        others = [(text, score) for text, score, *_ in outcome.hypotheses[1:]]
        if outcome.attention:
            rows.append(figure(outcome.attention, others))
        else:
            rows.append(fault(outcome.file.name, outcome.note))
    return "".join(f"{row}\n" for row in rows).encode("utf-8", "replace")

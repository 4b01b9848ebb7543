"""Parts that the results of several models share."""

from __future__ import annotations

import html

from models.base.types import Hypothesis


class RankedOutputs:
    """The outputs for one input, best first."""

    hypotheses: tuple[Hypothesis, ...]

    @property
    def score(self) -> float:
        """Score of the best output: its log-probability over the length penalty."""
        return self.hypotheses[0].score

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Texts of the other outputs; `nbest` of the search says how many there are."""
        return tuple(hypothesis.text for hypothesis in self.hypotheses[1:])


def framed(page: bytes, height: int) -> str:
    """Return an HTML page in a frame: its scripts and styles do not affect the notebook."""
    content = html.escape(page.decode("utf-8"))
    return (
        f'<iframe srcdoc="{content}" sandbox="allow-scripts" height="{height}" '
        'style="width: 100%; border: 0; background: #fff"></iframe>'
    )

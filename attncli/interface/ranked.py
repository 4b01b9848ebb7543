"""What the results of a translator and of a captioner have in common."""

from __future__ import annotations

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

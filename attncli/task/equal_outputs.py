"""A check of all outputs together: a model that does not read its inputs repeats one output."""

from __future__ import annotations

from collections import Counter

MIN_INPUTS = 10  # different ones, from which on equal outputs are reported
REMEMBERED = 1000  # inputs, and outputs, that are counted


class EqualOutputs:
    """Count of the outputs of different inputs.

    share: of the outputs; more equal ones are reported.
    """

    def __init__(self, share: float = 0.8) -> None:
        self._share = share
        self._inputs: set[object] = set()
        self._outputs: Counter[str] = Counter()
        self._count = 0

    def count(self, given: object, output: str) -> None:
        """Count an output, unless it is empty or its input has been counted."""
        if not output or given in self._inputs:
            return
        self._count += 1
        if len(self._inputs) < REMEMBERED:
            self._inputs.add(given)
        known = output in self._outputs or len(self._outputs) < REMEMBERED
        self._outputs.update([output] if known else [])

    def note(self, inputs: str, outputs: str) -> str:
        """Return a warning, or "". inputs, outputs: what they are called."""
        [(output, count)] = self._outputs.most_common(1) or [("", 0)]
        if self._count < MIN_INPUTS or count <= self._share * self._count:
            return ""
        return f"{count:,} of {self._count:,} {inputs} have the same {outputs}, {output!r}"

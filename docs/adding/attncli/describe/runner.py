"""Descriptions of rows of numbers. Every door works with this class."""

from __future__ import annotations

from attncli.describe.rows import numbers_in
from attncli.options.line_task import LineRunner


class DescribeRunner(LineRunner):
    """A model that describes rows of numbers."""

    task = shipped = "describe"
    doing, unit, into = "describing", "row", "text"

    def read(self, text: str, place: str) -> list[float]:
        """Return the numbers of a line."""
        return numbers_in(text, place)

    def compute(self, inputs: list[list[float]]) -> list[str]:
        """Return the text of each row of numbers."""
        texts: list[str] = self.model.describe(inputs)
        return texts

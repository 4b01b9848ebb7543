"""Base of the bulk tasks whose records are lines of text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from attncli.bulk.tasks import RecordResult
from attncli.data.lines import Line

Outcome = TypeVar("Outcome")  # what the task computes for a line


class LineTask(ABC, Generic[Outcome]):
    """A task that computes one outcome for each line."""

    input = "lines"
    fields = 1

    def record(self, value: str, number: int) -> Line:
        """Return a text as a line."""
        return Line(number, value)

    def run(self, records: Sequence[Line]) -> list[RecordResult]:
        """Return the result of each line."""
        return [self.result(outcome) for outcome in self.outcomes(list(records))]

    def failed(self, record: Line, error: str) -> RecordResult:
        """Return the result of a line that could not be processed."""
        return self.result(self.failure(record, error))

    @abstractmethod
    def outcomes(self, lines: list[Line]) -> Sequence[Outcome]:
        """Return the outcome of each line."""

    @abstractmethod
    def failure(self, line: Line, error: str) -> Outcome:
        """Return the outcome of a line that could not be processed."""

    @abstractmethod
    def result(self, outcome: Outcome) -> RecordResult:
        """Return the rows, value, error and warnings of an outcome."""

"""The language of each line, for `attn translate --from auto`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attncli.data.lines import Line
from attncli.tasks.classify.lines import classify_lines
from attncli.terminal.plurals import counted
from models.base.errors import ConfigurationError
from models.text.normalise import is_untranslatable

if TYPE_CHECKING:
    from models.inference.classifier import Classifier

LEAST = 0.5  # probability from which on a language counts as recognised


class LineLanguages:
    """Recognises the language of lines, and counts the lines in the target language."""

    def __init__(self, classifier: Classifier, to: str) -> None:
        """Raise ConfigurationError if the classifier cannot recognise the target language."""
        if to not in classifier.labels:
            found = f"--from auto with target language '{to}'" if to else "--from auto without --to"
            raise ConfigurationError(
                found,
                f"a target language that is recognised: {', '.join(classifier.labels)}",
                "leave out --from auto",
            )
        self.classifier, self.to = classifier, to
        self.copied = self.lines = 0

    def __call__(self, chunk: Sequence[Line]) -> list[str]:
        """Return the language of each line of a chunk; "" if it is not recognised."""
        chosen = [line for line in chunk if not line.fault and not is_untranslatable(line.text)]
        found: dict[int, str] = {}
        for outcomes in classify_lines([chosen], self.classifier):
            for line, result, _ in outcomes:
                best = result.labels[0] if result and result.labels else None
                if best and best.probability >= LEAST:
                    found[line.number] = best.label
        self.lines += len(chunk)
        self.copied += sum(language == self.to for language in found.values())
        return [found.get(line.number, "") for line in chunk]

    @property
    def summary(self) -> str:
        """Return how many lines were copied, as a message; "" if there were none."""
        if not self.copied:
            return ""
        return f"{self.copied:,} of {counted(self.lines, 'line')} copied, already in {self.to}"

"""A classifier: one text or many in, one label or many out, with the weights of the words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from attncli.classify.runner import ClassifyOptions, ClassifyRunner
from attncli.data.lines import ClassifiedLine
from attncli.faithful.result import Line
from attncli.interface._results import as_list, framed
from attncli.render.weighted_text import html, weighted_text, words_in_colour
from attncli.task.panels import WeightedText
from attncli.terminal.messages import current_screen
from models.core.errors import InputError
from models.core.types import Classification
from models.engines.classifier import Classifier as LabelModel


class ClassifiedText(Classification):
    """A text, its labels, and the weights of its words; see `models.core.types.Classification`."""

    @property
    def score(self) -> float:
        """Probability of the best label; 0 for an empty text."""
        return self.labels[0].probability if self.labels else 0.0

    @property
    def alignment(self) -> tuple[Any, ...]:
        """The words with their weights."""
        return self.words

    @property
    def picture(self) -> str:
        """The words for a terminal, on the colour of their weights."""
        return words_in_colour(self._weighted, current_screen())

    def _repr_html_(self) -> str:
        """Return the coloured words, for a notebook."""
        return framed(html([self._weighted]), 115 + 22 * (len(self.text) // 80))

    @property
    def _weighted(self) -> WeightedText:
        return weighted_text(ClassifiedLine(Line(1, self.text), self))


class Classifier(LabelModel):
    """A `models.engines.classifier.Classifier` whose results show themselves."""

    @overload  # type: ignore[override]
    def classify(  # type: ignore[overload-overlap]
        self, texts: str, *, nbest: int = ..., attention: bool = ...
    ) -> ClassifiedText: ...

    @overload
    def classify(
        self, texts: Iterable[str], *, nbest: int = ..., attention: bool = ...
    ) -> list[ClassifiedText]: ...

    def classify(
        self, texts: str | Iterable[str], *, nbest: int = 1, attention: bool = True
    ) -> ClassifiedText | list[ClassifiedText]:
        """Classify a text, or many: one in, one out; a list in, a list out.

        nbest: labels per text. attention: False leaves out the weights of the words.
        """
        if nbest < 1:
            raise InputError(f"nbest = {nbest}", "1 or more")
        lines = [Line(number, text) for number, text in enumerate(as_list(texts), 1)]
        [found] = ClassifyRunner(self, ClassifyOptions(nbest=nbest)).run([lines], weights=attention)
        results = [ClassifiedText._make(one.result or Classification("", ())) for one in found]
        return results[0] if isinstance(texts, str) else results

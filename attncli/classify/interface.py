"""A classifier: one text or many in, one label or many out, with the weights of the words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, overload

from attncli.classify.runner import ClassifiedLine, ClassifyOptions, ClassifyRunner
from attncli.explain.result import ExplainedLine
from attncli.explain.runner import ExplainSettings, explain
from attncli.faithful.result import Line
from attncli.options.arguments import checked
from attncli.options.loading import as_list
from models.core.errors import InputError
from models.engines.classifier import Classifier as LabelModel

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Classifier(LabelModel):
    """A `models.engines.classifier.Classifier` whose results show themselves."""

    @overload  # type: ignore[override]
    def classify(  # type: ignore[overload-overlap]
        self, texts: str, *, nbest: int = ..., attention: bool = ...
    ) -> ClassifiedLine: ...

    @overload
    def classify(
        self, texts: Iterable[str], *, nbest: int = ..., attention: bool = ...
    ) -> list[ClassifiedLine]: ...

    @checked
    def classify(
        self, texts: str | Iterable[str], *, nbest: int = 1, attention: bool = True
    ) -> ClassifiedLine | list[ClassifiedLine]:
        """Classify a text, or many: one in, one out; a list in, a list out.

        nbest: labels per text. attention: False leaves out the weights of the words.
        """
        if nbest < 1:
            raise InputError(f"nbest = {nbest}", "1 or more")
        lines = [Line(number, text) for number, text in enumerate(as_list(texts), 1)]
        [found] = ClassifyRunner(self, ClassifyOptions(nbest=nbest)).run([lines], weights=attention)
        return found[0] if isinstance(texts, str) else found

    @checked
    def explain(
        self, texts: str | Iterable[str], **how: Unpack[ExplainSettings]
    ) -> ExplainedLine | list[ExplainedLine]:
        """Explain the best label of a text, or of many, by the words of the text.

        method: of docs/explain.md, or several, or all; the default is attention and erasure.
        """
        runner = ClassifyRunner.of(self, ClassifyOptions())
        return explain(runner, as_list(texts), alone=isinstance(texts, str), **how)

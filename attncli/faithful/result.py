"""A line, and the result of its translation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from attncli.task.runner import RankedOutputs, ShownResult
from models.core.types import Confidence, Hypothesis, Translation
from models.text.normalise import is_unicode

if TYPE_CHECKING:
    from attncli.faithful.checks import Check
    from attncli.task.panels import AlignedPair

REASONS = {
    "lost": "not translated: {}",
    "added": "without a source word: {}",
    "unknown": "no known word: {}",
}


class Line(NamedTuple):
    """A line without its ending."""

    number: int  # from 1
    text: str
    ending: str = "\n"  # or "\r\n"; a last line without an ending gets "\n"
    fault: str = ""  # why the text cannot be processed; it is then only shown
    prefix: str = ""  # text that its outputs begin with
    looks: tuple[str, ...] = ()  # where they look; see attncli.faithful.steer
    dollars: bool = False  # True if $2 is a placeholder, as in other texts of the document


def text_line(number: int, text: str) -> Line:
    """Return the line of a text of JSON or Python; half a character of UTF-16 is a fault."""
    return Line(number, text, fault="" if is_unicode(text) else "not Unicode")


@dataclass(frozen=True)
class TranslatedLine(RankedOutputs, ShownResult):
    """A line with its translations, best first. `print(result.picture)` draws the attention."""

    line: Line
    translation: Translation | None  # None: the line could not be translated, `note` says why
    note: str = ""  # what the user should know about the line
    parts: tuple[Translation, ...] = ()  # what was translated: one for each part of the line
    alignments: tuple[AlignedPair, ...] = ()  # one for each hypothesis, where they are wanted
    lost: str = ""  # characters that the model has no token for and that the output lacks
    checks: tuple[Check, ...] = ()  # that the best output fails
    # for each part: what the model read for a protected part, this as in the source and the output
    stand_ins: tuple[tuple[tuple[str, str, str], ...], ...] = ()
    foreign: bool = False  # copied, because the model has no token for any of its letters
    in_target: bool = False  # copied, because it is in the target language
    back: str = ""  # the best output translated back, where that is wanted
    memory: str = ""  # how it was found in a translation memory: exact or numbers; "" if it was not

    @property
    def text(self) -> str:
        """The best output; "" if the line could not be translated."""
        return self.translation.text if self.translation else ""

    @property
    def source(self) -> str:
        """The text of the line."""
        return self.line.text

    @property
    def to(self) -> str:
        """Target language, for a model of several languages."""
        return self.by.model.to if self.by else ""

    @property
    def alignment(self) -> AlignedPair:
        """Words of both sides, links, and weights (J, I) of each word on each source word."""
        return self.weighed.alignments[0]

    @property
    def doubts(self) -> tuple[Confidence, ...]:
        """The confidence of each part that is below the threshold of the model."""
        return tuple(one for one in self._confidences if one.is_doubtful)

    @property
    def doubt(self) -> str:
        """Why the line may have another sense; "" if it is not doubtful."""
        found = {
            name: dict.fromkeys(word for one in self.doubts for word in getattr(one, name))
            for name in REASONS
        }
        told = "; ".join(REASONS[name].format(", ".join(of)) for name, of in found.items() if of)
        return told or ("improbable words" if self.doubts else "")

    @property
    def confidence(self) -> Confidence | None:
        """The confidence of the least certain part of the best output.

        None without a calibration, and for a line that no model computed.
        """
        return min(self._confidences, key=lambda one: one.value, default=None)

    @property
    def _confidences(self) -> list[Confidence]:
        return [part.confidence for part in self.parts if part.confidence]

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """The outputs, best first; none if the line could not be translated."""
        return self.translation.hypotheses if self.translation else ()

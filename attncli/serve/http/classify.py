"""POST /classify and /detect: the label of a text with the weights of its words; its language."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from attncli.data.lines import ClassifiedLine
from attncli.documents.wrap import MARKUP
from attncli.serve.catalogue import CLASSIFY
from attncli.serve.models import ClassifyJob
from attncli.serve.requests import RequestError, invalid
from attncli.serve.service import Call, call_of
from attncli.tasks.classify.languages import judged
from attncli.tasks.classify.lines import UNKNOWN

MOST_LABELS = 1000
AUTO = "auto"
IDENTIFIER = "languages"  # the model whose labels are languages
READ = 2000  # characters of a text that are read
LEAST = 1.0  # percent of a language that is listed


class Detected(NamedTuple):
    """A language and the confidence in it, from 0 to 100."""

    language: str
    confidence: float

    def record(self) -> dict[str, Any]:
        """Return the language in the protocol's form."""
        return {"confidence": self.confidence, "language": self.language}


async def classify(request: Request) -> Response:
    """Classify a text or a list of texts."""
    call = await call_of(request)
    given, texts = call.given, call.texts()
    model = call.service.catalogue.model(given.text("model", ""), CLASSIFY)
    nbest = given.number("nbest", 5, MOST_LABELS)
    job = ClassifyJob(max(1, nbest), given.flag("attention", True))
    found = await call.run(model.name, job, [" ".join(text.split()) for text in texts])
    return call.answer([_record(outcome) for outcome in found])


async def detect(request: Request) -> Response:
    """Return the languages of a text by the shipped identifier, most probable first."""
    call = await call_of(request)
    found = await detected(call, call.texts(), ())
    return call.answer([[one.record() for one in languages] for languages in found])


async def detected(
    call: Call, texts: Sequence[str], candidates: Collection[str]
) -> list[list[Detected]]:
    """Return the languages of each text, most probable first, at least one.

    candidates: languages that come into question; none: all. Raises RequestError without a model.
    """
    models = call.service.catalogue.models()
    if IDENTIFIER not in models or models[IDENTIFIER].facts.task != CLASSIFY:
        raise RequestError(400, f"{AUTO} is not supported: no model recognises languages here")
    shown = [" ".join(text[:READ].split()) for text in texts]
    found = await call.run(IDENTIFIER, ClassifyJob(nbest=MOST_LABELS), shown)
    return [_languages(outcome, candidates) for outcome in found]


async def recognised(
    call: Call, texts: Sequence[str], candidates: Collection[str]
) -> list[Detected]:
    """Return the language of each text; short ones are judged with the others."""
    texts = [MARKUP.sub(" ", text) for text in texts]
    found = await detected(call, texts, candidates)
    shares = [{one.language: one.confidence / 100 for one in each} for each in found]
    sizes = [sum(map(str.isalpha, text)) for text in texts]
    best = zip(found, judged(shares, sizes), strict=True)
    return [
        next((one for one in each if one.language == language), Detected(language, 0.0))
        for each, language in best
    ]


def _languages(outcome: Any, candidates: Collection[str]) -> list[Detected]:
    labels = outcome.result.labels if outcome.result else ()
    labels = [one for one in labels if one.label != UNKNOWN]
    known = [one for one in labels if not candidates or one.label in candidates]
    if not known:
        default = "en" if not candidates or "en" in candidates else min(candidates)
        return [Detected(default, 0.0)]
    languages = [Detected(one.label, round(100 * one.probability, 1)) for one in known]
    return [one for one in languages if one.confidence >= LEAST] or languages[:1]


def _record(outcome: ClassifiedLine) -> dict[str, Any]:
    """Return the labels of a text with their probabilities, and the weights of its words."""
    if outcome.result is None:
        raise invalid(outcome.note)
    result = outcome.result
    found: dict[str, Any] = {
        "label": result.label,
        "labels": [{"label": a, "probability": round(b, 4)} for a, b in result.labels],
    }
    if result.words:
        found["words"] = [{"word": a, "weight": round(b, 4)} for a, b in result.words]
    return found

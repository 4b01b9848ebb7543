"""POST /classify and /detect: the label of a text with the weights of its words; its language."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from attncli.classify.languages import judged
from attncli.classify.runner import UNKNOWN, ClassifiedLine
from attncli.faithful.pieces import MARKUP
from attncli.serve._catalogue import CLASSIFY
from attncli.serve._requests import RequestError, invalid
from attncli.serve._service import Call, call_of
from attncli.serve.models import Job
from attncli.task.runner import JsonObject

MAX_LABELS = 1000
AUTO = "auto"
IDENTIFIER = "languages"  # the model whose labels are languages
READ = 2000  # characters of a text that are read
MIN_PERCENT = 1.0  # percent of a language that is listed


class Detected(NamedTuple):
    """A language and the confidence in it, from 0 to 100."""

    language: str
    confidence: float

    def record(self) -> JsonObject:
        """Return the language in the protocol's form."""
        return {"confidence": self.confidence, "language": self.language}


async def classify(request: Request) -> Response:
    """Classify a text or a list of texts."""
    call = await call_of(request)
    given, texts = call.given, call.texts()
    model = call.service.catalogue.model(given.text("model", ""), CLASSIFY)
    nbest = max(1, given.number("nbest", 5, MAX_LABELS))
    job = call.job(CLASSIFY, nbest=nbest, weights=given.flag("attention", True))
    found = await call.run(model.name, job, [" ".join(text.split()) for text in texts])
    return call.answer([_record(outcome) for outcome in found])


async def detect(request: Request) -> Response:
    """Return the languages of a text by the shipped identifier, the judged one first."""
    call = await call_of(request)
    found = await detected(call, call.texts(), ())
    return call.answer([[one.record() for one in languages] for languages in found])


async def detected(
    call: Call, texts: Sequence[str], candidates: Collection[str]
) -> list[list[Detected]]:
    """Return the languages of each text, at least one: the judged one, then by probability.

    Short texts are judged with the others. candidates: languages that come into question; none:
    all. Raises RequestError without a model.
    """
    models = call.service.catalogue.models()
    if IDENTIFIER not in models or models[IDENTIFIER].facts.task != CLASSIFY:
        raise RequestError(400, f"{AUTO} is not supported: no model recognises languages here")
    texts = [MARKUP.sub(" ", text) for text in texts]
    shown = [" ".join(text[:READ].split()) for text in texts]
    outcomes = await call.run(IDENTIFIER, Job.of(CLASSIFY, nbest=MAX_LABELS), shown)
    ranked = judged(texts, [_shares(outcome, candidates) for outcome in outcomes])
    found = [[Detected(a, round(100 * b, 1)) for a, b in shares.items()] for shares in ranked]
    return [
        [one for n, one in enumerate(each) if not n or one.confidence >= MIN_PERCENT]
        for each in found
    ]


async def recognised(
    call: Call, texts: Sequence[str], candidates: Collection[str]
) -> list[Detected]:
    """Return the language of each text; see `detected`."""
    return [languages[0] for languages in await detected(call, texts, candidates)]


def _shares(outcome: ClassifiedLine, candidates: Collection[str]) -> dict[str, float]:
    known = {
        a: b for a, b in outcome.labels if a != UNKNOWN and (not candidates or a in candidates)
    }
    return known or {"en" if not candidates or "en" in candidates else min(candidates): 0.0}


def _record(outcome: ClassifiedLine) -> JsonObject:
    """Return the labels of a text with their probabilities, and the weights of its words."""
    if outcome.line.fault:
        raise invalid(outcome.note)
    found: JsonObject = {
        "label": outcome.label,
        "labels": [{"label": a, "probability": round(b, 4)} for a, b in outcome.labels],
    }
    if outcome.words:
        found["words"] = [{"word": a, "weight": round(b, 4)} for a, b in outcome.words]
    return found

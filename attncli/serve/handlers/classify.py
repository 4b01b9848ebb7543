"""POST /classify: the label of a text, with the weights of its words."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from attncli.serve.catalogue import CLASSIFY
from attncli.serve.handlers import json_form
from attncli.serve.models import ClassifyJob
from attncli.serve.service import call_of

MOST_LABELS = 1000


async def classify(request: Request) -> Response:
    """Classify a text or a list of texts."""
    call = await call_of(request)
    given, texts = call.given, call.texts()
    model = call.service.catalogue.model(given.text("model", ""), CLASSIFY)
    nbest = given.number("nbest", 5, MOST_LABELS)
    job = ClassifyJob(max(1, nbest), given.flag("attention", True))
    found = await call.run(model.name, job, [" ".join(text.split()) for text in texts])
    return call.answer([json_form.classification(outcome) for outcome in found])

"""POST /classify: the label of a text, with the weights of its words."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from attncli.serve.catalogue import CLASSIFY
from attncli.serve.handlers import json_form
from attncli.serve.models import ClassifyJob
from attncli.serve.service import service_of

MOST_LABELS = 1000


async def classify(request: Request) -> Response:
    """Classify a text or a list of texts."""
    service = service_of(request)
    given = await service.parameters(request)
    texts, is_list = given.texts("q")
    service.check_length(texts)
    model = service.catalogue.model(given.text("model", ""), CLASSIFY)
    nbest = given.number("nbest", 5, MOST_LABELS)
    job = ClassifyJob(max(1, nbest), given.flag("attention", True))
    shown = [" ".join(text.split()) for text in texts]
    found = await service.run(model.name, job, shown, request)
    records = [json_form.classification(outcome) for outcome in found]
    return JSONResponse(records if is_list else records[0])

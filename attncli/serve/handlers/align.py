"""POST /align: which words of a text and of its translation belong together."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from attncli.serve.errors import invalid
from attncli.serve.handlers import json_form
from attncli.serve.models import AlignJob
from attncli.serve.service import service_of


async def align(request: Request) -> Response:
    """Align a text `q` with its `translation`, or a list with a list."""
    service = service_of(request)
    given = await service.parameters(request)
    texts, is_list = given.texts("q")
    translations, _ = given.texts("translation")
    if len(texts) != len(translations):
        raise invalid(f"{len(texts)} texts and {len(translations)} translations")
    service.check_length([*texts, *translations])
    direction = service.catalogue.direction(
        given.text("source"), given.text("target"), given.text("model", "")
    )
    sides = [[" ".join(text.split()) for text in side] for side in (texts, translations)]
    job = AlignJob(direction.languages, given.flag("heads"))
    pairs = list(zip(*sides, strict=True))
    found = await service.run(direction.model, job, pairs, request)
    records = [json_form.alignment(pair) for pair in found]
    return JSONResponse(records if is_list else records[0])

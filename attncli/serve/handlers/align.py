"""POST /align: which words of a text and of its translation belong together."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from attncli.serve.errors import invalid
from attncli.serve.handlers import json_form
from attncli.serve.models import AlignJob
from attncli.serve.service import call_of


async def align(request: Request) -> Response:
    """Align a text `q` with its `translation`, or a list with a list."""
    call = await call_of(request)
    given, texts = call.given, call.texts()
    translations = given.texts("translation")
    if len(texts) != len(translations):
        raise invalid(f"{len(texts)} texts and {len(translations)} translations")
    call.service.check_length([*texts, *translations])
    direction = call.service.catalogue.direction(
        given.text("source"), given.text("target"), given.text("model", "")
    )
    sides = [[" ".join(text.split()) for text in side] for side in (texts, translations)]
    job = AlignJob(direction.languages, given.flag("heads"))
    found = await call.run(direction.model, job, list(zip(*sides, strict=True)))
    return call.answer([json_form.alignment(pair) for pair in found])

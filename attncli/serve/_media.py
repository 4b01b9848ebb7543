"""POST /caption: captions of images."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from attncli.caption.runner import CaptionedImage
from attncli.data.named_files import NamedFile
from attncli.render.image_maps import described
from attncli.render.page import data_url
from attncli.serve._catalogue import CAPTION
from attncli.serve._requests import RequestError, invalid
from attncli.serve._service import Call, call_of
from attncli.task.runner import JsonObject
from attncli.terminal.messages import one_cell

MAX_CAPTIONS = 20


async def caption(request: Request) -> Response:
    """Caption the image in the body, or in the field `file` of a form."""
    call = await call_of(request)
    given = call.given
    nbest = max(1, given.number("nbest", 1, MAX_CAPTIONS))
    steered = steering(call)
    job = call.job(CAPTION, nbest=nbest, weights=given.flag("attention", True), **steered)
    image = next(filter(None, given.files.values()), b"")
    if not image:
        raise invalid("no image; send its bytes as the body, or as the field `file` of a form")
    name = call.service.catalogue.model(given.text("model", ""), CAPTION).name
    await asyncio.to_thread(check_pixels, image, call.service.options.max_pixels * 10**6)
    [outcome] = await call.run(name, job, [NamedFile("the image", image)])
    answer = caption_record(outcome)
    if outcome.attention and given.flag("image"):
        square = outcome.attention.image  # as the model read it; its maps lie over it
        answer["image"] = await asyncio.to_thread(data_url, square, "JPEG", quality=88)
    return JSONResponse(answer)


def steering(call: Call) -> dict[str, Any]:
    """Return the prefix and the looks of a request, as options of its job."""
    prefix = call.given.text("prefix", "")
    call.service.check_length([prefix])
    return {"prefix": prefix, "look": call.given.looks()}


def check_pixels(image: bytes, most: int) -> None:
    """Raise RequestError for bytes that are no image, or for one of too many pixels."""
    from PIL import Image

    opened: Callable[..., Any] = Image.open
    try:
        with opened(io.BytesIO(image)) as found:
            width, height = found.size
    except Exception:  # Pillow raises anything; an image that only HEIF's reader knows has no size
        return
    if width * height > most:
        raise RequestError(413, f"The image has {width:,} x {height:,} pixels: at most {most:,}")


def caption_record(outcome: CaptionedImage) -> JsonObject:
    """Return the captions of an image, and for each word of the best its map (rows, columns)."""
    if not outcome.hypotheses:
        raise invalid(outcome.note)
    found: JsonObject = {
        "caption": one_cell(outcome.text),
        "captions": [{"text": h.text, "score": round(h.score, 4)} for h in outcome.hypotheses],
    }
    if maps := outcome.attention:
        found["words"] = list(maps.words)
        shares = [maps.drawn(word).astype(float).round(4) for word in range(len(maps.words))]
        found["maps"], found["shown"] = [share.tolist() for share in shares], described(maps)
        found["entropy"] = maps.entropy.astype(float).round(3).tolist()
        if maps.gates is not None:
            found["gates"] = maps.gates.astype(float).round(3).tolist()
    return found

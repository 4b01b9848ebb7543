"""POST /caption: the caption of an image, other captions, and the attention map of each word."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from attncli.render.image_attention.page import jpeg_url
from attncli.serve.catalogue import CAPTION
from attncli.serve.models import CaptionJob
from attncli.serve.requests import RequestError, invalid
from attncli.serve.service import Call, call_of
from attncli.tasks.caption.writers import CaptionedImage

MOST_CAPTIONS = 20


async def caption(request: Request) -> Response:
    """Caption the image in the body, or in the field `file` of a form."""
    call = await call_of(request)
    given = call.given
    job = CaptionJob(max(1, given.number("nbest", 1, MOST_CAPTIONS)), given.flag("attention", True))
    image = next(filter(None, given.files.values()), b"")
    if not image:
        raise invalid("no image; send its bytes as the body, or as the field `file` of a form")
    outcome = await captioned(call, image, given.text("model", ""), job)
    answer = caption_record(outcome)
    if outcome.attention and given.flag("image"):
        square = outcome.attention.image  # as the model read it; its maps lie over it
        answer["image"] = await asyncio.to_thread(jpeg_url, square, 88)
    return JSONResponse(answer)


async def captioned(call: Call, image: bytes, model: str, job: CaptionJob) -> Any:
    """Return the captions of an image. Raises RequestError if it cannot be read."""
    name = call.service.catalogue.model(model, CAPTION).name
    await asyncio.to_thread(check_pixels, image, call.service.options.max_pixels * 10**6)
    [outcome] = await call.run(name, job, [image])
    return outcome


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


def caption_record(outcome: CaptionedImage) -> dict[str, Any]:
    """Return the captions of an image, and for each word of the best its map (rows, columns)."""
    if not outcome.hypotheses:
        raise invalid(outcome.note)
    found: dict[str, Any] = {
        "caption": outcome.caption,
        "captions": [{"text": h.text, "score": round(h.score, 4)} for h in outcome.hypotheses],
    }
    if maps := outcome.attention:
        found["words"] = list(maps.words)
        found["maps"] = maps.maps.astype(float).round(4).tolist()
        found["entropy"] = maps.entropy.astype(float).round(3).tolist()
        if maps.gates is not None:
            found["gates"] = maps.gates.astype(float).round(3).tolist()
    return found

"""POST /v1/chat/completions: the chat protocol of OpenAI's clients, for texts and images.

A translator is the model NAME:TARGET or NAME:SOURCE-TARGET ("everyday:de"); a captioner and a
classifier are models by their names. The last message of the user is the input.
"""

from __future__ import annotations

import base64
import binascii
import secrets
import time
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from attncli.serve.catalogue import CAPTION, CLASSIFY, OfferedModel, ServedDirection
from attncli.serve.errors import RequestError, invalid
from attncli.serve.handlers import json_form
from attncli.serve.handlers.caption import captioned
from attncli.serve.handlers.detect import detected
from attncli.serve.models import CaptionJob, ClassifyJob, TranslateJob
from attncli.serve.requests import Parameters
from attncli.serve.service import Service, service_of
from models.text.languages import parse_direction

MOST_CHOICES = 20
DATA_URL = "data:"


class Prompt(NamedTuple):
    """The content of the last message of the user."""

    text: str
    image: bytes | None


class Completion(NamedTuple):
    """The outputs for a prompt: for each choice, its parts in order."""

    model: str
    choices: list[list[str]]


async def models(request: Request) -> Response:
    """Return the models by the names that a completion takes."""
    service = service_of(request)
    names: dict[str, None] = {}
    for model in service.catalogue.models().values():
        for direction in model.directions:
            names[f"{model.name}:{direction.target}"] = None
        if not model.directions:
            names[model.name] = None
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "attn"} for name in names]
    return JSONResponse({"object": "list", "data": data})


async def completions(request: Request) -> Response:
    """Answer the last message: a translation, a caption or a label."""
    service = service_of(request)
    given = await service.parameters(request)
    prompt = _prompt(given.values.get("messages"))
    count = max(1, given.number("n", 1, MOST_CHOICES))
    done = await _completed(service, given, prompt, count, request)
    if given.flag("stream"):
        return StreamingResponse(_stream(done), media_type="text/event-stream")
    return JSONResponse(_whole(done, prompt))


async def _completed(
    service: Service, given: Parameters, prompt: Prompt, count: int, request: Request
) -> Completion:
    requested = given.text("model")
    name, _, languages = requested.partition(":")
    model = service.catalogue.models().get(name)
    if model is None:
        known = ", ".join(service.catalogue.models())
        raise RequestError(404, f"No model {name[:80]}; expected one of {known}")
    if model.facts.task == CAPTION:
        return await _caption(service, model, prompt, Completion(requested, []), count, request)
    if prompt.image is not None:
        raise invalid(f"{name} reads no images")
    service.check_length([prompt.text])
    if not prompt.text.strip():
        raise invalid("the message is empty")
    if model.facts.task == CLASSIFY:
        labels = ClassifyJob(nbest=count, attention=False)
        [outcome] = await service.run(name, labels, [" ".join(prompt.text.split())], request)
        return Completion(requested, [[one.label] for one in outcome.result.labels])
    direction = await _direction(service, model, languages, prompt.text, request)
    lines = prompt.text.split("\n")
    job = TranslateJob(direction.languages, nbest=count)
    found = await service.run(name, job, lines, request)
    ranks = [[json_form.output(line, rank) for line in found] for rank in range(count)]
    return Completion(requested, [_with_ends(parts) for parts in ranks])


async def _caption(
    service: Service,
    model: OfferedModel,
    prompt: Prompt,
    empty: Completion,
    count: int,
    request: Request,
) -> Completion:
    if prompt.image is None:
        raise invalid(f"{model.name} reads images; the message has none")
    job = CaptionJob(nbest=count, attention=False)
    outcome = await captioned(service, prompt.image, model.name, job, request)
    captions = json_form.caption(outcome)["captions"]
    return empty._replace(choices=[[one["text"]] for one in captions])


async def _direction(
    service: Service, model: OfferedModel, languages: str, text: str, request: Request
) -> ServedDirection:
    """Return the direction of NAME:TARGET or NAME:SOURCE-TARGET."""
    if not languages and len(model.directions) == 1:
        return model.directions[0]
    if not languages:
        raise invalid(f"no target language; name the model {model.name}:de, for example")
    if "-" in languages:
        try:
            source, target = parse_direction(languages)
        except ValueError:
            raise invalid(f"the direction {languages[:40]}; expected en-de, for example") from None
        return service.catalogue.direction(source, target, model.name)
    sources = {one.source for one in model.directions if one.target == languages}
    if len(sources) < 2:
        return service.catalogue.direction(min(sources, default=""), languages, model.name)
    [[best, *_]] = await detected(service, [text], sources, request)
    return service.catalogue.direction(best.language, languages, model.name)


def _prompt(messages: object) -> Prompt:
    """Return the content of the last message of the user."""
    if not isinstance(messages, list):
        raise invalid("missing messages parameter")
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            return _content(message.get("content"))
    raise invalid("no message of the user")


def _content(content: object) -> Prompt:
    if isinstance(content, str):
        return Prompt(_text(content), None)
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise invalid("the content of the message; expected a text or a list of parts")
    texts, image = [], None
    for part in content:
        if part.get("type") == "text":
            texts.append(_text(part.get("text")))
        elif part.get("type") == "image_url":
            address = part.get("image_url")
            image = _image(address.get("url") if isinstance(address, dict) else address)
        else:
            raise invalid("a part of the message; expected type text or image_url")
    return Prompt("\n".join(texts), image)


def _text(value: object) -> str:
    return Parameters({"content": value}, {}, {}).text("content", "")


def _image(address: object) -> bytes:
    head, _, data = address.partition(",") if isinstance(address, str) else ("", "", "")
    if not head.startswith(DATA_URL) or not head.endswith(";base64"):
        raise invalid("image_url; expected data:image/...;base64,... because nothing is fetched")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise invalid("image_url is not base64") from None


def _with_ends(parts: list[str]) -> list[str]:
    """Return the lines with their line ends, so that joined they are the whole output."""
    return [*(f"{part}\n" for part in parts[:-1]), parts[-1]]


def _whole(done: Completion, prompt: Prompt) -> dict[str, Any]:
    words = len(prompt.text.split())
    said = sum(len("".join(choice).split()) for choice in done.choices)
    return {
        **_head(done.model, "chat.completion"),
        "choices": [
            {
                "index": index,
                "message": {"role": "assistant", "content": "".join(parts)},
                "finish_reason": "stop",
            }
            for index, parts in enumerate(done.choices)
        ],
        "usage": {  # in words: the models have different tokens
            "prompt_tokens": words,
            "completion_tokens": said,
            "total_tokens": words + said,
        },
    }


async def _stream(done: Completion) -> AsyncIterator[bytes]:
    head = _head(done.model, "chat.completion.chunk")
    for index, parts in enumerate(done.choices):
        for number, part in enumerate(parts):
            delta = {"content": part} if number else {"role": "assistant", "content": part}
            choice = {"index": index, "delta": delta, "finish_reason": None}
            yield json_form.event({**head, "choices": [choice]})
        choice = {"index": index, "delta": {}, "finish_reason": "stop"}
        yield json_form.event({**head, "choices": [choice]})
    yield b"data: [DONE]\n\n"


def _head(model: str, kind: str) -> dict[str, Any]:
    name = f"chatcmpl-{secrets.token_hex(12)}"
    return {"id": name, "object": kind, "created": int(time.time()), "model": model}

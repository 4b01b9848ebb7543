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

from attncli.serve.catalogue import CAPTION, CLASSIFY, TRANSLATE, OfferedModel, ServedDirection
from attncli.serve.documents import event
from attncli.serve.labels import recognised
from attncli.serve.media import caption_record, captioned
from attncli.serve.models import Job
from attncli.serve.requests import Parameters, RequestError, invalid
from attncli.serve.service import Call, call_of, service_of
from attncli.serve.translate import output
from attncli.task.runner import JsonObject

MOST_CHOICES = 20
DATA_URL = "data:"


class Prompt(NamedTuple):
    """The content of the last message of the user."""

    text: str
    image: bytes | None


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
    call = await call_of(request)
    prompt = _prompt(call.given.values.get("messages"))
    count = max(1, call.given.number("n", 1, MOST_CHOICES))
    requested = call.given.text("model")
    choices = await _choices(call, requested, prompt, count)
    if call.given.flag("stream"):
        return StreamingResponse(_stream(requested, choices), media_type="text/event-stream")
    return JSONResponse(_whole(requested, choices, prompt))


async def _choices(call: Call, requested: str, prompt: Prompt, count: int) -> list[list[str]]:
    """Return the outputs for a prompt: for each choice, its parts in order."""
    name, _, languages = requested.partition(":")
    known = call.service.catalogue.models()
    if name not in known:
        raise RequestError(404, f"No model {name[:80]}; expected one of {', '.join(known)}")
    model = known[name]
    if model.facts.task == CAPTION:
        return await _captions(call, name, prompt, count)
    if prompt.image is not None:
        raise invalid(f"{name} reads no images")
    call.service.check_length([prompt.text])
    if not prompt.text.strip():
        raise invalid("the message is empty")
    if model.facts.task == CLASSIFY:
        labels = Job.of(CLASSIFY, nbest=count)
        [outcome] = await call.run(name, labels, [" ".join(prompt.text.split())])
        return [[one.label] for one in outcome.result.labels]
    direction = await _direction(call, model, languages, prompt.text)
    job = Job.of(TRANSLATE, nbest=count).in_direction(direction.languages)
    found = await call.run(name, job, prompt.text.split("\n"))
    ranks = ([output(line, rank) for line in found] for rank in range(count))
    return [[*(f"{part}\n" for part in parts[:-1]), parts[-1]] for parts in ranks]


async def _captions(call: Call, model: str, prompt: Prompt, count: int) -> list[list[str]]:
    if prompt.image is None:
        raise invalid(f"{model} reads images; the message has none")
    outcome = await captioned(call, prompt.image, model, Job.of(CAPTION, nbest=count))
    return [[one["text"]] for one in caption_record(outcome)["captions"]]


async def _direction(call: Call, model: OfferedModel, languages: str, text: str) -> ServedDirection:
    """Return the direction of NAME:TARGET or NAME:SOURCE-TARGET."""
    catalogue = call.service.catalogue
    if not languages and len(model.directions) == 1:
        return model.directions[0]
    if not languages:
        raise invalid(f"no target language; name the model {model.name}:de, for example")
    source, _, target = languages.partition("-")  # of en-de; de-DE is a language
    if target.islower() and source != target:
        return catalogue.direction(source, target, model.name)
    whole = catalogue.language(languages, model.name)
    sources = {one.source for one in model.directions if one.target == whole}
    if len(sources) < 2:
        return catalogue.direction(min(sources, default=""), languages, model.name)
    [best] = await recognised(call, [text], sources)
    return catalogue.direction(best.language, whole, model.name)


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
    texts, image = [], None
    parts: list[Any] = content if isinstance(content, list) else [content]
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else ""
        if kind == "text":
            texts.append(_text(part.get("text")))
        elif kind == "image_url":
            address = part.get("image_url")
            image = _image(address.get("url") if isinstance(address, dict) else address)
        else:
            raise invalid("the content of the message; expected parts of type text or image_url")
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


def _whole(model: str, choices: list[list[str]], prompt: Prompt) -> JsonObject:
    words = len(prompt.text.split())
    said = sum(len("".join(choice).split()) for choice in choices)
    return {
        **_head(model, "chat.completion"),
        "choices": [
            {
                "index": index,
                "message": {"role": "assistant", "content": "".join(parts)},
                "finish_reason": "stop",
            }
            for index, parts in enumerate(choices)
        ],
        "usage": {  # in words: the models have different tokens
            "prompt_tokens": words,
            "completion_tokens": said,
            "total_tokens": words + said,
        },
    }


async def _stream(model: str, choices: list[list[str]]) -> AsyncIterator[bytes]:
    head = _head(model, "chat.completion.chunk")
    for index, parts in enumerate(choices):
        for number, part in enumerate(parts):
            delta = {"content": part} if number else {"role": "assistant", "content": part}
            choice = {"index": index, "delta": delta, "finish_reason": None}
            yield event({**head, "choices": [choice]})
        choice = {"index": index, "delta": {}, "finish_reason": "stop"}
        yield event({**head, "choices": [choice]})
    yield b"data: [DONE]\n\n"


def _head(model: str, kind: str) -> JsonObject:
    name = f"chatcmpl-{secrets.token_hex(12)}"
    return {"id": name, "object": kind, "created": int(time.time()), "model": model}

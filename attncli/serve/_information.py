"""Answers about the service and its models."""

from __future__ import annotations

from contextlib import suppress
from typing import get_args

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from attncli.serve._catalogue import CAPTION, OfferedModel, name_of
from attncli.serve._labels import IDENTIFIER
from attncli.serve._service import service_of
from attncli.task.runner import JsonObject
from attncli.version import __version__
from models.core.annexes import find_part
from models.core.attention_config import ReadMode
from models.core.errors import NotFoundError
from models.storage.archive import read_card
from models.storage.settings import read_settings


async def health(request: Request) -> Response:
    """Return that the service works; 503 once it is ending."""
    draining = service_of(request).draining
    return JSONResponse({"status": "ending" if draining else "ok"}, 503 if draining else 200)


async def languages(request: Request) -> Response:
    """Return the source languages with their target languages."""
    targets: dict[str, list[str]] = {}  # a source is a target of itself, too
    for source, target in service_of(request).catalogue.directions():
        targets.setdefault(source, [source]).append(target)
        targets.setdefault(target, [target])
    return JSONResponse(
        [
            {"code": code, "name": name_of(code), "targets": sorted(targets[code])}
            for code in sorted(targets, key=name_of)
        ]
    )


async def frontend_settings(request: Request) -> Response:
    """Return the settings that a page needs."""
    service = service_of(request)
    pairs = service.catalogue.directions()  # English first
    pair = min(pairs, key=lambda pair: (pair[0] != "en", *pair), default=("", ""))
    source, target = ({"code": code, "name": name_of(code)} for code in pair)
    options = service.options
    formats = find_part("document", "formats")
    return JSONResponse(
        {
            "apiKeys": service.keys.required,
            "charLimit": options.max_text,
            "bodyLimit": options.max_body << 20,
            "filesTranslation": formats is not None,
            "frontendTimeout": 500,
            "keyRequired": service.keys.required,
            "language": {"source": source, "target": target},
            "detects": IDENTIFIER in service.catalogue.models(),
            "suggestions": False,
            "supportedFilesFormat": formats.suffixes() if formats else [],
            "version": __version__,
        }
    )


async def models(request: Request) -> Response:
    """Return the models on this machine with their cards."""
    service = service_of(request)
    defaults = set(service.catalogue.defaults.values())
    records = []
    for model in service.catalogue.models().values():
        with suppress(NotFoundError):  # its folder was removed since the list was read
            records.append(_model_record(model, model.name in defaults))
    return JSONResponse(records)


async def metrics(request: Request) -> Response:
    """Return the metrics in Prometheus's format."""
    content = service_of(request).metrics.text()
    return PlainTextResponse(content, media_type="text/plain; version=0.0.4")


def _model_record(model: OfferedModel, is_default: bool) -> JsonObject:
    facts = model.facts
    return {
        "name": model.name,
        "task": facts.task,
        "default": is_default,
        "family": facts.family,
        "summary": facts.about.summary,
        "licence": facts.about.licence,
        "use": facts.about.use,
        "score": facts.about.score,
        "sense": {**facts.about.sense},
        "knows": facts.about.knows,
        "address": _knows_address(model),
        "languages": list(facts.about.languages),
        "directions": [{"source": one.source, "target": one.target} for one in model.directions],
        "bytes": facts.bytes,
        "precision": facts.precision,
        "read_modes": _read_modes(model),
        "card": read_card(model.folder),
    }


def _knows_address(model: OfferedModel) -> bool:
    """Return True if a model has a token for a form of address."""
    return any(b"<formal>" in file.read_bytes() for file in model.folder.glob("tokenizer*.*"))


def _read_modes(model: OfferedModel) -> list[str]:
    """Return how hard attention can be drawn, the default first; empty if it is not hard."""
    attention = read_settings(model.folder)["model"].get("attention", {})
    if attention.get("read") != "hard":
        return []
    default = attention.get("read_decode", "argmax")
    if model.facts.task == CAPTION and default == "expected":
        default = "argmax"  # a picture shows the cell of the largest weight
    return sorted(get_args(ReadMode), key=lambda mode: mode != default)

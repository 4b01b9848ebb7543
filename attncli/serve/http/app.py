"""The table of endpoints, and the application that answers requests."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from attncli.serve.handlers import caption, chat, classify, documents, information, translate
from attncli.serve.http.guard import Guard
from attncli.serve.service import Service

PAGE = files("attncli.serve").joinpath("page")
POLICY = (  # a browser loads nothing from elsewhere, even if a text of the page were wrong
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
GET, POST, BOTH = ["GET"], ["POST"], ["GET", "POST"]
ENDPOINTS = (
    ("/translate", translate.translate, POST),
    ("/languages", information.languages, BOTH),  # translateLocally's clients post
    ("/detect", classify.detect, POST),
    ("/translate_file", documents.translate_file, POST),
    ("/download_file/{token}/{name}", documents.download_file, GET),
    ("/frontend/settings", information.frontend_settings, GET),
    ("/health", information.health, GET),
    ("/caption", caption.caption, POST),
    ("/align", translate.align, POST),
    ("/classify", classify.classify, POST),
    ("/models", information.models, GET),
    ("/metrics", information.metrics, GET),
    ("/v1/models", chat.models, GET),
    ("/v1/chat/completions", chat.completions, POST),
)
PAGES = {"/": "index.html", "/docs": "api.html"}


def application(service: Service) -> Guard:
    """Return the ASGI application of a service."""
    routes: list[Any] = [Route(path, to, methods=methods) for path, to, methods in ENDPOINTS]
    routes += [Route(path, _page(name), methods=GET) for path, name in PAGES.items()]
    routes.append(Route("/openapi.json", _page("openapi.json"), methods=GET))
    routes.append(Mount("/page", StaticFiles(directory=str(PAGE))))
    app = Starlette(routes=routes, exception_handlers={Exception: _raise, 404: _raise, 405: _raise})
    app.state.service = service
    return Guard(app, service)


def _page(name: str) -> Any:
    kind = "application/json" if name.endswith(".json") else "text/html"

    async def answer(request: Request) -> Response:
        content = PAGE.joinpath(name).read_bytes()
        return Response(content, media_type=kind, headers={"Content-Security-Policy": POLICY})

    return answer


async def _raise(request: Request, error: Exception) -> Response:
    raise error  # the guard answers

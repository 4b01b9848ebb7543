"""The table of endpoints, the application that answers requests, and the guard around it.

The guard is the outermost layer: limits, CORS, errors as JSON, metrics. Every answer passes there,
also that to a request which no handler has seen.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attncli.serve.http import caption, chat, classify, documents, information, translate
from attncli.serve.requests import RequestError
from attncli.serve.service import Service
from attncli.terminal import console

PAGE = files("attncli.serve").joinpath("page")
POLICY = (  # a browser loads nothing from elsewhere, even if a text of the page were wrong
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type",
    "Access-Control-Expose-Headers": "Retry-After",
}
SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
REFUSED_SECONDS = 10.0  # for which the rest of a refused body is read, so that the answer is read
LONGEST_REFUSED = 1 << 28  # bytes of it
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
CODES = {  # of OpenAI, by the status
    403: "invalid_api_key",
    404: "model_not_found",
    413: "request_too_large",
    429: "rate_limit_exceeded",
}
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


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        answer = _Answer(send, close=self._service.draining)
        started = time.monotonic()
        response = await self._answered(scope, receive, answer)
        if response is not None and not answer.started:
            await response(scope, receive, answer)
        endpoint = getattr(scope.get("route"), "path", "") or "other"
        self._service.metrics.requests.labels(endpoint, str(answer.status)).inc()
        self._service.metrics.seconds.labels(endpoint).observe(time.monotonic() - started)

    async def _answered(self, scope: Scope, receive: Receive, answer: _Answer) -> Response | None:
        """Let the application answer; return an answer of our own for a refused request."""
        body = _LimitedBody(receive, self._service.options.max_body << 20)
        try:
            self._check(scope, body)
            if scope["method"] == "OPTIONS":
                return Response(status_code=204)
            await self._app(scope, body, answer)
        except ClientDisconnect:
            return None
        except HTTPException as error:
            refusal = RequestError(error.status_code, str(error.detail))
            return _refusal(scope, refusal, error.headers)
        except RequestError as error:
            if error.status == 413:
                await body.read_rest()
            return _refusal(scope, error)
        except Exception as error:
            _report(error)
            return _refusal(scope, RequestError(500, "Internal error: please report it"))
        return None

    def _check(self, scope: Scope, body: _LimitedBody) -> None:
        headers = Headers(scope=scope)
        if not self._service.hosts.allows(headers.get("host", "")):
            hint = "start `attn serve` with -s service.allow_hosts=NAME"
            raise RequestError(403, f"This Host is not served here; {hint}")
        size = headers.get("content-length", "0")
        if len(size) > 15 or int(size) > body.most:
            raise body.too_large()


class _Answer:
    """A `send` that adds headers and remembers the status."""

    def __init__(self, send: Send, *, close: bool) -> None:
        self._send, self._close = send, close
        self.started, self.status = False, 499  # nginx's status for a client that has gone

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started, self.status = True, message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in {**CORS, **SAFE}.items():
                headers[name] = value
            if self._close or self.status == 413:
                headers["Connection"] = "close"
        await self._send(message)


class _LimitedBody:
    """A `receive` that refuses a body of more bytes than the limit."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self.most, self._read = receive, most, 0
        self._more = True

    async def __call__(self) -> Message:
        message = await self._receive()
        self._read += len(message.get("body", b""))
        self._more = bool(message.get("more_body"))
        if self._read > self.most:
            raise self.too_large()
        return message

    def too_large(self) -> RequestError:
        """Return the error for a body that is too large."""
        return RequestError(413, f"The request is too large: at most {self.most:,} bytes")

    async def read_rest(self) -> None:
        """Read and drop the rest of the body; a client that still sends would miss the answer."""
        until, read = time.monotonic() + REFUSED_SECONDS, 0
        while self._more and read < LONGEST_REFUSED and time.monotonic() < until:
            message = await self._receive()
            read += len(message.get("body", b""))
            self._more = bool(message.get("more_body"))


def _refusal(
    scope: Scope, error: RequestError, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the answer to a refused request; below /v1 in the form that OpenAI's clients read."""
    more: dict[str, Any] = dict(headers or {})
    if error.retry_after:
        more["Retry-After"] = str(error.retry_after)
    found: str | dict[str, Any] = error.message
    if scope["path"].startswith("/v1/"):
        kind = "server_error" if error.status >= 500 else "invalid_request_error"
        code = CODES.get(error.status)
        found = {"message": error.message, "type": kind, "param": None, "code": code}
    return JSONResponse({"error": found}, error.status, more)


def _report(error: Exception) -> None:
    """Report a bug with the places of its traceback, but without texts of the request."""
    places = traceback.extract_tb(error.__traceback__)[-6:]
    where = " < ".join(f"{place.filename}:{place.lineno}" for place in reversed(places))
    console.warn(f"internal error, please report it: {type(error).__name__} at {where}")

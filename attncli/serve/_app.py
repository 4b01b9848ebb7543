"""The application of the service, and the guard in front of it."""

from __future__ import annotations

import asyncio
import time
import traceback
from contextlib import suppress
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attncli.serve import _information as information
from attncli.serve import _labels as labels
from attncli.serve import _media as media
from attncli.serve import _translate as translate
from attncli.serve._fields import PAGE
from attncli.serve._requests import SECONDS, RequestError, error_answer
from attncli.serve._service import Service
from attncli.terminal import console
from models.core.annexes import entries, find_part

POLICY = (  # a browser loads nothing from elsewhere, even if a text of the page were wrong
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self' blob:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
CORS = {
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type",
    "Access-Control-Expose-Headers": "Retry-After",
    "Vary": "Origin",
}
SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
REFUSED_SECONDS = 10.0  # for which the rest of a refused body is read, so that the answer is read
LONGEST_REFUSED = 1 << 28  # bytes of it
# short requests are always read, so that eight slow uploads do not stop all others
SMALL_BODY = 1 << 16  # bytes, of which there may be any number
BODIES = 8  # whole bodies, of `max_body`, that may be in memory at once
GET, POST = ["GET"], ["POST"]
ENDPOINTS = (
    ("/translate", translate.translate, POST),
    ("/languages", information.languages, GET),
    ("/detect", labels.detect, POST),
    ("/frontend/settings", information.frontend_settings, GET),
    ("/health", information.health, GET),
    ("/caption", media.caption, POST),
    ("/align", translate.align, POST),
    ("/alternatives", translate.alternatives, POST),
    ("/classify", labels.classify, POST),
    ("/models", information.models, GET),
    ("/metrics", information.metrics, GET),
    *(
        (path, find_part("endpoint", endpoint), [method])
        for endpoint in entries("endpoint")  # of annexes
        for method, path in [endpoint.split()]
    ),
)
PAGES = {"/": "index.html", "/docs": "api.html"}


def application(service: Service) -> Guard:
    """Return the ASGI application of a service."""
    routes: list[Any] = [Route(path, to, methods=methods) for path, to, methods in ENDPOINTS]
    routes += [Route(path, _page(name), methods=GET) for path, name in PAGES.items()]
    for path in ("/openapi.json", "/spec"):  # LibreTranslate's name
        routes.append(Route(path, _page("openapi.json"), methods=GET))
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
        origin = self._service.origins.granted(Headers(scope=scope))
        answer = _Answer(send, origin, close=self._service.draining)
        body = _LimitedBody(receive, self._service)
        started = time.monotonic()
        try:
            response = await self._answered(scope, body, answer)
            if response is not None and not answer.started:
                await response(scope, receive, answer)
        finally:
            body.release()
        endpoint = getattr(scope.get("route"), "path", "") or "other"
        self._service.metrics.requests.labels(endpoint, str(answer.status)).inc()
        self._service.metrics.seconds.labels(endpoint).observe(time.monotonic() - started)

    async def _answered(self, scope: Scope, body: _LimitedBody, answer: _Answer) -> Response | None:
        """Let the application answer; return an answer of our own for a refused request."""
        try:
            self._check(scope, body, answer.origin)
            if scope["method"] == "OPTIONS":
                return Response(status_code=204)
            await self._app(scope, body, answer)
        except ClientDisconnect:
            return None
        except HTTPException as error:
            refusal = RequestError(error.status_code, str(error.detail))
            return error_answer(scope, refusal, error.headers)
        except RequestError as error:
            if body.refused:
                answer.close = True
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(body.read_rest(), REFUSED_SECONDS)
            return error_answer(scope, error)
        except Exception as error:
            _report(error)
            return error_answer(scope, RequestError(500, "Internal error: please report it"))
        return None

    def _check(self, scope: Scope, body: _LimitedBody, origin: str | None) -> None:
        headers = Headers(scope=scope)
        if not self._service.hosts.allows(headers.get("host", "")):
            hint = "start `attn serve` with -s service.allow_hosts=NAME"
            raise RequestError(403, f"This Host is not served here; {hint}")
        if origin is None:
            hint = "start `attn serve` with --allow-origin and its origin"
            raise RequestError(403, f"The page is of another site; {hint}")
        size = headers.get("content-length", "0")
        # int() refuses thousands of digits, which a hostile client may send
        if len(size) > 15 or int(size) > body.most:
            raise body.too_large()


class _Answer:
    """A `send` that adds headers and remembers the status."""

    def __init__(self, send: Send, origin: str | None, *, close: bool) -> None:
        self._send, self.origin, self.close = send, origin, close
        self.started, self.status = False, 499  # nginx's status for a client that has gone

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started, self.status = True, message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in {**CORS, **SAFE}.items():
                headers[name] = value
            if self.origin:
                headers["Access-Control-Allow-Origin"] = self.origin
            site = "cross-origin" if self.origin == "*" else "same-origin"
            headers["Cross-Origin-Resource-Policy"] = site
            if self.close:
                headers["Connection"] = "close"
        await self._send(message)


class _LimitedBody:
    """A `receive` that refuses a body of more bytes than one, or all together, may have."""

    def __init__(self, receive: Receive, service: Service) -> None:
        self._receive, self._service, self._read = receive, service, 0
        self.most = service.options.max_body << 20
        self._more = True
        self.refused = False

    async def __call__(self) -> Message:
        message = await self._receive()
        size = len(message.get("body", b""))
        self._read += size
        self._service.body_bytes += size
        self._more = bool(message.get("more_body"))
        if self._read > self.most:
            raise self.too_large()
        if self._service.body_bytes > BODIES * self.most and self._read > SMALL_BODY:
            self.refused = True
            raise RequestError(503, "The service is busy: too many large requests", SECONDS)
        return message

    def release(self) -> None:
        """Count the body no longer."""
        self._service.release(self._read)

    def too_large(self) -> RequestError:
        """Return the error for a body that is too large."""
        self.refused = True
        return RequestError(413, f"The request is too large: at most {self.most:,} bytes")

    async def read_rest(self) -> None:
        """Read and drop the rest of the body; a client that still sends would miss the answer."""
        read = 0
        while self._more and read < LONGEST_REFUSED:
            message = await self._receive()
            read += len(message.get("body", b""))
            self._more = bool(message.get("more_body"))


def _report(error: Exception) -> None:
    """Report a bug with the places of its traceback, but without texts of the request."""
    places = traceback.extract_tb(error.__traceback__)[-6:]
    where = " < ".join(f"{place.filename}:{place.lineno}" for place in reversed(places))
    console.warn(f"internal error, please report it: {type(error).__name__} at {where}")

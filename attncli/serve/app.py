"""The application of the service, and its server."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
import time
import traceback
import webbrowser
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from attncli.serve import chat, documents, information, media, translate
from attncli.serve.catalogue import ServeOptions
from attncli.serve.information import error_answer
from attncli.serve.requests import SECONDS, RequestError
from attncli.serve.service import Service
from attncli.terminal import console
from models.core.errors import ModelError
from models.core.limits import return_freed_memory

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

PAGE = files("attncli.serve").joinpath("page")
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
SMALL_BODY = 1 << 16  # bytes, of which there may be any number
BODIES = 8  # whole bodies, of `max_body`, that may be in memory at once
GET, POST = ["GET"], ["POST"]
ENDPOINTS = (
    ("/translate", translate.translate, POST),
    ("/languages", information.languages, GET),
    ("/detect", media.detect, POST),
    ("/translate_file", documents.translate_file, POST),
    ("/download_file/{token}/{name}", documents.download_file, GET),
    ("/frontend/settings", information.frontend_settings, GET),
    ("/health", information.health, GET),
    ("/caption", media.caption, POST),
    ("/align", translate.align, POST),
    ("/classify", media.classify, POST),
    ("/transcribe", media.transcribe, POST),
    ("/models", information.models, GET),
    ("/metrics", information.metrics, GET),
    ("/v1/models", chat.models, GET),
    ("/v1/chat/completions", chat.completions, POST),
    ("/v1/audio/transcriptions", media.transcriptions, POST),
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
        """Count the body no longer, and give its memory back to the system."""
        self._service.body_bytes -= self._read
        if self._read > SMALL_BODY:
            return_freed_memory()

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


# The process of the service: sockets, signals, the browser.
#
# After SIGTERM, it answers for DRAIN more seconds and tells clients to close their connections.
# Then it accepts no more connections, and finishes the requests that have begun.


DRAIN = 0.3  # seconds
HEADER_SECONDS = 20.0  # in which a client must have sent the head of a request
KEEP_ALIVE = 30  # seconds for which an unused connection is kept
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # and the one of this machine itself
BACKLOG = 2048  # connections that wait to be accepted
MINUTE = 60.0
FULL = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def serve(options: ServeOptions) -> None:
    """Run the service until a signal ends it. Raises ModelError if it cannot start."""
    for name in ("python_multipart", "python_multipart.multipart"):  # log what clients send
        logging.getLogger(name).disabled = True
    service = Service(options)
    listening = _listening(options)
    server = Server(_config(application(service), options), service)
    console.say(f"attn serves {address_of(options)} (Ctrl-C ends it)")
    for line in lines_about_others(options):
        console.say(line)
    if options.browser and not options.socket:
        server.page = address_of(options)
    try:
        server.run(sockets=[listening])
    finally:
        service.close()
        if options.socket:
            Path(options.socket).unlink(missing_ok=True)


def address_of(options: ServeOptions) -> str:
    """Return the address of the page, for people."""
    if options.socket:
        return options.socket
    host = ANY_ADDRESS.get(options.host, options.host)
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"http://{host}:{options.port}"


def lines_about_others(options: ServeOptions) -> list[str]:
    """Return the address that other machines use, and a warning if none of them needs a key."""
    if options.socket or options.host not in ANY_ADDRESS:
        return []
    found = [f"other machines use http://{own_address()}:{options.port}"]
    if options.api_keys is None:
        found.append(
            "anybody in your network can use it: `attn serve --new-key >> keys.txt` makes a key "
            "for --api-keys keys.txt"
        )
    return found


def own_address() -> str:
    """Return the address of this machine in its network, or its name if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # of documentation; nothing is sent
        return str(probe.getsockname()[0])
    return socket.gethostname()


class Server(uvicorn.Server):
    """A server that drains its connections before it ends, and opens the page when it begins."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service, self.page = service, ""
        self._reported = -MINUTE

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen; then open the page."""
        asyncio.get_running_loop().set_exception_handler(self._report)
        await super().startup(sockets)
        if self.page and self.started:
            threading.Thread(target=webbrowser.open, args=[self.page], daemon=True).start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End gently; see the module's docstring."""
        self._service.draining = True
        await asyncio.sleep(DRAIN)
        await super().shutdown(sockets)

    def _report(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Report that connections cannot be accepted, at most once a minute."""
        now = time.monotonic()
        if now - self._reported > MINUTE:
            self._reported = now
            reason = getattr(context.get("exception"), "strerror", None)
            console.warn(f"{context['message']}{f' ({reason})' if reason else ''}")


class Protocol(H11Protocol):
    """HTTP over one connection, which is closed if the head of a request does not come in time."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request; refuse a connection that would be one too many."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > _most_connections():
            self.loop.call_exception_handler({"message": "too many connections: new ones get 503"})
            transport.write(FULL)
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Read some bytes; wait for the head of a request unless it is complete."""
        super().data_received(data)
        if self._is_complete():
            self._stop()
        elif self._waiting is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(HEADER_SECONDS, self._late)

    def _stop(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _late(self) -> None:
        self._waiting = None
        if not self._is_complete():
            self.transport.close()

    def _is_complete(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete


def _most_connections() -> int:
    """Return half of the descriptors that this process may have; the models need others."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource else 0
    return max(8, soft // 2 - 16) if soft > 0 else BACKLOG


def _config(app: Any, options: ServeOptions) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_level="critical",  # requests, and the texts in their addresses, are not logged
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=int(options.time_limit) + 1,
    )


def _listening(options: ServeOptions) -> socket.socket:
    """Return the socket that the service listens to. Raises ModelError if it cannot be had."""
    try:
        return _unix(options) if options.socket else _tcp(options)
    except (OSError, OverflowError) as error:
        where = address_of(options)
        reason = getattr(error, "strerror", None) or error
        hint = f"choose another {'service.socket' if options.socket else '--port'}"
        raise ModelError(f"cannot listen at {where} ({reason})", "a free address", hint) from None


def _tcp(options: ServeOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # asyncio sends small answers at once (TCP_NODELAY) only if the protocol is named
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((options.host, options.port))
    listening.listen(BACKLOG)
    return listening


def _unix(options: ServeOptions) -> socket.socket:
    if not hasattr(socket, "AF_UNIX") or sys.platform == "win32":
        raise OSError("this system has no Unix sockets")
    path = Path(options.socket)
    if path.is_socket():
        with socket.socket(socket.AF_UNIX) as client:
            if client.connect_ex(str(path)):
                path.unlink()  # left by a process that was killed
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    path.chmod(0o660)
    listening.listen(BACKLOG)
    return listening

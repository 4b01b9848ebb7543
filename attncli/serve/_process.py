"""The process of the service: sockets, signals, the browser.

After SIGTERM, it answers for DRAIN more seconds and tells clients to close their connections.
Then it accepts no more connections, finishes the short requests that have begun, and ends large
ones.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
import time
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from attncli.serve._app import application
from attncli.serve._options import ServeOptions
from attncli.serve._service import Service
from attncli.task.runner import JsonObject
from attncli.terminal import console
from models.core.errors import ModelError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

DRAIN = 0.3  # seconds
# uvicorn waits for ever, so a few slow clients could hold all connections
HEADER_SECONDS = 20.0  # in which a client must have sent the head of a request
KEEP_ALIVE = 30  # seconds for which an unused connection is kept
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # and the one of this machine itself
BACKLOG = 2048  # connections that wait to be accepted
MINUTE = 60.0
FULL = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def serve(options: ServeOptions) -> None:
    """Run the service until a signal ends it. Raises ModelError if it cannot start."""
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
            # in a thread, because some browsers return only when they end
            threading.Thread(target=webbrowser.open, args=[self.page], daemon=True).start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End gently; see the module's docstring."""
        self._service.draining = True
        await asyncio.sleep(DRAIN)
        self._service.end()
        await super().shutdown(sockets)

    def _report(self, loop: asyncio.AbstractEventLoop, context: JsonObject) -> None:
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
        # without a limit, the process runs out of descriptors and can open no model
        if len(self.connections) > _most_connections():
            self.loop.call_exception_handler({"message": "too many connections: new ones get 503"})
            # in bytes of our own, because there is no request yet that uvicorn could answer
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
    for name in ("python_multipart", "python_multipart.multipart"):  # log what clients send
        logging.getLogger(name).disabled = True
    return uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,  # it would undo this
        log_level="critical",  # requests, and the texts in their addresses, are not logged
        access_log=False,
        # any client could write these headers, and take another address for the limit of requests
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=int(options.time_limit) + 1,
    )


def _listening(options: ServeOptions) -> socket.socket:
    """Return the socket that the service listens to. Raises ModelError if it cannot be opened."""
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
    # so that a service can begin again at once; on Windows, two processes could share the port
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
            # nobody answers there; a living service keeps its socket
            if client.connect_ex(str(path)):
                path.unlink()  # left by a process that was killed
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    path.chmod(0o660)
    listening.listen(BACKLOG)
    return listening

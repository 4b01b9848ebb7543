"""Access to the service: its names, API keys and the number of requests per minute."""

from __future__ import annotations

import hmac
import ipaddress
import math
import socket
import time
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

from attncli.serve.catalogue import ServeOptions
from attncli.serve.requests import RequestError
from models.base.errors import ModelError

CLIENTS = 10_000  # clients whose requests are counted
MINUTE = 60.0


class Hosts:
    """The names by which the service may be called.

    A page of another site can make a browser call this machine under that site's name (DNS
    rebinding). Such a request has a `Host` header with a name that is not this service's. A number
    cannot be rebound, so the addresses of this machine are allowed where it listens to others.
    """

    def __init__(self, options: ServeOptions) -> None:
        names = {"localhost", options.host.lower(), *map(str.lower, options.allow_hosts)}
        self._any = bool(options.socket) or "*" in names  # a proxy is in front of a socket
        self._numbers = not _is_loopback(options.host)
        if self._numbers:
            names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        self._names = names

    def allows(self, header: str) -> bool:
        """Return True for the `Host` header of a request to this service."""
        name = host_name(header)
        if self._any or name in self._names or name.endswith(".localhost"):
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._numbers or address.is_loopback


class Keys:
    """API keys of a file: one per line; empty lines and those that begin with # are left out."""

    def __init__(self, path: Path | None) -> None:
        """Raise ModelError if the file cannot be read or has no key."""
        self.required = path is not None
        self._keys = _read_keys(path) if path else []

    def check(self, key: str) -> None:
        """Raise RequestError for a key that is not known, if one is needed."""
        given = key.encode("utf-8", "replace")
        known = [hmac.compare_digest(given, one) for one in self._keys]  # all, in constant time
        if self.required and not any(known):
            raise RequestError(403, "Invalid API key")


class RateLimit:
    """At most so many requests of a client in any minute."""

    def __init__(self, per_minute: int) -> None:
        self.per_minute = per_minute
        self._times: OrderedDict[str, list[float]] = OrderedDict()

    def count(self, client: str) -> None:
        """Count a request. Raises RequestError if the client has made too many."""
        if not self.per_minute:
            return
        now = time.monotonic()
        times = [at for at in self._times.get(client, ()) if now - at < MINUTE]
        self._times[client] = times
        self._times.move_to_end(client)
        if len(self._times) > CLIENTS:
            self._times.popitem(last=False)
        if len(times) >= self.per_minute:
            wait = math.ceil(MINUTE - (now - times[0]))
            raise RequestError(429, f"Slowdown: {self.per_minute} per 1 minute", max(1, wait))
        times.append(now)


def host_name(header: str) -> str:
    """Return the name in a `Host` header, without port and brackets, in lower case."""
    header = header.strip().lower()
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.rpartition(":")[0] if header.count(":") == 1 else header


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def _read_keys(path: Path) -> list[bytes]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"cannot read {path} ({error})", "a file with one key per line") from None
    keys = [line.strip().encode() for line in lines if line.strip() and line[0] != "#"]
    if not keys:
        raise ModelError(f"{path} has no key", "one key per line")
    return keys

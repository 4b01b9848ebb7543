"""Access to the service: its names, other sites, API keys and the number of requests per minute."""

from __future__ import annotations

import hmac
import ipaddress
import math
import re
import socket
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from attncli.serve._options import ServeOptions
from attncli.serve._requests import RequestError
from models.core.errors import ModelError

HOST = re.compile(r"(?:\[(?P<number>[0-9a-f:.]+)\]|(?P<name>[^\s:@/\[\]]+))(?::\d{1,5})?")
OWN = ("same-origin", "none")  # Sec-Fetch-Site of the service's page, and of what a person types
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
        # a service for this machine alone has no reason to be called by another address
        self._numbers = not _is_loopback(options.host)
        if self._numbers:
            names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        self._names = names

    def allows(self, header: str) -> bool:
        """Return True for the `Host` header of a request to this service."""
        found = HOST.fullmatch(header.strip().lower())
        name = (found["number"] or found["name"]) if found else ""
        if self._any or name in self._names or name.endswith(".localhost"):
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._numbers or address.is_loopback


class Origins:
    """The sites whose pages may use the service: its own, those it is told, and extensions.

    A browser names the site of a page in `Origin`, or, for an image, a script and a link, how it is
    related to the service in `Sec-Fetch-Site`. Pages cannot change these. Other clients send none.
    """

    def __init__(self, options: ServeOptions) -> None:
        self._allowed = {one.rstrip("/").lower() for one in options.allow_origins}

    def granted(self, headers: Mapping[str, str]) -> str | None:
        """Return `Access-Control-Allow-Origin` for a request; "": none; None: it is refused."""
        origin, site = headers.get("origin", "").lower(), headers.get("sec-fetch-site", "none")
        scheme, _, host = origin.partition("://")
        if "*" in self._allowed:
            return "*"
        if not origin:  # a link to the page is followed
            return "" if site in OWN or headers.get("sec-fetch-mode") == "navigate" else None
        is_own = site == "same-origin" or host == headers.get("host", "").lower()
        known = is_own or scheme.endswith("-extension") or origin in self._allowed
        return origin if known else None


class Keys:
    """API keys of a file: one per line; empty lines and those that begin with # are left out."""

    def __init__(self, path: Path | None) -> None:
        """Raise ModelError if the file cannot be read or has no key."""
        self.required = path is not None
        self._keys: list[bytes] = []
        if path is None:
            return
        try:
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            expected = "a file with one key per line"
            raise ModelError(f"cannot read {path} ({error})", expected) from None
        self._keys = [line.strip().encode() for line in lines if line.strip() and line[0] != "#"]
        if not self._keys:
            raise ModelError(f"{path} has no key", "one key per line")

    def check(self, key: str) -> None:
        """Raise RequestError for a key that is not known, if one is needed."""
        given = key.encode("utf-8", "replace")
        known = [hmac.compare_digest(given, one) for one in self._keys]  # all, in constant time
        if self.required and not any(known):
            missing = "This service needs an API key: send it as api_key, or as a bearer token"
            raise RequestError(401, "Invalid API key" if key else missing)


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
        # a moving minute, because counts of whole minutes allow twice the number at their border
        times = [at for at in self._times.get(client, ()) if now - at < MINUTE]
        self._times[client] = times
        self._times.move_to_end(client)
        # bounds the memory: the client that has been silent longest is forgotten
        if len(self._times) > CLIENTS:
            self._times.popitem(last=False)
        if len(times) >= self.per_minute:
            wait = math.ceil(MINUTE - (now - times[0]))
            raise RequestError(429, f"Slowdown: {self.per_minute} per 1 minute", max(1, wait))
        times.append(now)


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"

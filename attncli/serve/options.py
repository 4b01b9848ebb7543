"""Options of the service: address, limits, access."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PORT = 5055  # LibreTranslate's is 5000, which macOS uses itself


@dataclass(frozen=True)
class ServeOptions:
    """Options of `attn serve`; see its help page."""

    models: tuple[Path, ...] = ()  # translators, first choice first; none: the shipped one
    host: str = "127.0.0.1"
    port: int = PORT
    socket: Path | None = None  # Unix socket in place of host and port
    allowed_hosts: tuple[str, ...] = ()  # further names of this service
    api_keys: Path | None = None  # file with one key per line; None: no key is needed
    rate_limit: int = 0  # requests per minute and client; 0: no limit
    max_text: int = 100_000  # characters of one request
    max_body: int = 32 << 20  # bytes of one request, files included
    max_pixels: int = 64_000_000  # of one image
    max_waiting: int = 2000  # requests that wait for one model
    time_limit: float = 60.0  # seconds for one request; documents and streams have DOCUMENT_TIMES
    idle: float = 900.0  # seconds after which an unused model is released
    device: str = "auto"
    threads: int = 0  # processor threads; 0: torch decides
    browser: bool = True  # open the page


DOCUMENT_TIMES = 60  # a document may take this many times `time_limit`

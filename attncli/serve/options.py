"""Options of the service: address, limits, access."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from models.core.settings import option

PORT = 5055  # LibreTranslate's is 5000, which macOS uses itself
DOCUMENT_TIMES = 60  # a document may take this many times `time_limit`


@dataclass(frozen=True)
class ServiceSettings:
    """Address, access and ceilings of the service: its options -s."""

    socket: str = option("", "Unix socket to listen at, behind a proxy, in place of a port")
    allow_hosts: tuple[str, ...] = option(
        (), "names of this service in addresses, separated by commas; *: any"
    )
    rate_limit: int = option(0, "requests per minute of one client (0: any number)")
    max_text: int = option(100_000, "characters of one request", least=1)
    max_body: int = option(32, "MiB of one request, files included", least=1)
    max_pixels: int = option(64, "megapixels of one image", least=1)
    max_waiting: int = option(2000, "requests that may wait for one model", least=1)
    time_limit: float = option(
        60.0,
        f"seconds for one request; a document or a recording may take {DOCUMENT_TIMES} times that",
        least=0.1,
    )
    idle: float = option(900.0, "seconds after which an unused model is released", least=0.1)


@dataclass(frozen=True)
class ServeTables:
    """Tables of `attn serve`."""

    service: ServiceSettings = option(ServiceSettings, "the service")


@dataclass(frozen=True)
class ServeOptions(ServiceSettings):
    """All options of `attn serve`; see its help page."""

    models: tuple[Path, ...] = ()  # translators, first choice first; none: the shipped one
    host: str = "127.0.0.1"
    port: int = PORT
    allow_origins: tuple[str, ...] = ()  # other sites whose pages may use the service; *: any
    api_keys: Path | None = None  # file with one key per line; None: no key is needed
    device: str = "auto"
    threads: int = 0  # processor threads; 0: torch decides
    browser: bool = True  # open the page

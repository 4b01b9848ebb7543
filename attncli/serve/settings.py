"""Settings of `attn serve` for its option -s."""

from __future__ import annotations

from dataclasses import dataclass

from attncli.serve.options import DOCUMENT_TIMES, ServeOptions
from models.base.settings import option

DEFAULT = ServeOptions()


@dataclass(frozen=True)
class ServiceSettings:
    """Address, access and ceilings of the service."""

    socket: str = option("", "Unix socket to listen at, behind a proxy, in place of a port")
    allow_hosts: tuple[str, ...] = option(
        (), "names of this service in addresses, separated by commas; *: any"
    )
    rate_limit: int = option(
        DEFAULT.rate_limit, "requests per minute of one client (0: any number)"
    )
    max_text: int = option(DEFAULT.max_text, "characters of one request", least=1)
    max_body: int = option(DEFAULT.max_body >> 20, "MiB of one request, files included", least=1)
    max_pixels: int = option(DEFAULT.max_pixels // 10**6, "megapixels of one image", least=1)
    max_waiting: int = option(DEFAULT.max_waiting, "requests that may wait for one model", least=1)
    time_limit: float = option(
        DEFAULT.time_limit,
        f"seconds for one request; a document may take {DOCUMENT_TIMES} times that",
        least=0.1,
    )
    idle: float = option(DEFAULT.idle, "seconds after which an unused model is released", least=0.1)


@dataclass(frozen=True)
class ServeTables:
    """Tables of `attn serve`."""

    service: ServiceSettings = option(ServiceSettings, "the service")

"""Options of the service: address, limits, access."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from attncli.options.shared import MODEL, Device, Threads
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
    """Options of `attn serve`."""

    models: Annotated[
        tuple[Path, ...],
        list[Path] | None,
        typer.Option(
            "--model",
            "-m",
            envvar=MODEL,
            help="Translator of /translate; without it, the shipped one. Given again: the first "
            "that has a direction translates it. The page offers all models that `attn models` "
            "lists.",
        ),
    ] = ()
    host: Annotated[
        str, typer.Option(help="Address to listen at; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at.")] = PORT
    allow_origins: Annotated[
        tuple[str, ...],
        list[str] | None,
        typer.Option(
            "--allow-origin",
            metavar="ORIGIN",
            help="Let the pages of another site use the service, such as https://a.example "
            "(repeatable); *: those of any site.",
        ),
    ] = ()
    api_keys: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Require one of the API keys, one per line.")
    ] = None
    new_key: Annotated[
        bool, typer.Option("--new-key", help="Print a new key for the file of --api-keys, and end.")
    ] = False
    browser: Annotated[
        bool,
        typer.Option(
            "--browser/--no-browser", help="Open the page in the browser, if there is a terminal."
        ),
    ] = True
    device: Device = "auto"
    threads: Threads = 0

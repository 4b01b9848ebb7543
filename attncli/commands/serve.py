"""``attn serve``: parse the options and run the service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from attncli.options.shared import MODEL, Device, Threads
from attncli.serve.options import ServeOptions
from models.base.errors import ModelError

DEFAULT = ServeOptions()

Translators = Annotated[
    list[Path] | None,
    typer.Option(
        "--model",
        "-m",
        envvar=MODEL,
        help="Translator of /translate; without it, the shipped one. Given again: the first that "
        "has a direction translates it. The page offers all models that `attn models` lists.",
    ),
]
Host = Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 lets other machines in.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at.")]
Socket = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH", help="Listen at a Unix socket, behind a proxy, and not at a port."
    ),
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Name of this service in addresses (repeatable); *: any."),
]
ApiKeys = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Require one of the API keys, one per line.")
]
RateLimit = Annotated[
    int, typer.Option(min=0, help="Requests per minute of one client (0: no limit).")
]
MaxText = Annotated[int, typer.Option(min=1, help="Characters of one request.")]
MaxBody = Annotated[int, typer.Option(min=1, help="MiB of one request, files included.")]
MaxPixels = Annotated[int, typer.Option(min=1, help="Megapixels of one image.")]
MaxWaiting = Annotated[int, typer.Option(min=1, help="Requests that may wait for one model.")]
TimeLimit = Annotated[
    float, typer.Option(min=0.1, help="Seconds for one request; a document may take 60 times that.")
]
Idle = Annotated[
    float, typer.Option(min=0.1, help="Seconds after which an unused model is released.")
]
Browser = Annotated[
    bool,
    typer.Option(
        "--browser/--no-browser", help="Open the page in the browser, if there is a terminal."
    ),
]


def serve(
    *,
    model: Translators = None,
    host: Host = DEFAULT.host,
    port: Port = DEFAULT.port,
    socket: Socket = None,
    allow_host: AllowHost = None,
    api_keys: ApiKeys = None,
    rate_limit: RateLimit = DEFAULT.rate_limit,
    max_text: MaxText = DEFAULT.max_text,
    max_body: MaxBody = DEFAULT.max_body >> 20,
    max_pixels: MaxPixels = DEFAULT.max_pixels // 10**6,
    max_waiting: MaxWaiting = DEFAULT.max_waiting,
    time_limit: TimeLimit = DEFAULT.time_limit,
    idle: Idle = DEFAULT.idle,
    browser: Browser = DEFAULT.browser,
    device: Device = "auto",
    threads: Threads = DEFAULT.threads,
) -> None:
    """Serve the models: a page in the browser, and a protocol.

    Programs use LibreTranslate's protocol, or OpenAI's clients. The page translates text and
    documents, describes photos, and shows what a model attended to.
    Nothing leaves this machine, and no text is logged. Only this machine can reach the service
    unless --host or --socket says otherwise.

    A model is loaded when it is first needed. SIGTERM finishes the requests that have begun.

    Example:
      attn serve
      attn serve --port 5000 --no-browser
      attn serve --host 0.0.0.0 --api-keys keys.txt --rate-limit 60
    """
    options = ServeOptions(
        models=tuple(model or ()),
        host=host,
        port=port,
        socket=socket,
        allowed_hosts=tuple(allow_host or ()),
        api_keys=api_keys,
        rate_limit=rate_limit,
        max_text=max_text,
        max_body=max_body << 20,
        max_pixels=max_pixels * 10**6,
        max_waiting=max_waiting,
        time_limit=time_limit,
        idle=idle,
        device=device,
        threads=threads,
        browser=browser and sys.stderr is not None and sys.stderr.isatty(),
    )
    try:
        from attncli.serve.server import serve as run
    except ModuleNotFoundError as error:
        raise ModelError(
            f"no package {error.name}", "the packages of the service", "pip install 'attn[serve]'"
        ) from None
    run(options)

"""``attn serve``: parse the options and run the service."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer

from attncli.options.settings import SetOption
from attncli.options.shared import MODEL, Device, Threads
from attncli.serve.options import ServeOptions, ServeTables
from models.core.errors import ModelError, install_command
from models.core.settings import overridden

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
Origins = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-origin",
        metavar="ORIGIN",
        help="Let the pages of another site use the service, such as https://a.example "
        "(repeatable); *: those of any site.",
    ),
]
ApiKeys = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Require one of the API keys, one per line.")
]
Browser = Annotated[
    bool,
    typer.Option(
        "--browser/--no-browser", help="Open the page in the browser, if there is a terminal."
    ),
]


NewKey = Annotated[
    bool, typer.Option("--new-key", help="Print a new key for the file of --api-keys, and end.")
]
Set = Annotated[list[str] | None, SetOption(ServeTables, example="service.rate_limit=60")]


def serve(
    *,
    model: Translators = None,
    host: Host = DEFAULT.host,
    port: Port = DEFAULT.port,
    allow_origin: Origins = None,
    api_keys: ApiKeys = None,
    new_key: NewKey = False,
    browser: Browser = DEFAULT.browser,
    device: Device = "auto",
    threads: Threads = DEFAULT.threads,
    set: Set = None,
) -> None:
    """Serve the models: a page in the browser, and a protocol.

    Programs use LibreTranslate's protocol; OpenAI's clients transcribe. The page translates text
    and documents, describes photos, and shows what a model attended to.
    Nothing leaves this machine, and no text is logged. Only this machine can reach the service
    unless --host says otherwise.

    A model is loaded when it is first needed. SIGTERM finishes the requests that have begun. See
    docs/serve.md.

    Example:
      attn serve
      attn serve --port 5000 --no-browser
      attn serve --new-key >> keys.txt
      attn serve --host 0.0.0.0 --api-keys keys.txt -s service.rate_limit=60
    """
    if new_key:
        print(secrets.token_urlsafe())
        return
    service = overridden(ServeTables(), set or []).service
    options = ServeOptions(
        **vars(service),
        models=tuple(model or ()),
        host=host,
        port=port,
        allow_origins=tuple(allow_origin or ()),
        api_keys=api_keys,
        device=device,
        threads=threads,
        browser=browser and sys.stderr is not None and sys.stderr.isatty(),
    )
    try:
        from attncli.serve.process import serve as run
    except ModuleNotFoundError as error:
        raise ModelError(
            f"no package {error.name}", "the packages of the service", install_command("serve")
        ) from None
    run(options)

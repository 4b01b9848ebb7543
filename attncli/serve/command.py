"""``attn serve``: parse the options and run the service."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from attncli.options.fields import signed
from attncli.options.settings import given_values
from attncli.serve._options import ServeOptions, ServeTables
from models.core.errors import ModelError, install_command
from models.core.settings import overridden


@dataclass(frozen=True)
class ServeCommand(ServeOptions):
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

    EXAMPLE = "service.rate_limit=60"

    @classmethod
    def of_command(cls, *, set: Iterable[str] | None, **values: Any) -> ServeCommand:
        """Return the options that a command line describes."""
        service = overridden(ServeTables(), set or []).service
        return cls(**vars(service), **given_values(cls, values))

    def run(self) -> None:
        """Serve until a signal, or print a key."""
        if self.new_key:
            print(secrets.token_urlsafe())
            return
        try:
            from attncli.serve._process import serve
        except ModuleNotFoundError as error:
            raise ModelError(
                f"no package {error.name}", "the packages of the service", install_command("serve")
            ) from None
        is_shown = sys.stderr is not None and sys.stderr.isatty()
        serve(replace(self, browser=self.browser and is_shown))


signed(ServeCommand, ServeCommand.__mro__[::-1], ServeTables)

"""A translator that runs elsewhere: `attn translate --server URL`, with `attn serve` behind it.

The protocol is LibreTranslate's, so its servers work, too. Nothing here imports torch.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from attncli.data.lines import Line, TranslatedLine
from models.base.errors import InputError, ModelError, ResourceError
from models.base.types import EMPTY, Translation

KEY = "ATTN_API_KEY"
TEXTS = 50  # of one request
CHARACTERS = 20_000  # of one request, unless a single line has more
SECONDS = 300.0  # in which the server must answer
RETRIES = 5  # after it was busy


class RemoteTranslator(NamedTuple):
    """A server, and the direction in which it translates."""

    url: str
    source: str  # auto: the server recognises it
    target: str
    key: str = ""
    html: bool = False  # lines have tags

    def lines(
        self,
        chunks: Iterable[list[Line]],
        *,
        on_batch: Callable[[int, int], None] = lambda done, total: None,
    ) -> Iterator[list[TranslatedLine]]:
        """Translate chunks of lines; yield the outcomes of each, as `translate_lines` does."""
        for chunk in chunks:
            done: dict[int, str] = {}
            wanted = [n for n, line in enumerate(chunk) if line.text.strip() and not line.fault]
            for numbers in _requests(chunk, wanted):
                done |= dict(
                    zip(numbers, self._translated([chunk[n].text for n in numbers]), strict=True)
                )
                on_batch(len(done), len(wanted))
            yield [_outcome(line, done.get(n)) for n, line in enumerate(chunk)]

    def _translated(self, texts: list[str]) -> list[str]:
        values = {"q": texts, "source": self.source, "target": self.target, "api_key": self.key}
        format = "html" if self.html else "text"
        answer = self._post("translate", {**values, "format": format})
        found = answer.get("translatedText") if isinstance(answer, dict) else None
        if not isinstance(found, list) or len(found) != len(texts):
            raise ModelError(f"{self.url} answered something else", "LibreTranslate's protocol")
        return [" ".join(str(text).split("\n")) for text in found]

    def _post(self, path: str, values: dict[str, object], attempt: int = 0) -> object:
        request = urllib.request.Request(
            f"{self.url.rstrip('/')}/{path}",
            json.dumps(values).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            wait = error.headers.get("Retry-After", "")
            if error.code in (429, 503) and wait.isdecimal() and attempt < RETRIES:
                time.sleep(int(wait))
                return self._post(path, values, attempt + 1)
            raise InputError(f"{self.url} refused: {_message(error)}") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise ResourceError(
                f"no answer from {self.url} ({reason})", "a running `attn serve`"
            ) from None


def check_address(url: str) -> None:
    """Raise ModelError if a text is not the address of a server."""
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        raise ModelError(f"the address {url}", "http://127.0.0.1:5055, for example", "see --server")


def _requests(chunk: list[Line], wanted: list[int]) -> Iterator[list[int]]:
    """Yield the numbers of the lines of each request."""
    numbers: list[int] = []
    size = 0
    for n in wanted:
        if numbers and (len(numbers) == TEXTS or size + len(chunk[n].text) > CHARACTERS):
            yield numbers
            numbers, size = [], 0
        numbers.append(n)
        size += len(chunk[n].text)
    if numbers:
        yield numbers


def _outcome(line: Line, text: str | None) -> TranslatedLine:
    if line.fault:
        note = f"line {line.number} is {line.fault}; not translated"
        return TranslatedLine(line, None, note)
    text = line.text if text is None else text
    return TranslatedLine(line, Translation(line.text, (EMPTY._replace(text=text),)))


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["error"])
    except (ValueError, KeyError, TypeError, OSError):
        return f"{error.code} {error.reason}"

"""Parameters of a request, from its query and a body as JSON, form or multipart; its refusal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from attncli.task.runner import JsonObject
from models.text.languages import Term
from models.text.normalise import is_unicode

T = TypeVar("T")
SECONDS = 2  # after which a client may try again
TRUE, FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off", "")
FORM, BYTES = "application/x-www-form-urlencoded", "application/octet-stream"
TEXTS = ("q", "translation", "look", "timestamp_granularities[]")  # fields that may be lists
MAX_FIELDS = 1000  # of a form
DIVIDING = (b",", b"[", b"{", b"%")  # signs before a value of JSON, or a character of a form
UNREADABLE = "the form cannot be read"
MAX_TERMS = 1000  # of a glossary
MAX_LOOKS = 20  # of one output
MAX_PART_BYTES = 1 << 26  # bytes of a field that is no file; `max_body` is the smaller one
BODY_SECONDS = 30.0  # in which a client must have sent its body, and more for a large one
BYTES_PER_SECOND = 1 << 20  # that a client must send beyond that

CODES = {  # of OpenAI, by the status
    401: "invalid_api_key",
    404: "model_not_found",
    413: "request_too_large",
    429: "rate_limit_exceeded",
}


class RequestError(Exception):
    """A request that is refused. Raised anywhere below a handler."""

    def __init__(self, status: int, message: str, retry_after: int = 0) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after


def invalid(message: str) -> RequestError:
    """Return the error for a request whose parameters cannot be used."""
    return RequestError(400, f"Invalid request: {message}")


def error_answer(
    scope: Scope, error: RequestError, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the answer to a refused request; below /v1 in the form that OpenAI's clients read."""
    more = dict(headers or {})
    if error.retry_after:
        more["Retry-After"] = str(error.retry_after)
    message = error.message.encode("utf-8", "replace").decode()  # names of fields may be no Unicode
    found: str | JsonObject = message
    status, is_openai = error.status, scope["path"].startswith("/v1/")
    if status == 401 and is_openai:
        more["WWW-Authenticate"] = "Bearer"
    elif status == 401:
        status = 403  # of LibreTranslate
    if is_openai:
        kind = "server_error" if error.status >= 500 else "invalid_request_error"
        code = CODES.get(error.status)
        found = {"message": message, "type": kind, "param": None, "code": code}
    return JSONResponse({"error": found}, status, more)


class Parameters(NamedTuple):
    """The parameters of a request. Every getter raises RequestError for a wrong type."""

    values: Mapping[str, Any]
    files: Mapping[str, bytes]
    file_names: Mapping[str, str]

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text; without a default, a missing one is refused."""
        value = self.values.get(name)
        if value is None or value == "":
            if default is None:
                raise invalid(f"missing {name} parameter")
            return default
        if not isinstance(value, str):
            raise invalid(f"{name} must be a text")
        return _checked(name, value)

    def texts(self, name: str) -> list[str]:
        """Return texts; a single text is a list of one."""
        value = self.values.get(name)
        if value is None or value in ("", []):
            raise invalid(f"missing {name} parameter")
        if isinstance(value, str):
            return [_checked(name, value)]
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise invalid(f"{name} must be a text or a list of texts")
        return [_checked(name, one) for one in value]

    def looks(self) -> tuple[str, ...]:
        """Return where an output looks: one text, or several; "": nowhere."""
        given = self.texts("look") if self.values.get("look") else []
        if len(given) > MAX_LOOKS:
            raise invalid(f"look has {len(given):,} entries: at most {MAX_LOOKS}")
        return tuple(given)

    def number(self, name: str, default: int, most: int) -> int:
        """Return a whole number from 0 to `most`."""
        value = self.values.get(name, default)
        try:
            # int() of a float would take 1.9 as 1
            number = int(value) if isinstance(value, (str, int)) else -1
        except ValueError:
            number = -1
        if isinstance(value, bool) or not 0 <= number <= most:
            raise invalid(f"{name} must be a number from 0 to {most}")
        return number

    def terms(self, name: str, *, cased: bool = False) -> tuple[Term, ...]:
        """Return a glossary: lines of term, tab, translation; or a list of pairs; or an object.

        cased: True for terms that differ in capitals, as the sources of a translation memory.
        """
        value = self.values.get(name) or ()
        if isinstance(value, str):
            value = [line.split("\t") for line in value.splitlines() if line.strip()]
        pairs = [*value.items()] if isinstance(value, dict) else value
        expected = invalid(f"{name} must have a term and its translation in each entry")
        if not isinstance(pairs, (list, tuple)):
            raise expected
        found: dict[str, Term] = {}
        for pair in pairs:
            if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                raise expected
            if not all(isinstance(one, str) and one.strip() for one in pair):
                raise expected
            term = Term(*(_checked(name, one.strip()) for one in pair))
            # terms are found in any case, so two of one spelling would contradict each other
            key = term.source if cased else term.source.casefold()
            if found.setdefault(key, term) != term:
                raise invalid(f"{name} has two translations of {term.source[:40]}")
        if len(found) > MAX_TERMS:
            raise invalid(f"{name} has {len(found):,} entries: at most {MAX_TERMS:,}")
        return tuple(found.values())

    def choice(self, name: str, known: Sequence[str]) -> str:
        """Return one of some texts; "" for a field without a value."""
        value = self.text(name, "")
        if value and value not in known:
            raise invalid(f"{name} must be {', '.join(known[:-1])} or {known[-1]}")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """Return True or False."""
        value = self.values.get(name, default)
        if isinstance(value, bool):
            return value
        if isinstance(value, (str, int)) and str(value).lower() in TRUE + FALSE:
            return str(value).lower() in TRUE
        raise invalid(f"{name} must be true or false")


async def read_parameters(request: Request, most: int) -> Parameters:
    """Return the parameters of the query and the body; those of the body have precedence.

    A body that is called a form may be JSON or a file: `curl` calls any body so unless it is told.
    most: signs that divide JSON and forms into values, each of which takes memory.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/plain":  # any page may send it
        raise RequestError(415, "The body is text/plain; expected JSON or a form")
    values = _listed(request.query_params.multi_items())
    if kind == "multipart/form-data":
        return await _multipart(request, values)
    body = await _in_time(request, request.body())
    is_file = kind.startswith(("image/", "audio/")) or kind == BYTES
    # `curl --data-binary` calls a file a form unless it is told otherwise
    if is_file or (kind in (FORM, "") and not _is_text(body)):
        return Parameters(values, {"file": body}, {"file": ""})
    # counted before it is parsed: a few MB of small values would take gigabytes as objects
    if sum(map(body.count, DIVIDING)) > most:
        raise invalid("the body has too many values")
    if not body.strip():
        return Parameters(values, {}, {})
    try:
        if kind == FORM and not body.lstrip().startswith(b"{"):  # Starlette reads it as Latin-1
            fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS)
            return Parameters(values | _listed(fields), {}, {})
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise invalid(UNREADABLE if kind == FORM else "the body is not JSON") from None
    if not isinstance(found, dict):
        raise invalid("the body must be an object")
    return Parameters(values | found, {}, {})


async def while_connected(request: Request, work: Coroutine[object, object, T]) -> T:
    """Return the result of some work; cancel it and raise ClientDisconnect if the client goes.

    The body must have been read.
    """
    task = asyncio.create_task(work)
    # Look at the error of work for a client that has gone, so that asyncio does not report it.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return task.result()
    finally:
        gone.cancel()
        task.cancel()


async def in_time(work: Awaitable[T], seconds: float, late: RequestError) -> T:
    """Return the result of some work; raise `late` if it takes longer."""
    try:
        return await asyncio.wait_for(work, seconds)
    except asyncio.TimeoutError:
        raise late from None


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _multipart(request: Request, values: JsonObject) -> Parameters:
    files: dict[str, bytes] = {}
    names: dict[str, str] = {}
    reading = request.form(max_files=4, max_fields=MAX_FIELDS, max_part_size=MAX_PART_BYTES)
    try:
        form = await _in_time(request, reading)
    except (HTTPException, MultiPartException, ValueError, KeyError, AssertionError):
        raise invalid(UNREADABLE) from None
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            files[name], names[name] = await value.read(), value.filename or ""
    fields = [(name, one) for name, one in form.multi_items() if isinstance(one, str)]
    values |= _listed(fields)
    await form.close()
    return Parameters(values, files, names)


def _listed(fields: Sequence[tuple[str, str]]) -> JsonObject:
    """Return the values of a form or a query; a text that is given several times is a list."""
    values: JsonObject = dict(fields)
    for name in TEXTS:
        several = [value for field, value in fields if field == name]
        values |= {name: several} if len(several) > 1 else {}
    return values


async def _in_time(request: Request, work: Awaitable[T]) -> T:
    """Return what is read of a request. Raises RequestError if it comes too slowly."""
    size = request.headers.get("content-length", "")
    # a header of thousands of digits is refused by int(), and no body has 10 ** 12 bytes
    more = int(size) / BYTES_PER_SECOND if size.isdecimal() and len(size) < 12 else 0
    late = RequestError(408, "The request came too slowly")
    return await in_time(work, BODY_SECONDS + more, late)


def _is_text(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _checked(name: str, text: str) -> str:
    """Return a text; refuse one with half a character of UTF-16, which JSON can contain."""
    if not is_unicode(text):
        raise invalid(f"{name} has characters that are not Unicode")
    return text

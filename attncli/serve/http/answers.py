"""Answers to refused requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from attncli.serve.requests import RequestError

CODES = {  # of OpenAI, by the status
    403: "invalid_api_key",
    404: "model_not_found",
    413: "request_too_large",
    429: "rate_limit_exceeded",
}


def _refusal(
    scope: Scope, error: RequestError, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the answer to a refused request; below /v1 in the form that OpenAI's clients read."""
    more: dict[str, Any] = dict(headers or {})
    if error.retry_after:
        more["Retry-After"] = str(error.retry_after)
    found: str | dict[str, Any] = error.message
    if scope["path"].startswith("/v1/"):
        kind = "server_error" if error.status >= 500 else "invalid_request_error"
        code = CODES.get(error.status)
        found = {"message": error.message, "type": kind, "param": None, "code": code}
    return JSONResponse({"error": found}, error.status, more)

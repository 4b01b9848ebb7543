"""Errors of requests: a status and the message of the answer, ``{"error": ...}``."""

from __future__ import annotations

SECONDS = 2  # after which a client may try again


class RequestError(Exception):
    """A request that is refused. Raised anywhere below a handler."""

    def __init__(self, status: int, message: str, retry_after: int = 0) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after


def invalid(message: str) -> RequestError:
    """Return the error for a request whose parameters cannot be used."""
    return RequestError(400, f"Invalid request: {message}")


def too_slow(seconds: float) -> RequestError:
    """Return the error for a request that was not done in time."""
    return RequestError(503, f"Not done within {seconds:g} seconds", SECONDS)

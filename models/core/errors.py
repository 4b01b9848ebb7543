"""Errors that a user can correct, each in one line: what was found, expected, is to do."""

from __future__ import annotations

import contextlib
import difflib
import errno
from collections.abc import Iterable, Iterator

EXHAUSTED = (  # in the message of an exception of torch, CTranslate2, oneDNN, numpy or the loader
    "out of memory",
    "can't allocate memory",
    "cannot allocate memory",
    "failed to map segment",  # of a library that an import loads
    "not enough memory",
    "unable to allocate",
    "failed to allocate",
    "bad_alloc",
    "could not create a memory object",
    "could not create a primitive",
    "os error 12",
    "can't start new thread",
)
SMALLER = (
    "lower search.beam, and compute.batch_tokens (texts) or compute.batch_images (images), by -s; "
    "or divide the input"
)
LISTED = 16  # names in a message that suggests some of them


class ModelError(Exception):
    """A user's mistake. Printed as one line, ``attn: ...``, with exit status 1."""

    def __init__(self, found: str, expected: str = "", hint: str = "") -> None:
        self.found, self.expected, self.hint = found, expected, hint
        parts = [found, f"expected {expected}" if expected else "", hint]
        super().__init__("; ".join(part for part in parts if part))


class InputError(ModelError):
    """Input that cannot be used: a text, an image, a line of a file."""


class NotFoundError(ModelError):
    """A file, a folder, a model or a name that does not exist."""


class DamagedError(ModelError):
    """Stored data that is incomplete or inconsistent: a bundle, a checkpoint, a cache."""


@contextlib.contextmanager
def intact(name: object, expected: str, hint: str = "", *kinds: type[Exception]) -> Iterator[None]:
    """Raise DamagedError if a block cannot read stored data; name: of the data, for the message.

    kinds: exceptions of damaged data, in addition to OSError, ValueError, KeyError and TypeError.
    """
    damages: tuple[type[Exception], ...] = (OSError, ValueError, KeyError, TypeError, *kinds)
    try:
        yield
    except damages as error:
        # not damaged: the same file can be read with more memory
        if is_exhausted(error):
            raise
        fault = "not readable" if isinstance(error, OSError) else "damaged"
        found = "missing" if isinstance(error, FileNotFoundError) else f"{fault} ({error})"
        raise DamagedError(f"{name} is {found}", expected, hint) from None


@contextlib.contextmanager
def naming(name: object) -> Iterator[None]:
    """Put a name before what a ModelError of a block found: of the file or part it is about."""
    try:
        yield
    except ModelError as error:
        raise type(error)(f"{name}: {error.found}", error.expected, error.hint) from None


class ConfigurationError(ModelError):
    """A setting, or a combination of settings, that is not allowed."""


class ResourceError(ModelError):
    """Work that needs more memory, disk space or time than is available or allowed."""


def is_exhausted(error: BaseException) -> bool:
    """Return True if an exception means that the memory of the processor or device is full."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM or "os error 12" in str(error)
    # torch, oneDNN and CTranslate2 raise a RuntimeError for this as for a bug, so the text decides
    said = str(error).lower()
    is_panic = type(error).__name__ == "PanicException"  # of a library in Rust
    is_sign = (is_panic or isinstance(error, RuntimeError | ImportError)) and any(
        sign in said for sign in EXHAUSTED
    )
    return is_sign or isinstance(error, MemoryError)


def exhausted(hint: str = SMALLER) -> ResourceError:
    """Return the error for work that needs more memory than there is."""
    return ResourceError("the memory is exhausted", "smaller batches", hint)


class UnknownNameError(ConfigurationError, NotFoundError):
    """A name that is not in a table."""


def unknown_name(
    kind: str, name: str, known: Iterable[str], expected: str = "", hint: str = ""
) -> UnknownNameError:
    """Return the error for a name that is not in a table, with the nearest names suggested.

    A long list of names is left out if a name is near. expected, hint: if no name is near, in place
    of the list of names.
    """
    names = sorted(known)
    near = [known for known in names if known.lower() == name.lower()]
    near = near or difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    near = [one for one in near if len(one) > 2 or name.lower().startswith(one.lower())]  # no codes
    if near:
        hint, expected = f"did you mean {' or '.join(near)}?", ""
    if len(names) <= LISTED or not (near or expected):
        expected = f"one of {', '.join(names)}"
    return UnknownNameError(f"unknown {kind} '{name}'", expected, hint)


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra of attn, such as serve."""
    return f"pip install -e '.[{extra}]' in the folder of attn"

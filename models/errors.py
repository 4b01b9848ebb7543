"""What a user did wrong, said in one line: what was seen, what was expected, what to do."""

from __future__ import annotations

from collections.abc import Iterable


class ModelError(Exception):
    """A user's mistake. Printed as one line, ``attn: ...``, with exit status 1."""

    def __init__(self, seen: str, expected: str = "", do: str = "") -> None:
        self.seen, self.expected, self.do = seen, expected, do
        parts = [seen, f"expected {expected}" if expected else "", do]
        super().__init__("; ".join(part for part in parts if part))


def unknown_name(kind: str, name: str, known: Iterable[str]) -> ModelError:
    """The error for a name that is not in a table, with the nearest ones suggested."""
    import difflib

    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else ""
    return ModelError(f"unknown {kind} '{name}'", f"one of {', '.join(names)}", hint)

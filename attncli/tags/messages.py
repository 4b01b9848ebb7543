"""ICU messages: each branch of a plural or a choice is a text, together with what is around it.

    "You have {n, plural, one {# file} other {# files}}." has the texts "You have # file." and
    "You have # files.", and is written as {n, plural, one {...} other {...}}, which means the same.

Source: Unicode Technical Standard 35, part 9 (MessageFormat).
"""

from __future__ import annotations

import re

HEAD = re.compile(r"\{\s*[\w-]+\s*,\s*(?:plural|select|selectordinal)\s*,(?:\s*offset:\d+)?")
BRANCH = re.compile(r"\s*(?:=\d+|[\w-]+)\s*\{")
END = re.compile(r"\s*\}")
MOST = 16  # branches of a text; several messages in it multiply them


def branches(text: str) -> list[str]:
    """Return the texts of a message, with its syntax between them, before and after.

    Texts and syntax alternate; the first and the last text are empty. Empty for other texts, and
    for a message with errors or too many branches.
    """
    found = _divided(text) if "," in text and HEAD.search(text) else []
    return found if len(found) // 2 - 1 <= MOST else []


def _divided(text: str) -> list[str]:
    head = HEAD.search(text)
    if not head:
        return [text]
    before, at = text[: head.start()], head.end()
    spans = []
    while branch := BRANCH.match(text, at):
        end = _closing(text, branch.end())
        spans.append((at, branch.end(), end))
        at = end + 1
    last = END.match(text, at)
    if not spans or not last or len(spans) > MOST:
        return []
    found, syntax = [""], head[0]
    for start, inner, end in spans:
        each = _divided(before + text[inner:end] + text[last.end() :])
        if not each or len(found) + len(each) > 4 * MOST:
            return []
        found += [syntax + text[start:inner], *each]
        syntax = "}"
    return [*found, "}" + last[0], ""]


def _closing(text: str, at: int) -> int:
    """Return the index of the brace that closes one opened before an index; the end without it."""
    depth = 1
    for found in re.compile(r"[{}]").finditer(text, at):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return found.start()
    return len(text)

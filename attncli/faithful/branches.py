"""Branches of a message: ICU's MessageFormat, the choice of Java, the plural of MediaWiki."""

from __future__ import annotations

import re

HEAD = re.compile(
    r"\{\s*[\w-]+\s*,\s*(?:plural|select|selectordinal|(choice))\s*,(?:\s*offset:\d+)?"
    r"|(\{\{[A-Z]+:[^|{}\n]*(?=\|))"  # of MediaWiki
)
BRANCH = re.compile(r"\s*(?:=\d+|[\w-]+)\s*\{")
LIMIT = re.compile(r"\|?\s*-?[\d.∞]+\s*[#<≤]")  # of a branch of a choice, which ends at | or }
WIKI_LIMIT = re.compile(r"\|(?:\d+=)?")
END, WIKI_END = re.compile(r"\s*\}"), re.compile(r"\}\}")
BRACE = re.compile(r"[{}|](?![^\[\]]{0,200}\]\])")  # outside of [[links|of wikis]]
MOST = 16  # branches of a text; several messages in it multiply them
DEEPEST = 16  # messages inside each other


def branches(text: str) -> list[str]:
    """Return the texts of a message, with its syntax between them, before and after.

    Each branch of an ICU message, of a choice of Java, or of a plural of MediaWiki is a text,
    together with what is around it: "You have {n, plural, one {# file} other {# files}}." has "You
    have # file." and "You have # files.". Texts and syntax alternate; the first and the last text
    are empty. Empty for other texts, and for a message with errors or too many branches.
    Source: Unicode Technical Standard 35, part 9 (MessageFormat).
    """
    found = _divided(text) if "{" in text and HEAD.search(text) else []
    return found if sum(map(bool, found[::2])) <= MOST else []


def _divided(text: str, level: int = 0) -> list[str]:
    head = HEAD.search(text)
    if not head:
        return [text]
    if level > DEEPEST:
        return []
    before, at = text[: head.start()], head.end()
    is_choice, spans = bool(head[1] or head[2]), []
    limit = WIKI_LIMIT if head[2] else LIMIT if is_choice else BRANCH
    while branch := limit.match(text, at):
        end, depth = branch.end(), 1
        while depth and (brace := BRACE.search(text, end)):
            end = brace.end()
            if brace[0] == "|":
                depth -= is_choice and depth == 1
            else:
                depth += 1 if brace[0] == "{" else -1
        end = end - 1 if not depth else len(text)  # before the sign that closes the branch
        spans.append((at, branch.end(), end))
        at = end if is_choice else end + 1
    last = (WIKI_END if head[2] else END).match(text, at)
    if not spans or not last or len(spans) > MOST:
        return []
    found, syntax = [""], head[0]
    for start, inner, end in spans:
        each = _divided(before + text[inner:end] + text[last.end() :], level + 1)
        if not each or len(found) + len(each) > 4 * MOST:
            return []
        found += [syntax + text[start:inner], *each]
        syntax = "" if is_choice else "}"
    return [*found, syntax + last[0], ""]

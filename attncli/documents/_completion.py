"""Completion of a file with some translations: what it lacks is inserted, all else stays.

A file is read as a tree of members with their places; JSON as YAML, of which it is a part.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import accumulate
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import yaml

from attncli.documents import _messages as messages
from attncli.documents._values import DAMAGED, LANGUAGE
from attncli.documents._xml_texts import elements_of
from attncli.documents.document import edited
from models.core.errors import InputError
from models.core.types import Span

TEXTS = ("string", "item")  # elements that are values
UNITS = ("trans-unit", "unit")  # elements of which the reader finds what they lack
GROUPS = ("resources", "plurals", "string-array", "xliff", "file", "body", "group")
NAMES = ("name", "quantity", "id", "original")  # attributes that tell elements apart
NONE = ("", "~", "null")  # plain values of YAML and JSON that are none
MemberLayout = Literal["block", "flow", "element", "unit"]
Path = tuple[tuple[str, int], ...]
Insertion = tuple[int, int, str]  # start and end of a span, and the text in its place


class Member(NamedTuple):
    """A member of a group: a key with its value, an item of a list, or an element."""

    key: str
    start: int
    value: int  # the start of what is behind the key
    close: int  # the end of the value
    end: int
    text: str = ""  # of a value; empty if there is none
    members: tuple[Member, ...] | None = None  # of a group
    style: MemberLayout = "block"  # how the members of a group are written
    before: str = ""  # each member of a group in blocks: spaces, the sign of a list


def completed(source: str, existing: str, format: str) -> tuple[str, list[Span]]:
    """Return an existing file with the members of a source that it lacks, and their spans.

    Raises InputError if the files have no key in common, or other groups of keys.
    """
    new, old = tree_of(source, format), tree_of(existing, format)
    wanted, known = dict(_values(new)), dict(_values(old))
    kept = {key: text for key, text in known.items() if text}
    if (kept or not wanted) and not known.keys() & wanted.keys():
        raise InputError("no key of the input is in it", "a translation of the input")
    # inserted lines have the line ends of the file
    ends = "\r\n" if "\r\n" in existing else "\n"
    found = sorted(_edits(new, old, source, existing), key=itemgetter(0, 1))
    edits = [(start, end, re.sub("\r?\n", ends, text)) for start, end, text in found]
    grown = accumulate((len(text) - end + start for start, end, text in edits), initial=0)
    starts = [start + more for (start, *_), more in zip(edits, grown, strict=False)]
    content = edited(existing, edits)
    try:
        # read again before it is written: an insertion that damages the file is refused
        made = dict(_values(tree_of(content, format)))
    except InputError:  # a group in blocks within one in braces
        made = {}
    if wanted.keys() - made.keys() or not kept.items() <= made.items():
        raise InputError("its keys are not in the groups of the input", "groups as in the input")
    return content, [(at, at + len(edit[2])) for at, edit in zip(starts, edits, strict=True)]


def _values(member: Member, path: Path = ()) -> Iterator[tuple[Path, str]]:
    if member.members is None:
        yield path, member.text
    for key, one in _numbered(member):
        yield from _values(one, (*path, key))


def _numbered(group: Member) -> Iterator[tuple[tuple[str, int], Member]]:
    """Yield the members of a group with their keys and how often a key occurred before."""
    seen: Counter[str] = Counter()
    for one in group.members or ():
        yield (one.key, seen[one.key]), one
        seen[one.key] += 1


def _edits(new: Member, old: Member, source: str, existing: str) -> Iterator[Insertion]:
    """Yield what adds to an existing member what the new one has more."""
    if old.style == "unit":
        yield old.start, old.end, existing[old.start : old.end]
    elif old.members is None or (old.style == "flow" and not old.members):
        if not old.text and (new.text or new.members):
            indent = _indent(existing, old.start)
            yield old.value, old.close, _moved(source, new, new.value, new.close, indent)
    else:
        known, last = dict(_numbered(old)), old.members[-1] if old.members else None
        for key, one in _numbered(new):
            if match := known.get(key):
                yield from _edits(one, match, source, existing)
                last = match
            else:
                yield _insertion(one, old, last, source, existing)


def _insertion(
    one: Member, old: Member, last: Member | None, source: str, existing: str
) -> Insertion:
    """Return what adds a member to a group. last: the member that precedes it."""
    if old.style == "block":
        at = existing.find("\n", last.end) + 1 if last else 0
        at = at or len(existing)
        indent = old.before.replace("-", " ")
        text = old.before + _moved(source, one, one.start, one.end, indent)
        return at, at, f"{text}\n" if existing[at - 1 : at] in ("\n", "") else f"\n{text}"
    content, start = (existing, last.start) if last else (source, one.start)
    lead = content[len(content[:start].rstrip()) : start]
    text = lead + _moved(source, one, one.start, one.end, _indent(content, start))
    at = last.end if last else old.value
    return at, at, f",{text}" if old.style == "flow" else text


def _indent(content: str, at: int) -> str:
    """Return the spaces that the further lines of a member begin with; at: its start."""
    found = re.compile(r"[ \t]*(?:- +)*").match(content, content.rfind("\n", 0, at) + 1, at)
    return found[0].replace("-", " ") if found else ""


def _moved(content: str, one: Member, start: int, end: int, indent: str) -> str:
    """Return a part of a member with another indent; the spaces of an element are text."""
    if one.style in ("element", "unit"):
        return content[start:end]
    text, least = content[start:end].replace("\r\n", "\n"), len(_indent(content, one.start))
    return re.sub(rf"\n[ \t]{{0,{least}}}(?=[^\n])", lambda _: "\n" + indent, text)


def tree_of(content: str, format: str) -> Member:
    """Return the members of a file. Raises InputError for a damaged one."""
    if format == "xml":
        return _elements(content)
    if format in ("properties", "strings"):
        entries = []
        for found in messages.entries(content, format):
            place = (found.start("key"), found.end("key"), found.end("value"), found.end())
            text = found.groupdict().get("text", found["value"])
            entries.append(Member(found["key"], *place, text))
        return _group(content, entries)
    signs = "\ufeff" if format == "yaml" else "[\ufeff\t]"  # a tab of JSON is no YAML
    text = re.sub(signs, " ", content)
    try:
        return _documents(text, "@" if format == "arb" else "")
    except DAMAGED:
        raise InputError(f"it cannot be read as {format}", format) from None


def _group(content: str, members: list[Member]) -> Member:
    """Return the group of all that a file has."""
    return Member("", 0, 0, len(content), len(content), members=tuple(members))


def _elements(content: str) -> Member:
    inside = defaultdict[int, list[Member]](list)  # by the start of their parent
    for one in elements_of(content):
        if one.name in (*TEXTS, *UNITS, *GROUPS) and not one.has("translatable", "false"):
            name = next(filter(None, map(one.attributes.get, NAMES)), "")
            text = content[one.inner : one.close].strip() if one.inner < one.end else "/"
            members = tuple(inside[one.start]) if one.name in GROUPS else None
            style: MemberLayout = "unit" if one.name in UNITS else "element"
            place = (one.start, one.inner, one.close, one.end)
            member = Member(f"{one.name} {name}", *place, text, members, style)
            inside[one.parent.start if one.parent else -1].append(member)
    return _group(content, inside[-1])


def _documents(content: str, hidden: str) -> Member:
    """Return the documents of a YAML file. hidden: the first letter of keys that are left out."""
    events = yaml.parse(content, yaml.SafeLoader)
    found = []
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            root = _node(content, events, next(events))
            inner = root.members or ()
            if hidden:
                inner = tuple(one for one in inner if one.key[:1] != hidden)
                root = root._replace(members=inner)
            if len(inner) == 1 and not inner[0].text and LANGUAGE.fullmatch(inner[0].key):
                root = root._replace(members=(inner[0]._replace(key=""),))
            found.append(root)
    return _group(content, found)


def _node(content: str, events: Iterator[Any], event: Any, key: Member | None = None) -> Member:
    """Return the value that begins with an event. key: in a mapping."""
    at, end = event.start_mark.index, event.end_mark.index
    name, start, behind = (key.text, key.start, key.close) if key else ("", at, at)
    if not isinstance(event, yaml.CollectionStartEvent):
        text = f"*{event.anchor}" if isinstance(event, yaml.AliasEvent) else event.value
        text = "" if content[at:end] in NONE else text
        while end > at and content[end - 1].isspace():  # behind a block
            end -= 1
        return Member(name, start, behind, end, end, text)
    members, has_keys = list[Member](), isinstance(event, yaml.MappingStartEvent)
    while not isinstance(inner := next(events), yaml.CollectionEndEvent):
        own = _node(content, events, inner) if has_keys else None
        members.append(_node(content, events, next(events) if has_keys else inner, own))
    end = inner.end_mark.index if event.flow_style else members[-1].end
    first = members[0].start if members else at
    column = first if has_keys else content.rfind("-", 0, first)
    before = " " * (column - content.rfind("\n", 0, column) - 1) + ("" if has_keys else "- ")
    style: MemberLayout = "flow" if event.flow_style else "block"
    return Member(name, start, behind, end, end, members=tuple(members), style=style, before=before)

"""JSON as written by all commands: a document for people and programs, or one line."""

from __future__ import annotations

import json

LINE_ENDS = "\x85\u2028\u2029"  # ends of lines for some readers of JSON lines


def as_json(record: object) -> str:
    """Return a record as an indented document."""
    return json.dumps(record, ensure_ascii=False, indent=2) + "\n"


def as_json_line(record: object) -> str:
    """Return a record as one line, without a line end; characters in LINE_ENDS are escaped."""
    row = json.dumps(record, ensure_ascii=False)
    for letter in LINE_ENDS:
        row = row.replace(letter, f"\\u{ord(letter):04x}")
    return row

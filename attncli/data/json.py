"""JSON as written by all commands: a document for people and programs, or one line."""

from __future__ import annotations

import json
import re

# Ends of lines for some readers of JSON lines, and characters that control a terminal
SPECIAL = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def as_json(record: object) -> str:
    """Return a record as an indented document."""
    return json.dumps(record, ensure_ascii=False, indent=2) + "\n"


def as_json_line(record: object) -> str:
    """Return a record as one line, without a line end; SPECIAL and control characters escaped."""
    row = json.dumps(record, ensure_ascii=False)
    return SPECIAL.sub(lambda found: f"\\u{ord(found[0]):04x}", row)

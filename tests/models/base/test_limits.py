"""The document of ceilings has every ceiling, with its number."""

from __future__ import annotations

import re
from pathlib import Path

from models.base import limits


def test_the_document_has_every_ceiling() -> None:
    document = Path("docs/limits.md").read_text("utf-8")
    rows = re.findall(r"^\|[^|]*\| ([\d,]+) [a-z]+ \|[^|]*\| `(\w+)` \|$", document, re.MULTILINE)
    constants = {name: value for name, value in vars(limits).items() if isinstance(value, int)}
    found = {name: int(number.replace(",", "")) for number, name in rows}
    assert found == {name: constants[name] for name in constants if name not in ("MIB", "GIB")}

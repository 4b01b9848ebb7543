"""Glossary files: a source term, a tab and its translation on each line."""

from __future__ import annotations

from pathlib import Path

from attncli.data.text.text_files import open_text
from models.base.errors import InputError
from models.text.glossary import Glossary, Term


def read_glossary(path: Path) -> Glossary:
    """Read a glossary; empty lines are skipped. Raises ModelError for another line."""
    terms = []
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            source, _, target = (part.strip() for part in line.partition("\t"))
            if source and target and "\t" not in target:
                terms.append(Term(source, target))
            elif line.strip():
                raise InputError(
                    f"{path}, line {number} is not an entry of a glossary",
                    "source term, tab, target term",
                )
    if not terms:
        raise InputError(f"{path} is empty", "a term on each line")
    return Glossary(tuple(terms))

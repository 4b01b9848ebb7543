"""`hashes.txt` names the packages and versions of `constraints.txt`."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
CONTENT = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")


def test_every_package_of_hashes_has_the_version_of_constraints_and_a_digest() -> None:
    hashed = (ROOT / "hashes.txt").read_text("utf-8")
    versions = packages(hashed)
    assert versions <= packages((ROOT / "constraints.txt").read_text("utf-8"))
    entries = PINNED.split(hashed)[3::3]
    assert len(entries) == len(versions) and all(map(CONTENT.search, entries))


def test_every_requirement_of_the_project_has_a_digest() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    lists = re.findall(r"^(?:dependencies|dev) = \[(.*?)\]$", project, re.MULTILINE | re.DOTALL)
    wanted = {normal(name) for one in lists for name in re.findall(r'"([A-Za-z0-9._-]+)>=', one)}
    assert "torch" in wanted and "pytest" in wanted
    assert wanted <= {name for name, _ in packages((ROOT / "hashes.txt").read_text("utf-8"))}


def packages(text: str) -> set[tuple[str, str]]:
    """Return the names and versions that a file of requirements pins."""
    return {(normal(name), version) for name, version in PINNED.findall(text)}


def normal(name: str) -> str:
    """Return the name of a package as an index compares it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()

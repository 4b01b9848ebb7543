"""The commands of benchmarks/README.md, and those of recipes, have options that exist.

They need data that are not in the repository, so the scripts are asked for their help only.
"""

from __future__ import annotations

import functools
import re
import shlex
from pathlib import Path

import pytest

from tests.docs import shell

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "benchmarks/README.md").read_text("utf-8").replace("\\\n", " ")
LINES = [line.strip() for line in re.findall(r"^    ((?:python|attn) .*)", TEXT, re.M)]
RECIPES = [
    line.strip().partition(" [")[0]
    for path in sorted((ROOT / "recipes").glob("*.py"))
    for line in re.findall(r"^    (python .* --?\w.*)", path.read_text("utf-8"), re.M)
]
WORDS = {"compare", "score", "train", "prepare", "table"}  # of sub-commands


@functools.cache
def help_of(*program: str) -> str:
    """Return the help page of a program."""
    done = shell.run(shlex.join([*program, "--help"]))
    assert done.status == 0, done.err
    return done.out


@pytest.mark.parametrize(
    "line", [*LINES, *(pytest.param(line, marks=pytest.mark.slow) for line in RECIPES)]
)
def test_a_benchmark_takes_the_options_that_its_line_gives(line: str) -> None:
    program, *words = line.replace("python -m ", "python -m=").split()
    script = [program, *words[0].split("="), *(word for word in words[1:2] if word in WORDS)]
    shown = help_of(*script)
    options = {word.partition("=")[0] for word in words if re.match(r"--\w", word)}
    assert {option for option in options if option not in shown} == set()

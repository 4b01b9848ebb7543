"""A small shell for the command lines of the documentation.

It knows pipes, `<`, `>`, quotes, patterns and comments; bash runs loops. `attn`, `pytest`, scripts
and modules of the repository (`python`) run in a fork of this process, which has imported torch
already, so that a line takes a fraction of a second; they have real files as stdin, stdout and
stderr. Other programs are started as they are.

    python -m tests.docs.shell LINE ...

runs lines, and prints the results as JSON.
"""

from __future__ import annotations

import glob
import json
import os
import runpy
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import matplotlib.figure  # noqa: F401  (imported once here instead of in every fork)
import pytest
import torch._dynamo  # noqa: F401  (the same; torch imports it when training begins)

from attncli.shell import app
from tests.forks import in_child, use_files

ROOT = Path(__file__).parents[2]


class Segment(NamedTuple):
    """One program of a pipe."""

    words: list[str]
    stdin: str  # path, empty for the pipe
    stdout: str


class Result(NamedTuple):
    """The end of a command line."""

    status: int
    out: str
    err: str


def parse(line: str) -> list[Segment]:
    """Return the programs of a command line."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>")
    lexer.whitespace_split = True
    segments: list[Segment] = []
    words: list[str] = []
    stdin = stdout = ""
    tokens = iter(lexer)
    quoted = set(shlex.split(line, comments=True)) - set(line.split())
    for token in tokens:
        if token == "|":
            segments.append(Segment(words, stdin, stdout))
            words, stdin, stdout = [], "", ""
        elif token == "<":
            stdin = next(tokens)
        elif token == ">":
            stdout = next(tokens)
        else:
            words += expanded(token) if token not in quoted else [token]
    return [*segments, Segment(words, stdin, stdout)]


def expanded(word: str) -> list[str]:
    """Return the files that a pattern matches, or the word itself."""
    return sorted(glob.glob(word)) or [word] if "*" in word else [word]


def run(line: str) -> Result:
    """Run a command line; its status is that of the last program that failed, or 0."""
    if line.startswith(("for ", "while ")):
        return run_loop(line)
    with tempfile.TemporaryDirectory() as folder:
        status, out, err = 0, Path(os.devnull), ""
        for number, segment in enumerate(parse(line)):
            source = Path(segment.stdin) if segment.stdin else out
            out = Path(segment.stdout) if segment.stdout else Path(folder, f"{number}.out")
            out.unlink(missing_ok=True)  # it may be a link to a file of other tests
            messages = Path(folder, f"{number}.err")
            with source.open("rb") as i, out.open("wb") as o, messages.open("wb") as e:
                files = (i.fileno(), o.fileno(), e.fileno())
                status = run_program(segment.words, files) or status
            err += messages.read_text("utf-8", "replace")
        return Result(status, out.read_bytes().decode("utf-8", "replace"), err)


def run_loop(line: str) -> Result:
    """Run a loop in bash, where `attn` is the program of this repository."""
    attn = f'attn() {{ {shlex.quote(sys.executable)} -m attncli "$@"; }}'
    program = ["bash", "-e", "-c", f"{attn}\n{line}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(program, capture_output=True, text=True, env=environment)
    return Result(done.returncode, done.stdout, done.stderr)


def run_program(words: list[str], files: tuple[int, int, int]) -> int:
    """Run one program with these files as stdin, stdout and stderr; return its status."""
    if words[0] in PROGRAMS:
        return forked(words, files)
    stdin, stdout, stderr = files
    return subprocess.run(words, stdin=stdin, stdout=stdout, stderr=stderr).returncode


def run_script(words: list[str]) -> int:
    """Run a script of the repository, or a module after `-m`; return its exit status."""
    try:
        if words[0] == "-m":
            sys.argv = words[1:]
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            script = ROOT / words[0]
            sys.argv, sys.path[0] = [str(script), *words[1:]], str(script.parent)
            runpy.run_path(str(script), run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)  # noqa: T201
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


PROGRAMS: dict[str, Callable[[list[str]], int]] = {
    "attn": app.run,
    "pytest": lambda words: pytest.main(["-p", "no:cacheprovider", *words]),
    "python": run_script,
}


def forked(words: list[str], files: tuple[int, int, int]) -> int:
    """Run one of PROGRAMS in a fork of this process; return its exit status."""

    def work() -> int:
        use_files(files)
        return PROGRAMS[words[0]](words[1:])

    return os.waitstatus_to_exitcode(os.waitpid(in_child(work), 0)[1])


if __name__ == "__main__":
    import tests.conftest  # noqa: F401  (once, before the forks that run pytest)

    json.dump([run(line) for line in sys.argv[1:]], sys.stdout)

"""METEOR 1.5 by its authors' program, where Java and the program are there.

The program comes with the Python package pycocoevalcap, which is not needed otherwise: of it only
the file ``meteor-1.5.jar`` is used. Words, stems, synonyms and paraphrases are matched; the value
is for English. Source: Denkowski and Lavie 2014.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from attncli.scoring.caption_words import References, Words
from models.errors import ModelError

JAR = Path("meteor", "meteor-1.5.jar")
OPTIONS = ["-", "-", "-stdio", "-l", "en", "-norm"]


def why_not() -> str:
    """What is missing for METEOR; nothing where it can be computed."""
    if not shutil.which("java"):
        return "METEOR needs Java, which is not installed"
    if not _jar():
        return "METEOR needs its program: pip install pycocoevalcap"
    return ""


def meteor(outputs: Sequence[Words], references: Sequence[References]) -> float:
    """METEOR in 0..1 of all captions, everything given as words. ModelError if it cannot run."""
    if missing := why_not():
        raise ModelError(missing)
    command = ["java", "-Xmx2G", "-jar", str(_jar()), *OPTIONS]
    try:
        return _run(command, outputs, references)
    except (OSError, ValueError):  # it ended early, or answered with something else
        raise ModelError("METEOR's program failed", hint=f"try it: {' '.join(command)}") from None


def _run(command: list[str], outputs: Sequence[Words], references: Sequence[References]) -> float:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, encoding="utf-8"
    ) as program:
        assert program.stdin and program.stdout
        try:
            return _asked(program.stdin, program.stdout, outputs, references)
        finally:
            program.kill()


def _jar() -> Path | None:
    """The program's file in the package, which is found without being imported."""
    package = find_spec("pycocoevalcap")
    places = (package.submodule_search_locations or []) if package else []
    return next((Path(place, JAR) for place in places if Path(place, JAR).is_file()), None)


def _asked(
    questions: IO[str],
    answers: IO[str],
    outputs: Sequence[Words],
    references: Sequence[References],
) -> float:
    """The statistics of each caption, then the score of them all, which follows a line for each."""
    statistics = []
    for output, captions in zip(outputs, references, strict=True):
        texts = [" ".join(caption).replace("|||", "") for caption in (*captions, output)]
        questions.write(f"SCORE ||| {' ||| '.join(texts)}\n")
        questions.flush()
        statistics.append(answers.readline().strip())
    questions.write(f"EVAL ||| {' ||| '.join(statistics)}\n")
    questions.flush()
    found = [float(answers.readline()) for _ in range(len(outputs) + 1)]
    return found[-1]

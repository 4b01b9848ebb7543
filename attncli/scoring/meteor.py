"""METEOR 1.5 by its authors' program, if Java and the program are installed.

The Python package pycocoevalcap contains the program; only its file ``meteor-1.5.jar`` is used.
METEOR matches words, stems, synonyms and paraphrases of English. Source: Denkowski and Lavie 2014.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from attncli.scoring.caption_words import References, Words
from models.base.errors import ModelError

JAR = Path("meteor", "meteor-1.5.jar")
OPTIONS = ["-", "-", "-stdio", "-l", "en", "-norm"]


def why_not() -> str:
    """Return why METEOR cannot be computed; empty if it can."""
    if not shutil.which("java"):
        return "METEOR needs Java, which is not installed"
    if not _jar():
        return "METEOR needs its program: pip install pycocoevalcap"
    return ""


def meteor(outputs: Sequence[Words], references: Sequence[References]) -> float:
    """Return METEOR of all captions, from 0 to 1, given as words; a ModelError if it cannot run."""
    if missing := why_not():
        raise ModelError(missing)
    command = ["java", "-Xmx2G", "-jar", str(_jar()), *OPTIONS]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    try:
        with subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=nothing, encoding="utf-8"
        ) as program:
            assert program.stdin and program.stdout
            try:
                return _corpus_score(program.stdin, program.stdout, outputs, references)
            finally:
                program.kill()
    except (OSError, ValueError):  # it ended early, or wrote something else than numbers
        hint = f"to see its messages, run: {' '.join(command)}"
        raise ModelError("METEOR's program failed", hint=hint) from None


def _jar() -> Path | None:
    """Return the program's file; the package that contains it is not imported."""
    package = find_spec("pycocoevalcap")
    places = (package.submodule_search_locations or []) if package else []
    return next((Path(place, JAR) for place in places if Path(place, JAR).is_file()), None)


def _corpus_score(
    questions: IO[str],
    answers: IO[str],
    outputs: Sequence[Words],
    references: Sequence[References],
) -> float:
    """Return the corpus score; the program writes it after a line for each caption."""
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

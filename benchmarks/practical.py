"""Key words of practical English sentences in a translator's outputs.

    python benchmarks/practical.py [-m MODEL] [--names] [--show]

60 sentences are about travel, shops, health, office and computers. With `--names`, 40 sentences
have names with titles, times, prices, dates and addresses. They were written for this measurement
and are not training data. A sentence is right if its output contains every key word
(one of its alternatives, in lower case, as a part of a word). Right outputs may still have faults,
and a rare word that is not listed counts as wrong. `--show` prints each output with the key words
that it lacks.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures"
LANGUAGES = ("de", "fr", "es")


class Sentence(NamedTuple):
    """An English sentence and its key words in each language."""

    english: str
    keys: dict[str, list[list[str]]]  # by language: alternatives of each key word


def main() -> None:
    """Print a row for each language."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-m", "--model", default="everyday")
    parser.add_argument("--names", action="store_true", help="sentences with names and numbers")
    parser.add_argument("--show", action="store_true", help="print the outputs")
    options = parser.parse_args()
    table = sentences(FIXTURES / ("names_numbers.tsv" if options.names else "practical.tsv"))
    for language in LANGUAGES:
        outputs = translations(options.model, language, [each.english for each in table])
        lacking = [missing(o, s.keys[language]) for o, s in zip(outputs, table, strict=True)]
        right = lacking.count([])
        print(f"en-{language}  {right} of {len(table)} right, {100 * right / len(table):.0f} %")
        for sentence, output, words in zip(table, outputs, lacking, strict=True):
            if options.show:
                print(f"  {sentence.english}\t{output}\t{', '.join(words)}")


def sentences(path: Path) -> list[Sentence]:
    """Read the table: English, then for each language the key words, `|` between alternatives."""
    found = []
    for line in path.read_text("utf-8").splitlines():
        english, *columns = line.split("\t")
        keys = [[key.split("|") for key in column.split(",")] for column in columns]
        found.append(Sentence(english, dict(zip(LANGUAGES, keys, strict=True))))
    return found


def missing(output: str, keys: list[list[str]]) -> list[str]:
    """Return the key words, of which an output contains no alternative."""
    text = " ".join(output.lower().split())  # French numbers may have no-break spaces
    return ["|".join(key) for key in keys if not any(word in text for word in key)]


def translations(model: str, language: str, texts: list[str]) -> list[str]:
    """Return the outputs of `attn translate`, one for each text."""
    command = [sys.executable, "-m", "attncli", "translate", "-q", "-m", model]
    ended = subprocess.run(
        [*command, "--from", "en", "--to", language],
        input="".join(f"{text}\n" for text in texts),
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout.splitlines()


if __name__ == "__main__":
    main()

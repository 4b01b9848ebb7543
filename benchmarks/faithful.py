"""Share of translations that keep numbers and placeholders, and lines with loops or without output.

Sentences are the dev parts of `longer/` (see `everyday_data.py`; also groups without a licence,
which only measure): with numbers as they are, and with placeholders in place of names that both
sides have. A number is changed if its digits are not in the output; separators do not count.

    python benchmarks/faithful.py --data DIR [-m everyday]
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from attncli.faithful.checks import changed_digits
from models.search.repeats import repetition

sys.path.insert(0, str(Path(__file__).parents[1] / "recipes"))
import everyday_data

LANGUAGES = ("de", "fr", "es")
PLACEHOLDERS = ("%s", "%d", "%1$s", "%(name)s", "{name}", "{{count}}", "${user}", "%{site}", "{0}")
NAME = re.compile(r"(?<=\w )[A-Z][a-zA-Z]{3,}\b(?!['-])")
NUMBER = re.compile(r"\d+(?:[.,'’\u00a0\u202f ]\d{3})*(?:[.,]\d+)?")


def dev_pairs(data: Path, language: str) -> list[tuple[str, str]]:
    """Return the dev pairs of `longer/`, shuffled."""
    paths = sorted((data / "longer").glob(f"*.en-{language}.tsv.xz"))
    pairs = [pair for path in paths for pair in everyday_data.pairs_of(path)]
    found = [pair for pair in pairs if everyday_data.is_dev(pair[0])]
    random.Random(11).shuffle(found)
    return found


def with_placeholders(pairs: Sequence[tuple[str, str]], count: int) -> list[str]:
    """Return sentences with one to three placeholders in place of names that both sides have."""
    rng, found = random.Random(12), []
    for source, target in pairs:
        names = {name for name in NAME.findall(source) if source.count(name) == 1}
        names = {name for name in names if target.count(name) == 1}
        if not 1 <= len(names) <= 3 or re.search(r"[%{}]|[A-Z]\w+ [A-Z]", source):
            continue
        for name, placeholder in zip(sorted(names), rng.sample(PLACEHOLDERS, 3), strict=False):
            source = source.replace(name, placeholder)
        found.append(source)
    return found[:count]


def translated(lines: Sequence[str], model: str, language: str) -> list[str]:
    """Return the translations of English lines by the command line."""
    options = ["-m", model, "--from", "en", "--to", language]
    command = [sys.executable, "-m", "attncli", "translate", *options]
    given = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[:-1]


def numbers(text: str) -> Counter[str]:
    """Return the numbers of a text without separators."""
    return Counter(re.sub(r"\D", "", number) for number in NUMBER.findall(text))


def is_broken(source: str, output: str) -> bool:
    """Return True if an output has other placeholders, or unnumbered ones in another order."""
    pattern = "|".join(map(re.escape, sorted(PLACEHOLDERS, key=len, reverse=True)))
    wanted, found = re.findall(pattern, source), re.findall(pattern, output)
    unnumbered = [[each for each in all if each in ("%s", "%d")] for all in (wanted, found)]
    return Counter(wanted) != Counter(found) or unnumbered[0] != unnumbered[1]


def main() -> None:
    """Translate and print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data")
    parser.add_argument("-m", "--model", default="everyday", help="model (everyday)")
    parser.add_argument("--show", action="store_true", help="print what is wrong")
    given = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    for language in LANGUAGES:
        pairs = dev_pairs(given.data, language)
        digits = [source for source, _ in pairs if re.search(r"\d", source)][:100]
        sets: dict[str, tuple[list[str], Callable[[str, str], bool]]] = {
            "numbers changed": (digits, lambda s, o: bool(changed_digits(s, o))),
            "numbers changed, strictly": (digits, lambda s, o: numbers(s) != numbers(o)),
            "placeholders broken": (with_placeholders(pairs, 100), is_broken),
            "loops or empty": (
                [source for source, _ in pairs[: 1000 // len(LANGUAGES) + 1]],
                lambda s, o: not o.strip() or repetition(o, s, times=3) is not None,
            ),
        }
        outputs: dict[int, list[str]] = {}
        for name, (lines, is_wrong) in sets.items():
            if id(lines) not in outputs:
                outputs[id(lines)] = translated(lines, given.model, language)
            for line, output in zip(lines, outputs[id(lines)], strict=True):
                wrong = is_wrong(line, output)
                counts.setdefault(name, Counter())[language] += wrong
                counts[name]["lines"] += 1
                if wrong and given.show:
                    print(f"{name}, {language}: {line!r} -> {output!r}")
    for name, each in counts.items():
        total = sum(each[language] for language in LANGUAGES)
        share = f"{total} of {each['lines']} ({total / each['lines']:.1%})"
        print(f"{name}: {share}; " + ", ".join(f"{one} {each[one]}" for one in LANGUAGES))


if __name__ == "__main__":
    main()

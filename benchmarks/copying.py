"""Share of names and numbers of new sentences that a translator copies, by each way of copying.

Sentences are drawn from templates; names are random syllables, numbers have up to five digits. No
name and no number of a dev or test sentence occurs in training, and each of their names has a
syllable that no name in training has, so a model must spell it from the source.

    python benchmarks/copying.py --pairs 2000
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from models.base.registry import names

TEMPLATES = (
    ("{n} lives at number {k}.", "{n} wohnt in Nummer {k}."),
    ("The old man sees {n} and {m}.", "Der alte Mann sieht {n} und {m}."),
    ("{n} has {k} red cars.", "{n} hat {k} rote Autos."),
    ("In {k} we met {n}.", "Im Jahr {k} trafen wir {n}."),
    ("{n} paid {k} to {m}.", "{n} zahlte {k} an {m}."),
    ("Is {n} older than {m}?", "Ist {n} älter als {m}?"),
    ("The train to {n} leaves at {k}.", "Der Zug nach {n} fährt um {k}."),
    ("We did not see {m} in {n}.", "Wir sahen {m} nicht in {n}."),
)
SYLLABLES = [first + vowel for first in "bdfgklmnprstvz" for vowel in "aeiou"]
NEW = SYLLABLES[::6]  # of dev and test alone
OLD = [syllable for syllable in SYLLABLES if syllable not in NEW]
SETTINGS = ("tokenizer.size=500", "train.batch_tokens=1500", "train.evaluate_every=300")


class Pair(NamedTuple):
    """A sentence, its translation, and the names and numbers of both."""

    source: str
    target: str
    copied: tuple[str, ...]


def name(rng: random.Random, *, new: bool) -> str:
    """Return a name of two to four syllables; the first one is in no name that is not new."""
    first, *others = rng.choices(OLD, k=rng.randint(2, 4))
    stem = "".join((rng.choice(NEW) if new else first, *others))
    return stem.capitalize() + rng.choice(("", "n", "r", "s", "x"))


def pairs(seed: int, *, but: frozenset[str] = frozenset()) -> Iterator[Pair]:
    """Yield sentence pairs without end, none with a name or number of `but`."""
    rng, new = random.Random(seed), bool(but)
    while True:
        source, target = rng.choice(TEMPLATES)
        drawn_names = {key: name(rng, new=new) for key in "nm"}
        values = {**drawn_names, "k": str(rng.randint(2, 99_999))}
        copied = tuple(value for key, value in values.items() if f"{{{key}}}" in source)
        if not but.intersection(copied):
            yield Pair(source.format(**values), target.format(**values), copied)


def drawn(count: int, seed: int, but: frozenset[str] = frozenset()) -> list[Pair]:
    """Return some sentence pairs."""
    source = pairs(seed, but=but)
    return [next(source) for _ in range(count)]


def copied_share(outputs: list[str], examples: list[Pair]) -> float:
    """Return the share of names and numbers that occur in the translation of their sentence."""
    found = [
        word in output.replace(".", " ").replace("?", " ").split()
        for output, pair in zip(outputs, examples, strict=True)
        for word in pair.copied
    ]
    return sum(found) / len(found)


def write(path: Path, examples: list[Pair]) -> None:
    """Write sentence pairs as a table."""
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in examples))


def attn(*arguments: str, given: str = "") -> str:
    """Run the program and return what it writes."""
    command = [sys.executable, "-m", "attncli", *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Train a model with each way of copying and print the share of what it copies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1200, help="updates (1200)")
    parser.add_argument("--pairs", type=int, default=2000, help="pairs in training (2000)")
    parser.add_argument("--preset", default="rnnsearch-nano", help="preset (rnnsearch-nano)")
    kinds = ["none", *names("copy")]
    parser.add_argument("--copy", nargs="+", default=kinds, help="values compared")
    given = parser.parse_args()
    train = drawn(given.pairs, 1)
    seen = frozenset(word for pair in train for word in pair.copied)
    dev, test = (drawn(300, seed, seen) for seed in (2, 3))
    settings = [part for text in SETTINGS for part in ("-s", text)]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{part}.tsv" for part in ("train", "dev")]
        for path, examples in zip(files, (train, dev), strict=True):
            write(path, examples)
        for kind in given.copy:
            run = str(Path(folder) / kind)
            own = [f"model.copy={kind}", f"train.steps={given.steps}"]
            chosen = [*settings, *(part for text in own for part in ("-s", text))]
            options = ["--dev", str(files[1]), "-o", run, "--preset", given.preset]
            attn("train", str(files[0]), *options, *chosen)
            lines = "".join(f"{pair.source}\n" for pair in test)
            outputs = attn("translate", "-m", run, given=lines).splitlines()
            exact = sum(o == p.target for o, p in zip(outputs, test, strict=True)) / len(test)
            share = copied_share(outputs, test)
            print(f"{kind}: {share:.1%} of unseen names and numbers, {exact:.1%} of sentences")


if __name__ == "__main__":
    main()

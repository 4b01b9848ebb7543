"""Train and score `everyday`, the translator in the box: English, German, French, Spanish.

    python benchmarks/everyday.py prepare --data DIR --work WORK [--from MODEL]
    python benchmarks/everyday.py score --data DIR --work WORK [-m MODEL] [--limit N] [--mbr chrf]

DIR holds `tatoeba/` and `text/` with tables of English, tab, another language. `prepare` writes one
cleaned corpus per language pair into WORK and prints the `attn train` command that learns from
them, from random weights or from MODEL. `score` translates the test sentences in all twelve
directions with `attn translate` and prints BLEU (sacreBLEU, 13a, all references) and chrF2.

The pairs without English are joined on their English sentence (for scoring, those of dev and test
together, because the test sets share few sentences). As a source, each distinct sentence
of a language is used once; its references are all sentences of the other language that stand beside
it, or that share its English sentence.
"""

from __future__ import annotations

import argparse
import lzma
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import permutations, zip_longest
from pathlib import Path

CODES = {"deu": "de", "fra": "fr", "spa": "es"}
LANGUAGES = ("en", *CODES.values())
PIVOT_PAIRS = (("de", "fr"), ("de", "es"), ("fr", "es"))
SPACES = re.compile(r"[\s\u00a0\u2009\u202f]+")
MOST_WORDS = 80  # of a training pair
MOST_PIVOT_PAIRS = 25_000  # of each pair of languages without English
MODEL_SETTINGS = (
    *("model.embedding=256", "model.hidden=1024", "model.encoder_layers=6"),
    *("model.decoder_layers=2", "model.heads=4", "tokenizer.size=10000"),
)
SETTINGS = (
    *("model.dropout=0.05", "data.concatenate=0.06", "data.noise=0.12", "train.batch_tokens=4096"),
    *("train.precision=bf16", "train.label_smoothing=0.1", "train.ema=0.998", "train.average=0"),
    *("train.lr=0.0012", "train.warmup=200", "train.schedule=linear", "train.steps=4650"),
    *("train.epochs=0", "train.evaluate_every=800", "train.patience=0"),
)
Pairs = list[tuple[str, str]]


def main() -> None:
    """Parse the command line and run one part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=["prepare", "score"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--from", dest="start", default="", help="model to train further")
    parser.add_argument("-m", "--model", default="everyday")
    parser.add_argument("--limit", type=int, default=0, help="sources per direction (0: all)")
    parser.add_argument("--mbr", default="", help="utility of minimum Bayes risk, such as chrf")
    parser.add_argument("--directions", nargs="*", default=[], help="such as en-de; default: all")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.part == "prepare":
        prepare(options.data, options.work, options.start)
    else:
        score(options)


def prepare(data: Path, work: Path, start: str) -> None:
    """Write a cleaned training corpus and a dev corpus per language pair; print the command."""
    words = ["attn", "train", "-o", str(work / "everyday")]
    words += ["--from", start] if start else ["--preset", "transformer-small"]
    settings = SETTINGS if start else (*MODEL_SETTINGS, *SETTINGS)
    words += [word for setting in settings for word in ("-s", setting)]
    for (first, second), pairs in training_pairs(data).items():
        words += ["--corpus", f"{first}-{second}={write(pairs, work / f'{first}-{second}.tsv')}"]
    for code, language in CODES.items():
        table = list(rows(data / "tatoeba" / f"eng-{code}.dev.tsv"))
        pairs = [(row[0], row[1]) for row in random.Random(3).sample(table, 150)]
        path = write(pairs, work / f"en-{language}.dev.tsv")
        words += ["--dev-corpus", f"en-{language}={path}"]
    print(" ".join(words))


def training_pairs(data: Path) -> dict[tuple[str, str], Pairs]:
    """Return the sentence pairs of each language pair."""
    corpora: dict[tuple[str, str], Pairs] = {}
    by_english: dict[str, dict[str, list[str]]] = {}
    for code, language in CODES.items():
        pairs = [(r[0], r[1]) for r in rows(data / "tatoeba" / f"eng-{code}.train.tsv.xz")]
        by_english[language] = grouped(pairs)
        for path in sorted((data / "text").glob(f"*.en-{language}.tsv.xz")):
            pairs += [(row[0], row[1]) for row in rows(path) if usable(row[0], row[1])]
        corpora["en", language] = pairs
    for first, second in PIVOT_PAIRS:
        pairs = list(joined(by_english[first], by_english[second]))
        corpora[first, second] = random.Random(3).sample(pairs, min(MOST_PIVOT_PAIRS, len(pairs)))
    return corpora


def grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the second sides by their first side."""
    groups: dict[str, list[str]] = {}
    for first, second in pairs:
        groups.setdefault(first, []).append(second)
    return groups


def joined(first: dict[str, list[str]], second: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yield at most three pairs of translations of each English sentence that both sides have."""
    for english in sorted(first.keys() & second.keys()):
        left, right = first[english], second[english]
        for index in range(min(3, max(len(left), len(right)))):
            yield left[index % len(left)], right[index % len(right)]


def usable(first: str, second: str) -> bool:
    """Return True if a pair is short enough and its sides have similar lengths."""
    return len(first.split()) <= MOST_WORDS and 0.4 < len(first) / len(second) < 2.5


def rows(path: Path) -> Iterator[list[str]]:
    """Yield the cleaned, non-empty columns of each line that has at least two."""
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            columns = [clean(column) for column in line.rstrip("\n").split("\t")]
            columns = [column for column in columns if column]
            if len(columns) >= 2:
                yield columns


def clean(text: str) -> str:
    """Return the text with ordinary spaces and straight apostrophes."""
    return SPACES.sub(" ", text).replace("\u2019", "'").strip()


def write(pairs: Pairs, path: Path) -> Path:
    """Write pairs as a table."""
    path.write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
    return path


def score(options: argparse.Namespace) -> None:
    """Print a row per direction: sentences, BLEU, chrF2."""
    import sacrebleu

    tests = test_sets(options.data)
    wanted = [tuple(name.split("-")) for name in options.directions]
    print(f"{'direction':<10}{'sources':>8}{'references':>11}{'BLEU':>8}{'chrF2':>8}")
    for first, second in wanted or permutations(LANGUAGES, 2):
        items = sorted(tests[first, second].items())
        random.Random(1).shuffle(items)
        items = items[: options.limit or None]
        outputs = translate([source for source, _ in items], first, second, options)
        references = [list(column) for column in zip_longest(*(refs for _, refs in items))]
        bleu = sacrebleu.corpus_bleu(outputs, references)
        chrf = sacrebleu.corpus_chrf(outputs, references)
        count = sum(len(refs) for _, refs in items)
        row = f"{first}-{second:<7}{len(items):>8}{count:>11}{bleu.score:>8.2f}{chrf.score:>8.2f}"
        print(row, flush=True)


def test_sets(data: Path) -> dict[tuple[str, str], dict[str, list[str]]]:
    """Return, for each direction, the references of each distinct source sentence."""
    tables = {language: table(data, code, "test") for code, language in CODES.items()}
    tests = {("en", language): sentences for language, sentences in tables.items()}
    for language, sentences in tables.items():
        pairs = ((text, english) for english, texts in sentences.items() for text in texts)
        tests[language, "en"] = grouped(pairs)
    tables = {
        language: sentences | table(data, code, "dev")
        for (code, language), sentences in zip(CODES.items(), tables.values(), strict=True)
    }
    for first, second in permutations(tables, 2):
        shared = tables[first].keys() & tables[second].keys()
        groups: dict[str, list[str]] = {}
        for english in sorted(shared):
            for source in tables[first][english]:
                groups.setdefault(source, []).extend(tables[second][english])
        tests[first, second] = groups
    return tests


def table(data: Path, code: str, part: str) -> dict[str, list[str]]:
    """Return the translations of each English sentence of an evaluation set."""
    return {row[0]: row[1:] for row in rows(data / "tatoeba" / f"eng-{code}.{part}.tsv")}


def translate(
    sources: list[str], first: str, second: str, options: argparse.Namespace
) -> list[str]:
    """Return the outputs of `attn translate` for some lines."""
    name = f"{Path(options.model).name}.{first}-{second}"
    source, output = options.work / f"{name}.in", options.work / f"{name}.out"
    source.write_text("".join(f"{line}\n" for line in sources), encoding="utf-8")
    command = [sys.executable, "-m", "attncli", "translate", "-m", options.model]
    command += ["--from", first, "--to", second, "-i", str(source), "-o", str(output)]
    command += ["--mbr", options.mbr] if options.mbr else []
    subprocess.run(command, check=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    text: str = output.read_text("utf-8")
    return text.split("\n")[:-1]


if __name__ == "__main__":
    main()

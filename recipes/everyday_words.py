"""Find the words that a translator does not know, and training pairs that have them.

    python recipes/everyday_words.py --data DIR --work WORK [-m MODEL] [--limit N]

Every noun, verb and adjective of the word lists with a rank up to 14,000 is put into two English
sentences, and MODEL translates them. A word is unknown in a language if neither output has the
beginning of one of its translations: with the fifth version of `everyday` 45 % of the words in
German, 36 % in French and 40 % in Spanish. From the corpora of `everyday.py prepare`, it writes:

    WORK/unknown.tsv         word, part of speech, number of languages in which it is unknown
    WORK/en-de.unknown.tsv   up to 25 pairs for each unknown word that have it on both sides
    WORK/en-de.entries.tsv   its first two translations

`prepare` then makes the command of the last stage with these corpora.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from everyday_data import LANGUAGES, Pairs, rows, write

LAST_RANK = 14_000
SENTENCES = {
    "noun": ("We are talking about the {}.", "Do you have a {}?"),
    "verb": ("They will {} it tomorrow.", "We have to {}."),
    "adj": ("It was very {}.", "The {} man is here."),
}
OTHERS = LANGUAGES[1:]
MOST_PAIRS = 25  # of a word
MOST_WORDS = 28  # of a source
Starts = dict[str, list[str]]  # beginnings of the translations of each word


def main() -> None:
    """Parse the command line and write the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("-m", "--model", default="everyday")
    parser.add_argument("--limit", type=int, help="words that are tried")
    options = parser.parse_args()
    kinds, starts = word_lists(options.data)
    kinds = dict([*kinds.items()][: options.limit])
    missing = Counter[str]()
    for language in OTHERS:
        missing.update(unknown(kinds, starts[language], options.model, language))
    path = options.work / "unknown.tsv"
    lines = [f"{word}\t{kind}\t{missing[word]}\n" for word, kind in kinds.items() if missing[word]]
    path.write_text("".join(lines), encoding="utf-8")
    forms = {form: word for word in kinds if missing[word] for form in inflected(word)}
    for language in OTHERS:
        parts = [options.work / f"en-{language}.{name}.tsv" for name in ("sentences", "longer")]
        pairs = [(row[0], row[1]) for part in parts for row in rows(part)]
        found = pairs_with(pairs, forms, starts[language])
        write(found, options.work / f"en-{language}.unknown.tsv")
        entries, seen = Pairs(), Counter[str]()
        for english, other, *_ in rows(options.data / "words" / f"en-{language}.tsv.xz"):
            seen[english] += 1
            if missing[english] and seen[english] <= 2:
                entries.append((english, other))
        write(entries, options.work / f"en-{language}.entries.tsv")
        print(f"{language}: {len(found):,} pairs, {len(entries):,} entries", file=sys.stderr)


def word_lists(data: Path) -> tuple[dict[str, str], dict[str, Starts]]:
    """Return the parts of speech of the words in all lists, and the starts in each language."""
    kinds: dict[str, dict[str, str]] = {language: {} for language in OTHERS}
    starts: dict[str, Starts] = {language: defaultdict(list) for language in OTHERS}
    for language in OTHERS:
        for row in rows(data / "words" / f"en-{language}.tsv.xz"):
            word, other, kind, _, rank = (*row, "", "", "")[:5]
            common = rank.isdigit() and int(rank) <= LAST_RANK
            if common and kind in SENTENCES and re.fullmatch("[a-z]{3,}", word):
                kinds[language].setdefault(word, kind)
                starts[language][word].append(start(other))
    first, *others = kinds.values()
    return {word: kind for word, kind in first.items() if all(word in o for o in others)}, starts


def plain(text: str) -> str:
    """Return a text in lower case without accents."""
    return unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()


def start(translation: str) -> str:
    """Return the beginning of a translation's last word, without an ending."""
    last = (plain(translation).split() or [""])[-1]
    return last[: max(4, len(last) - 3)]


def unknown(kinds: dict[str, str], starts: Starts, model: str, language: str) -> Iterator[str]:
    """Yield the words that the model does not translate into a language."""
    given = [(word, text.format(word)) for word, kind in kinds.items() for text in SENTENCES[kind]]
    command = [sys.executable, "-m", "attncli", "translate", "-q", "-m", model]
    command += ["--from", "en", "--to", language, "--verbatim"]
    lines = "".join(f"{text}\n" for _, text in given)
    ended = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    known = {
        word
        for (word, _), output in zip(given, ended.stdout.splitlines(), strict=True)
        if has_start(output, starts[word])
    }
    yield from (word for word in kinds if word not in known)


def has_start(text: str, starts: Iterable[str]) -> bool:
    """Return True if a text has the beginning of a translation."""
    found = plain(text)
    return any(one in found for one in starts)


def inflected(word: str) -> set[str]:
    """Return a word with its regular endings."""
    stem = word[:-1]
    found = {word, word + "s", word + "es", word + "ed", word + "d", word + "ing"}
    found |= {word + word[-1] + "ed", word + word[-1] + "ing", stem + "ing"}
    return found | ({stem + "ies", stem + "ied"} if word.endswith("y") else set())


def pairs_with(pairs: Pairs, forms: dict[str, str], starts: Starts) -> Pairs:
    """Return pairs with a form of a word, and the beginning of its translation; some for each."""
    found: dict[str, Pairs] = defaultdict(list)
    for source, target in pairs:
        if len(source.split()) <= MOST_WORDS:
            words = {forms[form] for form in re.findall("[a-z']+", source.lower()) if form in forms}
            for word in words:
                if has_start(target, starts[word]):
                    found[word].append((source, target))
    rng = random.Random(1)
    chosen = {
        pair for some in found.values() for pair in rng.sample(some, min(MOST_PAIRS, len(some)))
    }
    return sorted(chosen)


if __name__ == "__main__":
    main()

"""Training with a lexicon: pairs whose rare words have their candidates in their places.

A run with `--lexicon` reads each pair as it is, and pairs with rare words a second time with the
candidates of these words, of which most stand in the target and some do not. So the model learns to
choose, to inflect and to doubt; at use it reads every rare word of the lexicon in this way.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

from attncli.data.lines import open_text
from models.core.errors import ConfigurationError, InputError
from models.text.lexicon import (
    CANDIDATES,
    LONGEST,
    MARKS,
    WORD,
    FoundForm,
    Lexicon,
    LexiconEntry,
    pack,
    with_candidates,
)
from models.text.own_vocabulary import USER_DEFINED
from models.text.tokenizer import UNKNOWN, Tokenizer
from models.text.vocabulary import added_pieces

DIRECTION = "-"  # of a model without languages
RARE = 3  # binary digits of a count from which on a word is left to the weights, in a run
COMMON = 11  # from which on a word is never marked
OFTEN = 0.2  # share of common words that are marked; of rare ones all are,
WRONG = 0.35  # and this share if no candidate stands in the target
ALONE, SHUFFLED = 0.35, 0.15  # shares of words with one right candidate, and in another order
WITH_FORM = 0.4  # share of words that stand in front of their candidates
STEM = 4  # letters that the inflected forms of a word share, at least,
ENDING = 3  # and of the longest ending


def read_entries(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the candidates of each form of a table: form, tab, translation.

    Further lines of a form are further candidates; those beyond CANDIDATES are left out. Raises
    InputError for a line of another form, and for a table without entries.
    """
    found: dict[str, list[str]] = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            form, _, rest = (part.strip() for part in line.partition("\t"))
            candidate = rest.partition("\t")[0].strip()
            words = WORD.findall(form)
            if not line.strip():
                continue
            if not words or not candidate or {*MARKS, "|"} & {*line}:
                raise InputError(
                    f"{path}, line {number} is no entry of a lexicon", "word, tab, translation"
                )
            if len(words) <= LONGEST and candidate not in found.setdefault(form, []):
                found[form].append(candidate)
    if not found:
        raise InputError(f"{path} is empty", "a word, a tab and its translation on each line")
    return {form: tuple(candidates[:CANDIDATES]) for form, candidates in found.items()}


def packed_entries(entries: dict[str, tuple[str, ...]], sources: Iterable[str]) -> bytes:
    """Return the lexicon of a run: entries with the counts of their forms in the sources."""
    counts: Counter[str] = Counter()
    for source in sources:
        words = WORD.findall(source)
        places = ((n, n + size) for size in range(1, LONGEST + 1) for n in range(len(words)))
        forms = (" ".join(words[start:end]) for start, end in places if end <= len(words))
        counts.update(form for form in forms if form in entries)
    rows = ((form, counts[form].bit_length(), given) for form, given in entries.items())
    return pack(((DIRECTION, LexiconEntry(*row)) for row in rows), RARE)


def with_marks(tokenizer: Tokenizer) -> Tokenizer:
    """Return a tokenizer whose source vocabulary has the marks of candidates.

    Raises ConfigurationError for a vocabulary that is no SentencePiece model.
    """
    source, target = tokenizer.models
    new = [mark for mark in MARKS if tokenizer.source.piece_to_id(mark) == UNKNOWN]
    if source.startswith(b"{"):
        raise ConfigurationError(
            "a lexicon for a model whose vocabulary is a tokenizer.json",
            "a SentencePiece vocabulary, as attn learns it",
        )
    return Tokenizer(added_pieces(source, [(one, 0.0, USER_DEFINED) for one in new]), target)


def marked_pairs(
    pairs: Iterable[tuple[str, str]], lexicon: Lexicon, held: Collection[str], seed: int
) -> Iterator[tuple[str, str]]:
    """Yield each pair and, if it has words of the lexicon, a second one with their candidates.

    held: sources that have no second pair, because they are the dev set.
    """
    rng = random.Random(seed)
    for source, target in pairs:
        yield source, target
        if source not in held:
            marked = with_rare_words(source, target, DIRECTION, lexicon, rng)
            if marked:
                yield marked, target


def with_rare_words(
    source: str, target: str, direction: str, lexicon: Lexicon, rng: random.Random
) -> str:
    """Return a source with the candidates of rare words, and of a few common ones; "" for none."""
    words, chosen = small(target), list[FoundForm]()
    rare = {(one.start, one.end) for one in lexicon.found(source, direction)}
    for one in lexicon.found(source, direction, COMMON):
        fitting = tuple(each for each in one.candidates if stands_in(each, words))
        is_rare = (one.start, one.end) in rare
        if rng.random() > ((1 if is_rare else OFTEN) if fitting else WRONG if is_rare else 0):
            continue
        candidates = one.candidates
        if fitting and rng.random() < ALONE:
            candidates = fitting[:1]
        elif rng.random() < SHUFFLED:
            candidates = tuple(rng.sample(candidates, len(candidates)))
        exact = one.exact and rng.random() > WITH_FORM
        chosen.append(one._replace(candidates=candidates, exact=exact))
    return with_candidates(source, chosen) if chosen else ""


def small(text: str) -> str:
    """Return the words of a text in small letters, each behind a space."""
    return " " + " ".join(WORD.findall(text.lower()))


def stands_in(candidate: str, target: str) -> bool:
    """Return True if each word of a candidate, in any inflection, stands in a target of `small`."""
    stems = _stems(candidate)
    return bool(stems) and all(f" {one}" in target for one in stems)


@cache
def _stems(candidate: str) -> tuple[str, ...]:
    """Return the beginnings of the words of a candidate, without an ending."""
    words = WORD.findall(candidate.lower())
    return tuple(word[: max(STEM, len(word) - ENDING)] for word in words)

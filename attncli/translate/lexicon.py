"""Training with a lexicon: pairs whose rare words have their candidates in their places.

A run with `--lexicon` reads each pair as it is, and pairs with rare words a second time with the
candidates of these words, of which most stand in the target and some do not. So the model learns to
choose, to inflect and to doubt; at use it reads every rare word of the lexicon in this way.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from attncli.data.tables import LexiconRow, read_lexicon_table
from attncli.translate.corpora import CorpusConfig
from models.core.errors import ConfigurationError, InputError
from models.text.lexicon import COMMON as TELLING
from models.text.lexicon import (
    LONGEST,
    MARKS,
    WORD,
    FoundForm,
    Lexicon,
    LexiconEntry,
    form_of,
    grouped,
    is_form,
    pack,
    stems,
    with_candidates,
)
from models.text.tokenizer import UNKNOWN, Tokenizer
from models.text.vocabulary import USER_DEFINED, added_pieces

DIRECTION = "-"  # of a model without languages
RARE = 3  # binary digits of a count from which on a word is left to the weights, in a run
COMMON = 11  # from which on a word is never marked
OFTEN = 0.2  # share of common words that are marked; of rare ones all are,
WRONG = 0.35  # and this share if no candidate stands in the target
ALONE, SHUFFLED = 0.35, 0.15  # shares of words with one right candidate, and in another order
WITH_FORM = 0.4  # share of words that stand in front of their candidates


def run_entries(
    path: Path, corpora: Sequence[CorpusConfig]
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the candidates of each direction and form of a table, for the corpora of a run.

    A line without a direction is read from the first language of the corpora to the second one,
    and turned for the other direction. corpora: none for a model without languages. Raises
    InputError for directions that do not fit.
    """
    rows = read_lexicon_table(path)
    if not corpora:
        if any(row.direction for row in rows):
            raise InputError(f"{path} names directions", "none for a model without languages")
        return grouped(row._replace(direction=DIRECTION) for row in rows)
    missing = next((row.form for row in rows if not row.direction), "")
    if missing and len({frozenset(one.sides) for one in corpora}) > 1:
        raise InputError(
            f"{path}: the entry of '{missing}' names no direction",
            "a third column such as en-de, because the corpora have several",
        )
    first, second = corpora[0].sides
    plain = [row for row in rows if not row.direction]
    rows += [row._replace(direction=f"{first}-{second}") for row in plain]
    rows += [LexiconRow(form_of(each), form, f"{second}-{first}") for form, each, _ in plain]
    ways = {"-".join(way) for one in corpora for way in one.directions}
    found = grouped(row for row in rows if row.direction in ways and is_form(row.form))
    if not found:
        raise InputError(f"{path} has no entry of {', '.join(sorted(ways))}", "one or more")
    return found


def packed_entries(
    entries: Mapping[tuple[str, str], tuple[str, ...]], sources: Mapping[str, Iterable[str]]
) -> bytes:
    """Return the lexicon of a run, with the counts of its forms in the sources of each direction.

    Common words of several languages are entries, too, by which the language is recognised.
    """
    rows = list[tuple[str, LexiconEntry]]()
    for direction, texts in sources.items():
        own = {form: given for (way, form), given in entries.items() if way == direction}
        common: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        for source in texts:
            words = WORD.findall(source)
            common.update(words if direction != DIRECTION else ())
            places = ((n, n + size) for size in range(1, LONGEST + 1) for n in range(len(words)))
            forms = (" ".join(words[start:end]) for start, end in places if end <= len(words))
            counts.update(form for form in forms if form in own)
        given = [LexiconEntry(form, counts[form].bit_length(), each) for form, each in own.items()]
        tells = [(word, count.bit_length()) for word, count in common.items() if word not in own]
        given += [LexiconEntry(word, bits, ()) for word, bits in tells if bits >= TELLING]
        rows += [(direction, entry) for entry in given]
    return pack(rows, RARE)


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
    pairs: Iterable[tuple[str, str]],
    lexicon: Lexicon,
    held: Collection[str],
    seed: int,
    direction: str = DIRECTION,
    turned: bool = False,
    *,
    alone: bool = False,
) -> Iterator[tuple[str, str]]:
    """Yield each pair and, if it has words of the lexicon, a second one with their candidates.

    held: first sides that have no second pair, because they are the dev set. turned: True for pairs
    whose second side is the source. alone: True leaves out the pairs without candidates.
    """
    rng = random.Random(seed)
    for pair in pairs:
        source, target = pair[::-1] if turned else pair
        if not alone:
            yield source, target
        if pair[0] not in held:
            marked = with_rare_words(source, target, direction, lexicon, rng)
            if marked:
                yield marked, target


def with_rare_words(
    source: str, target: str, direction: str, lexicon: Lexicon, rng: random.Random
) -> str:
    """Return a source with the candidates of rare words, and of a few common ones; "" for none."""
    words, chosen = small(target), list[FoundForm]()
    for one in lexicon.found(source, direction, COMMON):
        fitting = tuple(each for each in one.candidates if stands_in(each, words))
        is_rare = one.rarity < lexicon.most_of(direction)
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
    found = stems(candidate)
    return bool(found) and all(f" {one}" in target for one in found)

"""The grammar of the embedded sentences: a small grammar of English and German.

A meaning is sampled (`draw`), and each language expresses it in its own word order (`english`,
`german`). Each word is tagged with the concepts that it expresses. Words of both languages that
share a concept are the gold links. A sentence has exactly one translation.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from grammar import english, german
from grammar.draw import draw
from grammar.meaning import linked, written


def rows(count: int, *, seed: int = 1) -> Iterator[tuple[str, str, str, str]]:
    """Yield random rows: tense, English sentence, German sentence, links in Pharaoh format."""
    random_number = random.Random(seed).random
    for _ in range(count):
        sentence = draw(random_number)
        words, concepts = written(english.realise(sentence))
        target_words, target_concepts = written(german.realise(sentence))
        links = linked(concepts, target_concepts)
        pharaoh = " ".join(f"{i}-{j}" for i, j in links)
        yield sentence.clause.tense, " ".join(words), " ".join(target_words), pharaoh

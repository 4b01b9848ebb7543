"""Words with the concepts that they express, their spelling, and the links between them.

A word is its text and the names of its concepts, separated by spaces. Words that share a concept
are linked. The names of a phrase's concepts begin with its role: `object-noun`.

Words without a counterpart express these concepts:

- both halves of a negation: the negation;
- English "do" and "be", the "to" of an infinitive, and a German separated prefix: the verb;
- the auxiliary of a perfect, the English past form and "did": the past;
- an article that the other language leaves out: its noun;
- the "for" of "wait for", wherever a language has such a word: the particle;
- "est-ce que" and commas: none.
"""

from __future__ import annotations

from typing import TypeAlias

Word: TypeAlias = tuple[str, str]

MARKS = ".,?"


def second_clause(words: list[Word]) -> list[Word]:
    """Return the words of a second clause, with concepts distinct from those of the first."""
    return [(text, " ".join(f"second-{name}" for name in names.split())) for text, names in words]


def written(words: list[Word], spaced: str = "") -> tuple[list[str], list[str]]:
    """Return the words between spaces and their concepts; `spaced` marks become separate words."""
    texts: list[str] = []
    concepts: list[str] = []
    for text, concept in words:
        if text in MARKS and text not in spaced:
            texts[-1] += text
        else:
            texts.append(text)
            concepts.append(concept)
    texts[0] = texts[0][0].upper() + texts[0][1:]
    return texts, concepts


def linked(source: list[str], target: list[str]) -> tuple[tuple[int, int], ...]:
    """Return the sorted pairs of words that share a concept."""
    targets = [set(names.split()) for names in target]
    return tuple(
        (i, j)
        for i, names in enumerate(source)
        for j, others in enumerate(targets)
        if not others.isdisjoint(names.split())
    )

"""Words tagged with the concepts that they express, their spelling, and the links between them.

A word is its text and a set of concepts, one bit each. Words that share a concept are linked:

    links = {(i, j) : source[i].concepts & target[j].concepts}

Words without a counterpart express these concepts:

- both halves of a negation: the negation;
- English "do" and "be", the "to" of an infinitive, and a German separated prefix: the verb;
- the auxiliary of a perfect, the English past form and "did": the past;
- an article that the other language leaves out: its noun;
- "est-ce que" and commas: none.
"""

from __future__ import annotations

from typing import TypeAlias

Word: TypeAlias = tuple[str, int]

# A phrase's concepts, shifted by its role in the clause.
ARTICLE, FIRST_ADJECTIVE, SECOND_ADJECTIVE, NOUN, CASE = (1 << bit for bit in range(5))
SUBJECT, OBJECT, RECIPIENT, ADJUNCT = range(0, 20, 5)
# A clause's concepts. PARTICLE is the "for" of "wait for", wherever a language has such a word.
(VERB, PARTICLE, AUXILIARY, NEGATION, FREQUENCY, TIME, _, PREDICATE) = (
    1 << bit for bit in range(20, 28)
)
# A sentence's concepts; those of its second clause are shifted by SECOND_CLAUSE.
(FINAL, CONJUNCTION, REPORTER, REPORT) = (1 << bit for bit in range(28, 32))
SECOND_CLAUSE = 32

MARKS = ".,?"


def second_clause(words: list[Word]) -> list[Word]:
    """Return the words of a second clause, with concepts distinct from those of the first."""
    return [(text, concepts << SECOND_CLAUSE) for text, concepts in words]


def written(words: list[Word], spaced: str = "") -> tuple[list[str], list[int]]:
    """Return the words between spaces and their concepts; `spaced` marks become separate words."""
    texts: list[str] = []
    concepts: list[int] = []
    for text, concept in words:
        if text in MARKS and text not in spaced:
            texts[-1] += text
        else:
            texts.append(text)
            concepts.append(concept)
    texts[0] = texts[0][0].upper() + texts[0][1:]
    return texts, concepts


def linked(source: list[int], target: list[int]) -> tuple[tuple[int, int], ...]:
    """Return the sorted pairs of words that share a concept."""
    return tuple(
        [(i, j) for i, one in enumerate(source) for j, two in enumerate(target) if one & two]
    )

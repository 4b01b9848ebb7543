"""ROUGE-L as the COCO tools compute it: words in common, in order, with gaps.

    F = (1 + beta^2) P R / (R + beta^2 P),   P = LCS / |output|,   R = LCS / |reference|

P and R are each the best over the references; beta is 1.2.
Source: Lin 2004, section 3; the maximum over references and beta: Chen et al. 2015.
"""

from __future__ import annotations

from collections.abc import Sequence

from attncli.scoring.caption_words import References, Words

BETA = 1.2


def rouge_l(outputs: Sequence[Words], references: Sequence[References]) -> float:
    """Mean ROUGE-L in 0..1, everything given as words."""
    found = [rouge_of_one(*row) for row in zip(outputs, references, strict=True)]
    return sum(found) / len(found)


def rouge_of_one(output: Words, references: References) -> float:
    """ROUGE-L of one caption."""
    common = [longest_common(output, reference) for reference in references]
    precision = max(common) / max(1, len(output))
    recall = max(
        length / max(1, len(reference))
        for length, reference in zip(common, references, strict=True)
    )
    weighted = recall + BETA**2 * precision
    return (1 + BETA**2) * precision * recall / weighted if weighted else 0.0


def longest_common(one: Words, other: Words) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for word in one:
        diagonal = 0
        for place, second in enumerate(other, 1):
            above = row[place]
            row[place] = diagonal + 1 if word == second else max(above, row[place - 1])
            diagonal = above
    return row[-1]

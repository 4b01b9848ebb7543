"""Edit distance and longest common subsequence of two token sequences, computed bit-parallel.

A column of the dynamic-programming table is one integer with a bit for each token of the pattern.
A token of the other sequence updates the whole column by a few operations on integers, so long
sequences cost about 1/64 of the plain table.
Sources: edit distance: Myers 1999, in the form of Hyyrö 2003; common subsequence: Hyyrö 2004.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

Tokens = Sequence[Hashable]


def edit_distance(one: Tokens, other: Tokens) -> int:
    """Return the least number of insertions, deletions and substitutions (Levenshtein 1966)."""
    if not one:
        return len(other)
    masks, full = _masks(one), (1 << len(one)) - 1
    last, distance = 1 << (len(one) - 1), len(one)
    more, less = full, 0  # rows whose value is 1 more, or 1 less, than the row above
    for token in other:
        equal = masks[token]
        diagonal = (((equal & more) + more) ^ more) | equal | less
        right_more = less | (full & ~(diagonal | more))
        right_less = more & diagonal
        distance += bool(right_more & last) - bool(right_less & last)
        right_more, right_less = (right_more << 1) | 1, right_less << 1
        more = full & (right_less | ~(diagonal | right_more))
        less = full & right_more & diagonal
    return distance


def common_subsequence(one: Tokens, other: Tokens) -> int:
    """Return the length of the longest common subsequence."""
    masks, full = _masks(one), (1 << len(one)) - 1
    column = full  # a bit is 0 where the length increases by 1
    for token in other:
        shared = column & masks[token]
        column = ((column + shared) | (column - shared)) & full
    return len(one) - column.bit_count()


def _masks(tokens: Tokens) -> dict[Hashable, int]:
    """Return the positions of each token as bits."""
    masks: dict[Hashable, int] = defaultdict(int)
    for position, token in enumerate(tokens):
        masks[token] |= 1 << position
    return masks

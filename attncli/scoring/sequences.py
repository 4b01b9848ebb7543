"""Exact match and token error rate: scores for outputs that are short, or that must be exact.

    exact match = 100 * outputs equal to a reference / outputs
    error rate  = 100 * sum of edit distances / sum of reference lengths, in tokens

With tokens separated by spaces, the error rate is the word error rate, or the phoneme error rate
for phonemes. Training and `attn evaluate` use the tokenizer of BLEU instead (sacrebleu_tokens of
`attncli.scoring.translations`). The rate exceeds 100 if outputs are much longer than references. Of
several references, the one with the fewest errors per token counts.

Edit distance and longest common subsequence are computed bit-parallel: a column of the table is one
integer with a bit for each token of the pattern. A token of the other sequence updates the whole
column by a few operations on integers, so long sequences cost about 1/64 of the plain table.
Sources: edit distance: Myers 1999, in the form of Hyyrö 2003; common subsequence: Hyyrö 2004.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

Tokenize = Callable[[str], Sequence[str]]


def references_by_output(columns: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return a list of references for each output, without the missing ones.

    columns: the first reference of each output, the second and so on; None where one is missing.
    """
    return [[text for text in row if text is not None] for row in zip(*columns, strict=True)]


def exact_match(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Return the share of outputs equal to one of their references, in percent.

    references: a list for each output. Runs of spaces count as one space.
    """
    pairs = zip(outputs, references, strict=True)
    equal = sum(output.split() in [text.split() for text in texts] for output, texts in pairs)
    return 100 * equal / len(outputs) if outputs else 0.0


def error_rate(
    outputs: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: Tokenize = str.split,
) -> float:
    """Return the token error rate in percent; 0 is best.

    references: a list for each output.
    """
    edits = length = 0
    for output, texts in zip(outputs, references, strict=True):
        tokens = tokenize(output)
        wanted = [tokenize(text) for text in texts]
        compared = [(edit_distance(tokens, each), len(each)) for each in wanted]
        fewest, size = min(compared, key=lambda pair: (pair[0] / max(1, pair[1]), -pair[1]))
        edits, length = edits + fewest, length + size
    return 100 * edits / max(1, length)


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

"""Exact match and token error rate: scores for outputs that are short, or that must be exact.

    exact match = 100 * outputs equal to a reference / outputs
    error rate  = 100 * sum of edit distances / sum of reference lengths, in tokens

With tokens separated by spaces, the error rate is the word error rate, or the phoneme error rate
for phonemes. Training and `attn evaluate` use the tokenizer of BLEU instead (sacrebleu_tokens of
`attncli.scoring.translations`). The rate exceeds 100 if outputs are much longer than references. Of
several references, the one with the fewest errors per token counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attncli.scoring.edit_distance import edit_distance

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

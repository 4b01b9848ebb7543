"""Which source word a target word was made from: attention under a given target, word by word.

    W[j, i] = sum over pieces t of word j and s of word i of weights[t, s]
    word j is linked with argmax_i W[j, i]
    AER(A; S, P) = 1 - (|A & S| + |A & P|) / (|A| + |S|),  S within P
Source: Bahdanau et al. 2015, section 5.2.1; Och and Ney 2003, section 4.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.translator import Translator, forced

Link = tuple[int, int]  # source word, target word, counted from 0
NO_WORD = -1  # of the end mark, and of spaces at a text's end


class Words(NamedTuple):
    """How many words a text has, and to which of them each of its pieces belongs."""

    total: int
    of_piece: list[int]


def align(
    translator: Translator, pairs: Iterable[tuple[str, str]], *, batch_size: int = 64
) -> list[set[Link]]:
    """The source word that each target word looks at most, for given translations.

    A pair whose source is longer than the model accepts, or with an empty side, has no links.
    """
    pairs = list(pairs)
    found: list[set[Link]] = [set() for _ in pairs]
    usable = [n for n, pair in enumerate(pairs) if _usable(translator, *pair)]
    order = sorted(usable, key=lambda n: len(pairs[n][0]))
    for start in range(0, len(order), batch_size):
        part = order[start : start + batch_size]
        tables = word_weights(translator, [pairs[n] for n in part])
        for number, table in zip(part, tables, strict=True):
            found[number] = strongest(table)
    return found


@torch.inference_mode()
def word_weights(translator: Translator, pairs: Sequence[tuple[str, str]]) -> list[Tensor]:
    """How much each target word looks at each source word (J, I), for each pair of texts."""
    tokenizer = translator.tokenizer
    sources = [tokenizer.encode(source) for source, _ in pairs]
    targets = [tokenizer.encode_target(target) for _, target in pairs]
    batch = forced(sources, targets, translator.device)
    weights = translator.model.force(batch, want_weights=True).weights  # (B, T, S)
    if weights is None:
        raise ValueError("a model without attention has no weights: see `diagonal`")
    return [
        merged(
            row[: len(target), : len(source)],
            words(tokenizer.source, source),
            words(tokenizer.target, target),
        )
        for row, source, target in zip(weights.float().cpu(), sources, targets, strict=True)
    ]


def merged(weights: Tensor, source: Words, target: Words) -> Tensor:
    """Weights of words (J, I) from those of pieces (T, S)."""
    return _summed(_summed(weights, source).T, target).T


def strongest(weights: Tensor) -> set[Link]:
    """Each target word linked with the source word of most weight, if it has any weight."""
    if 0 in weights.shape:
        return set()
    most, where = weights.max(1)  # (J,)
    return {(int(i), j) for j, i in enumerate(where) if most[j] > 0}


def diagonal(source_words: int, target_words: int) -> set[Link]:
    """Each target word linked with the source word at its relative position: knows nothing."""
    if not source_words:
        return set()
    return {((2 * j + 1) * source_words // (2 * target_words), j) for j in range(target_words)}


def error_rate(
    found: Iterable[set[Link]],
    sure: Iterable[set[Link]],
    possible: Iterable[set[Link]] | None = None,
) -> float:
    """Alignment error rate of a corpus, 0 to 1; sure links are possible ones too."""
    sure = list(sure)
    hits = size = 0
    for links, certain, allowed in zip(found, sure, possible or sure, strict=True):
        hits += len(links & certain) + len(links & (allowed | certain))
        size += len(links) + len(certain)
    return 1 - hits / size if size else 0.0


def words(processor: Any, ids: Sequence[int]) -> Words:
    """The words between spaces of a text that SentencePiece has cut into these ids."""
    contents = [_bytes(processor, number) for number in ids]
    text = b"".join(contents).decode("utf-8", "replace")
    ends = [len(text[: found.end()].encode()) for found in re.finditer(r"\S+", text)]
    of_piece, at, word = [], 0, 0
    for content in contents:
        while word < len(ends) and ends[word] <= at:
            word += 1
        of_piece.append(word if content and word < len(ends) else NO_WORD)
        at += len(content)
    return Words(len(ends), of_piece)


def _bytes(processor: Any, number: int) -> bytes:
    """What a piece stands for in the text; a control mark is nothing."""
    if processor.is_control(number):
        return b""
    piece = processor.id_to_piece(number)
    if processor.is_byte(number):  # <0xE2>
        return bytes([int(piece[1:-1], 16)])
    return str(piece).replace("\u2581", " ").encode()


def _summed(weights: Tensor, words: Words) -> Tensor:
    """Columns (N, W) of words from those (N, P) of pieces."""
    index = torch.tensor(words.of_piece, device=weights.device)  # (P,)
    real = index != NO_WORD
    total = weights.new_zeros(len(weights), words.total)
    return total.index_add_(1, index[real], weights[:, real])


def _usable(translator: Translator, source: str, target: str) -> bool:
    if not source.strip() or not target.strip():
        return False
    return translator.source_length(source) <= translator.max_source_length

"""Lexical shortlists from the attention weights of a model on sentence pairs.

    c(s, t) = sum over the places of s and t in all pairs of the weight a[t, s], if it is LEAST

a are the weights of the layer by which the model aligns, the mean of its heads, under teacher
forcing. The list of a source token s has the tokens t of the greatest c(s, t), and the target token
with the same letters. Source: the lexical shortlist of Marian, with attention in place of the
word alignments of another program.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from models.alignment.encoded import Encoded, as_batch, batched, encode
from models.alignment.weights import teacher_forced_weights
from models.config.tables import MAX_BATCH_TOKENS, SHORTLIST_COMMON, SHORTLIST_PER_TOKEN
from models.inference.search.batching import windows
from models.inference.translator import Translator
from models.storage.shortlist import Shortlist
from models.text.tokenizer import END, PAD, Tokenizer

LEAST = 0.02  # weight that counts
WINDOW = 5000  # sentence pairs whose counts are added at a time


class PairCounts(NamedTuple):
    """Sums of weights, and frequencies of target tokens."""

    keys: Tensor  # (K,) source token times the target vocabulary plus target token; sorted
    sums: Tensor  # (K,) float64
    frequency: Tensor  # (Y,)
    sources: Tensor  # (V,) frequencies of source tokens


def shortlist(
    translator: Translator,
    pairs: Iterable[tuple[str, str]],
    *,
    common: int = SHORTLIST_COMMON,
    per_token: int = SHORTLIST_PER_TOKEN,
    max_batch_tokens: int = MAX_BATCH_TOKENS,
    on_pairs: Callable[[int], None] = lambda done: None,
) -> Shortlist:
    """Return a shortlist for the target language of a model, from sentence pairs.

    common: tokens that every output may contain, the most frequent ones. per_token: further tokens
    for each source token, at most. Pairs with an empty side or too long a source are left out.
    on_pairs: called with the number of pairs done. Raises ConfigurationError for a model without
    attention.
    """
    counts, done = no_counts(translator.tokenizer), 0
    for group in windows(pairs, WINDOW):
        encoded = [encode(translator, *pair) for pair in group]
        counts = added([counts, *counted(translator, encoded, max_batch_tokens)])
        done += len(group)
        on_pairs(done)
    return chosen(counts, translator.tokenizer, common, per_token)


def no_counts(tokenizer: Tokenizer) -> PairCounts:
    """Return the counts of no sentence pairs."""
    empty = torch.zeros(0, dtype=torch.long)
    frequencies = (empty.new_zeros(len(one)) for one in (tokenizer.target, tokenizer.source))
    return PairCounts(empty, empty.double(), *frequencies)


def counted(
    translator: Translator, pairs: Sequence[Encoded], max_batch_tokens: int
) -> Iterable[PairCounts]:
    """Yield the counts of each batch of sentence pairs."""
    sources, vocabulary = (
        len(one) for one in (translator.tokenizer.source, translator.tokenizer.target)
    )
    config = dataclasses.replace(translator.alignment, head=0)  # the mean of all heads
    for numbers in batched(translator, pairs, max_batch_tokens):
        batch = as_batch(translator, [pairs[n] for n in numbers])
        weights, _ = teacher_forced_weights(translator.model, batch, config)  # (B, T, S)
        real = batch.target_mask[:, :, None] & batch.source_mask[:, None] & (weights >= LEAST)
        keys = batch.source[:, None] * vocabulary + batch.target_out[:, :, None]  # (B, T, S)
        yield PairCounts(
            keys[real].cpu(),
            weights[real].double().cpu(),
            frequencies(batch.target_out[batch.target_mask], vocabulary),
            frequencies(batch.source[batch.source_mask], sources),
        )


def frequencies(tokens: Tensor, vocabulary: int) -> Tensor:
    """Return the frequency (Y,) of each token of a vocabulary among tokens (N,)."""
    return torch.bincount(tokens, minlength=vocabulary).cpu()


def added(parts: Sequence[PairCounts]) -> PairCounts:
    """Return the sum of counts."""
    keys, places = torch.cat([part.keys for part in parts]).unique(return_inverse=True)
    sums = torch.zeros(len(keys), dtype=torch.float64)
    sums.index_add_(0, places, torch.cat([part.sums for part in parts]))
    targets, sources = (
        torch.stack(of_parts).sum(0)
        for of_parts in zip(*((part.frequency, part.sources) for part in parts), strict=True)
    )
    return PairCounts(keys, sums, targets, sources)


def chosen(counts: PairCounts, tokenizer: Tokenizer, common: int, per_token: int) -> Shortlist:
    """Return the shortlist of some counts."""
    vocabulary = len(tokenizer.target)
    frequent = most_frequent(counts.frequency, common)
    is_listed = torch.zeros(vocabulary, dtype=torch.bool)  # True if no row needs the token
    is_listed[frequent] = True
    is_listed |= torch.tensor([tokenizer.target.is_control(n) for n in range(vocabulary)])
    keys, sums = copies(tokenizer)
    keys, sums = torch.cat([keys, counts.keys]), torch.cat([sums, counts.sums])
    keys, places = keys.unique(return_inverse=True)
    sums = torch.zeros(len(keys), dtype=torch.float64).index_add_(0, places, sums)
    wanted = ~is_listed[keys % vocabulary]
    rows = largest(keys[wanted], sums[wanted], (len(tokenizer.source), vocabulary), per_token)
    return Shortlist(frequent, rows, unseen=(counts.sources == 0).nonzero().flatten())


def most_frequent(frequency: Tensor, count: int) -> Tensor:
    """Return the tokens PAD to END and the most frequent others, sorted; `count` at most."""
    others = frequency[END + 1 :]
    order = others.argsort(descending=True, stable=True)[: max(0, count - END - 1)]
    found = order[others[order] > 0] + END + 1
    return torch.cat([torch.arange(END + 1), found.sort().values])


def copies(tokenizer: Tokenizer) -> tuple[Tensor, Tensor]:
    """Return the keys of source tokens and target tokens with the same letters, and their sums.

    The sums are infinite, so that names can always be copied.
    """
    source, target = tokenizer.source, tokenizer.target
    size = len(target)
    keys = [
        number * size + same
        for number in range(END + 1, len(source))
        if target.id_to_piece(same := target.piece_to_id(source.id_to_piece(number)))
        == source.id_to_piece(number)
    ]
    return torch.tensor(keys, dtype=torch.long), torch.full((len(keys),), torch.inf).double()


def largest(keys: Tensor, sums: Tensor, sizes: tuple[int, int], count: int) -> Tensor:
    """Return the `count` target tokens (V, N) of the greatest sums of each source token.

    keys (K,), sorted. sizes: of the vocabularies of source and target.
    """
    order = sums.argsort(descending=True, stable=True)
    order = order[(keys[order] // sizes[1]).argsort(stable=True)]
    sources, targets = keys[order] // sizes[1], keys[order] % sizes[1]
    starts = torch.searchsorted(sources, torch.arange(sizes[0]))
    ranks = torch.arange(len(sources)) - starts[sources]
    kept = ranks < count
    width = int(ranks[kept].max()) + 1 if bool(kept.any()) else 1
    rows = torch.full((sizes[0], width), PAD)
    rows[sources[kept], ranks[kept]] = targets[kept]
    return rows

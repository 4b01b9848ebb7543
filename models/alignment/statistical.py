"""Statistical aligner: link probabilities of new sentence pairs from trained hidden Markov models.

    p(link j-i | f, e) = (p(a_j = i | f, e) + p(b_i = j | f, e)) / 2

a and b are the alignments of the two directions; see `hmm`. The lexicon holds the pairs of
words that are likely in either direction. A word that was never seen is aligned by its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from models.alignment.chain import forward_backward, steps_of, widths
from models.alignment.hmm import SMALLEST
from models.alignment.word_pairs import normalised, same_lengths
from models.storage.statistical import MAX_WORDS, HmmTables, StatisticalTables


def turned(tables: StatisticalTables) -> StatisticalTables:
    """Return the aligner from target to source."""
    order = torch.argsort(tables.pairs[1] * len(tables.source) + tables.pairs[0])
    forward, reverse = (
        each._replace(lexicon=each.lexicon[order]) for each in (tables.reverse, tables.forward)
    )
    pairs = tables.pairs.flip(0)[:, order]
    return StatisticalTables(tables.target, tables.source, pairs, forward, reverse)


def link_probabilities(
    tables: StatisticalTables, pairs: Sequence[tuple[Sequence[str], Sequence[str]]]
) -> list[Tensor | None]:
    """Return the link probabilities (J, I) of sentence pairs, each given as two lists of words.

    None for a pair with an empty side or with more than MAX_WORDS words on a side.
    """
    found: list[Tensor | None] = [None] * len(pairs)
    numbers = [
        known_numbers([pair[side] for pair in pairs], words)
        for side, words in enumerate((tables.source, tables.target))
    ]
    for part in same_lengths(*numbers):
        source, target = (torch.tensor([side[n] for n in part]) for side in numbers)
        cells, known = cells_of(tables, source, target)
        ahead = posterior(tables.forward, cells, known, target)
        back = posterior(tables.reverse, cells.mT, known.mT, source)
        for n, table in zip(part, (ahead + back.mT) / 2, strict=True):
            found[n] = table
    return found


def cells_of(tables: StatisticalTables, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the number of each pair of words (N, J, I), and True where it is stored.

    source (N, I) and target (N, J): numbers of words, -1 for unknown ones.
    """
    size = len(tables.target)
    stored = tables.pairs[0] * size + tables.pairs[1]  # (K,) ascending
    keys = source[:, None, :] * size + target[:, :, None]  # (N, J, I)
    cells = torch.searchsorted(stored, keys).clamp_max(len(stored) - 1)
    real = (source >= 0)[:, None, :] & (target >= 0)[:, :, None]
    return cells, (stored[cells] == keys) & real


def known_numbers(texts: Sequence[Sequence[str]], words: Sequence[str]) -> list[list[int]]:
    """Return the numbers of the words of texts; -1 for a word that is not known."""
    known = {word: number for number, word in enumerate(words)}
    return [[known.get(normalised(word), -1) for word in text] for text in texts]


def posterior(model: HmmTables, cells: Tensor, known: Tensor, target: Tensor) -> Tensor:
    """Return p(a_j = i) (N, J, I). cells, known (N, J, I); target (N, J), -1 for unknown words."""
    links = torch.where(known, model.lexicon[cells], SMALLEST).clamp_min(SMALLEST)
    null = torch.cat([model.null, model.null.new_full((1,), SMALLEST)])[target]
    steps = steps_of(model.jumps[widths(cells.shape[2]) + MAX_WORDS])
    return forward_backward(links, null, steps).links

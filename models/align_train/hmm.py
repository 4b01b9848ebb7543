"""Hidden Markov models of word alignment, trained on sentence pairs alone; `chain` has the states.

Source: Vogel et al. 1996; Och and Ney 2003.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from models.align_train._words import Group, WordPairs, same_lengths, word_pairs
from models.align_train.tables import MAX_WORDS, HmmTables, StatisticalTables, normalised
from models.alignment import Links, symmetrise
from models.alignment.chain import NULL, Posterior, forward_backward, steps_of, widths

# a small prior makes the lexicon sparse: a rare word does not collect all that it meets
ALPHA = 0.01  # prior count of each entry of the lexicon
DIAGONAL = 4.0  # strength of Model 1's preference for the diagonal
SMALLEST = 1e-8  # probability of any pair of words
LIKELY = 1e-4  # probability of a pair of words, in either direction, that is stored
MODEL1 = 5  # iterations of Model 1
HMM = 4  # iterations of the hidden Markov models
MIN_LINK_PROBABILITY = 0.3  # in one direction
AGREED = 0.1  # probability of a pair of words, in both directions, that translate each other

ReportStage = Callable[[str, int, int], None]  # stage, done, total


def trained(
    pairs: Sequence[tuple[str, str]], progress: ReportStage = lambda stage, done, total: None
) -> JointHmm:
    """Return the models of both directions, trained on sentence pairs.

    Words are separated by spaces; case is ignored. A pair with an empty side, or more than
    MAX_WORDS words, is left out, and has no links.
    """
    joint = JointHmm(pairs)
    for done in range(MODEL1 + HMM):
        progress("statistical alignment", done, MODEL1 + HMM)
        joint.iterate(done)
    return joint


class JointHmm:
    """Hidden Markov models of both directions over one table of word pairs."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        table = word_pairs(pairs)
        self.table = table
        self.models = HiddenMarkov(table), HiddenMarkov(table.turned())

    def iterate(self, done: int) -> None:
        """Do one iteration of expectation maximisation, after `done` others."""
        counts = [Counts(model) for model in self.models]
        for group in self.table.groups:
            both = self.posteriors(group, done)
            agreed = both[0].links * both[1].links.mT  # (N, J, I)
            used = (agreed, agreed.mT) if done >= MODEL1 else [each.links for each in both]
            groups = group, group.turned()
            for count, turned, links, each in zip(counts, groups, used, both, strict=True):
                count.add(turned, links, each)
        for model, count in zip(self.models, counts, strict=True):
            model.maximise(count.links, count.null, count.jumps if done >= MODEL1 else None)

    def posteriors(self, group: Group, done: int) -> tuple[Posterior, Posterior]:
        """Return the posteriors of both directions after `done` iterations."""
        sides = zip(self.models, (group, group.turned()), strict=True)
        if done >= MODEL1:
            forward, reverse = (model.posterior(side) for model, side in sides)
        else:
            diagonal = DIAGONAL if done else 0.0
            forward, reverse = (model.model1(side, diagonal=diagonal) for model, side in sides)
        return forward, reverse

    def links(self, count: int) -> list[Links]:
        """Return the links of `count` sentence pairs, symmetrised by grow-diag."""
        found: list[Links] = [frozenset()] * count
        for group in self.table.groups:
            both = self.posteriors(group, MODEL1 + HMM)
            tables = likely(both[0].links).mT, likely(both[1].links)  # (N, I, J)
            for n, forward, reverse in zip(group.numbers, *tables, strict=True):
                found[n] = symmetrise(as_links(forward), as_links(reverse))
        return found

    def tables(self) -> StatisticalTables:
        """Return the trained models for use on other sentence pairs."""
        table, (ahead, back) = self.table, self.models
        # most pairs of words met once by chance, and would only make the file larger
        kept = (ahead.lexicon >= LIKELY) | (back.lexicon >= LIKELY)
        pairs = torch.stack([table.source, table.target])[:, kept]
        forward, reverse = (
            HmmTables(model.lexicon[kept], model.null, model.jumps) for model in self.models
        )
        return StatisticalTables(table.source_words, table.target_words, pairs, forward, reverse)


class HiddenMarkov:
    """Lexicon and jumps of one direction, with their expectation and maximisation steps."""

    def __init__(self, table: WordPairs) -> None:
        self.table = table
        targets = len(table.target_words)
        uniform = 1 / max(targets, 1)
        self.lexicon = torch.full((len(table.source),), uniform)  # (K,)
        self.null = torch.full((targets,), uniform)
        width = torch.arange(-MAX_WORDS, MAX_WORDS + 1)
        self.jumps = torch.exp(-0.5 * (width - 1).abs())  # (2 M + 1,): a step forward is likeliest

    def model1(self, group: Group, *, diagonal: float) -> Posterior:
        """Return the posterior of Model 1: positions depend on the diagonal only.

        p(i | j) ~ exp(-diagonal |i / I - j / J|)                Dyer et al. 2013, eq. 2
        """
        links, null = self.emissions(group)
        row, column = ((torch.arange(size) + 0.5) / size for size in links.shape[1:])
        near = torch.softmax(-diagonal * (row[:, None] - column).abs(), 1)  # (J, I)
        links = links * (1 - NULL) * near
        null = null * NULL
        total = links.sum(-1) + null
        return Posterior(links / total[..., None], null / total, links.new_zeros(0, 0))

    def posterior(self, group: Group) -> Posterior:
        """Return the posterior of the hidden Markov model."""
        steps = steps_of(self.jumps[widths(group.source.shape[1]) + MAX_WORDS])
        return forward_backward(*self.emissions(group), steps)

    def emissions(self, group: Group) -> tuple[Tensor, Tensor]:
        """Return p(f | e) of each cell (N, J, I), and of each target word without e (N, J)."""
        # a pair of probability 0 would make a sentence impossible
        return self.lexicon[group.cells].clamp_min(SMALLEST), self.null[group.target]

    def maximise(self, links: Tensor, null: Tensor, jumps: Tensor | None) -> None:
        """Re-estimate the lexicon, and the jumps if there are any, from expected counts.

        links (K,) of pairs of words, null (target words,), jumps (2 M + 1,).
        """
        source, size = self.table.source, len(self.table.source_words)
        total = torch.bincount(source, links, size)
        kinds = torch.bincount(source, minlength=size)
        self.lexicon = (bayes(links, ALPHA) / bayes(total, ALPHA * kinds)[source]).float()
        empty = bayes(null, ALPHA) / bayes(null.sum(), ALPHA * len(null))
        self.null = empty.float().clamp_min(SMALLEST)
        if jumps is not None:
            self.jumps = (jumps / jumps.sum().clamp_min(1) + SMALLEST).float()


def bayes(counts: Tensor, prior: Tensor | float) -> Tensor:
    """Return exp(psi(counts + prior)), the weight of counts under a Dirichlet prior."""
    # float64, because exp(psi(0.01)) is 2e-44, below the normal numbers of float32
    return torch.special.digamma(counts.double() + prior).exp()


class Counts:
    """Expected counts of one direction in one iteration."""

    def __init__(self, model: HiddenMarkov) -> None:
        self.links = torch.zeros(len(model.lexicon), dtype=torch.float64)
        self.null = torch.zeros(len(model.null), dtype=torch.float64)
        self.jumps = torch.zeros(2 * MAX_WORDS + 1, dtype=torch.float64)

    def add(self, group: Group, links: Tensor, found: Posterior) -> None:
        """Add the counts of a group. links (N, J, I): those that both directions agree on."""
        self.links.index_add_(0, group.cells.reshape(-1), links.reshape(-1).double())
        self.null.index_add_(0, group.target.reshape(-1), found.null.reshape(-1).double())
        width = widths(len(found.jumps))[1:] + MAX_WORDS  # (I, I)
        self.jumps.index_add_(0, width.reshape(-1), found.jumps.reshape(-1).double())


def likely(posterior: Tensor) -> Tensor:
    """Return True (N, J, I) for the likeliest state of each word, if it is likely enough."""
    return (posterior >= MIN_LINK_PROBABILITY) & (posterior == posterior.amax(-1, keepdim=True))


def as_links(table: Tensor) -> Links:
    """Return the links of a table (I, J) of truth values."""
    return frozenset((i, j) for i, j in table.nonzero().tolist())


def translations(tables: StatisticalTables) -> dict[str, list[str]]:
    """Return the translations of source words on which both directions agree, surest first.

    p(f | e) p(e | f)  orders them, and each of the two is at least AGREED.
    """
    ahead, back = tables.forward.lexicon, tables.reverse.lexicon
    [numbers] = torch.nonzero((ahead >= AGREED) & (back >= AGREED), as_tuple=True)
    rows = zip(*tables.pairs[:, numbers].tolist(), (ahead * back)[numbers].tolist(), strict=True)
    found: dict[str, list[str]] = {}
    for source, target, _ in sorted(rows, key=lambda row: (row[0], -row[2], row[1])):
        found.setdefault(tables.source[source], []).append(tables.target[target])
    return found


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

        p(link j-i | f, e) = (p(a_j = i | f, e) + p(b_i = j | f, e)) / 2

    a and b are the alignments of the two directions. The lexicon holds the pairs of words that are
    likely in either direction. A word that was never seen is aligned by its neighbours.
    None for a pair with an empty side or with more than MAX_WORDS words on a side.
    """
    found: list[Tensor | None] = [None] * len(pairs)
    numbers = []
    for side, words in enumerate((tables.source, tables.target)):
        known = {word: number for number, word in enumerate(words)}
        numbers.append([[known.get(normalised(word), -1) for word in pair[side]] for pair in pairs])
    for part in same_lengths(*numbers):
        source, target = (torch.tensor([side[n] for n in part]) for side in numbers)
        cells, stored = cells_of(tables, source, target)
        ahead = posterior(tables.forward, cells, stored, target)
        back = posterior(tables.reverse, cells.mT, stored.mT, source)
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


def posterior(model: HmmTables, cells: Tensor, known: Tensor, target: Tensor) -> Tensor:
    """Return p(a_j = i) (N, J, I). cells, known (N, J, I); target (N, J), -1 for unknown words."""
    links = torch.where(known, model.lexicon[cells], SMALLEST).clamp_min(SMALLEST)
    # unknown words have the number -1, which is the last place
    null = torch.cat([model.null, model.null.new_full((1,), SMALLEST)])[target]
    steps = steps_of(model.jumps[widths(cells.shape[2]) + MAX_WORDS])
    return forward_backward(links, null, steps).links

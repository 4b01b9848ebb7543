"""Links between words, and their symmetrisation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from models.core.config import MAX_WORDS
from models.core.errors import unknown_name
from models.core.types import Link
from models.core.use_config import SYMMETRISE, AlignConfig

Links = frozenset[Link]

ROUNDS = 25  # of Sinkhorn's algorithm
FLOOR = 1e-6  # smallest weight of a pair; with zeros there may be no coupling
MIN_THRESHOLD = 0.1  # smallest threshold that `best_threshold` returns
UNLINKED = 1.0  # threshold of text without link probabilities
THRESHOLDED = ("threshold", "transport")
BESIDE = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
MARKS = re.compile(r"^\W+|\W+$")
CELLS = 2**20  # of one group


def extract(weights: Tensor, null: Tensor, config: AlignConfig) -> Links:
    """Return the links of weights (J, I), given the weight null (J,) on no source unit."""
    if config.extract not in EXTRACTS:
        raise unknown_name("extract", config.extract, EXTRACTS)
    strength = EXTRACTS[config.extract](weights) if weights.numel() else weights
    threshold = config.threshold if config.extract in THRESHOLDED else 0.0
    linked = (strength >= threshold) & (strength > 0)
    linked &= (null <= config.null_threshold).unsqueeze(-1)
    return frozenset((i, j) for j, i in linked.nonzero().tolist())


def diagonal(source_words: int, target_words: int) -> set[Link]:
    """Return the links of each target word with the source word at the same relative position.

    A baseline that ignores the words.
    """
    if not source_words:
        return set()
    return {((2 * j + 1) * source_words // (2 * target_words), j) for j in range(target_words)}


def strongest(weights: Tensor) -> Tensor:
    """Return weights (.., J, I) with 0 for all but the largest of each row."""
    best = torch.zeros_like(weights, dtype=torch.bool)
    return weights * best.scatter_(-1, weights.argmax(-1, keepdim=True), True)


def mutual(weights: Tensor) -> Tensor:
    """Return weights (.., J, I) with 0 for all but the largest of both their row and column."""
    return strongest(weights) * (strongest(weights.mT).mT > 0)


def coupling(weights: Tensor) -> Tensor:
    """Return the coupling (.., J, I) of uniform units nearest to the weights (Sinkhorn)."""
    plan = weights.double().clamp_min(FLOOR)
    for _ in range(ROUNDS):
        plan /= plan.sum(-1, keepdim=True) * plan.shape[-2]
        plan /= plan.sum(-2, keepdim=True) * plan.shape[-1]
    return plan


EXTRACTS: dict[str, Callable[[Tensor], Tensor]] = {
    "argmax": strongest,
    "mutual": mutual,
    "threshold": lambda weights: weights,
    "transport": lambda weights: coupling(weights) * max(weights.shape[-2:]),  # mass / maximum
}


class BestThreshold(NamedTuple):
    """A threshold and the F score that its links are expected to have."""

    threshold: float
    expected_f: float  # 0 to 1


def best_threshold(tables: Iterable[Tensor]) -> BestThreshold:
    """Return the threshold for the link probabilities (J, I) of some sentence pairs."""
    flat = torch.cat([torch.zeros(0), *(table.reshape(-1) for table in tables)]).double()
    ordered = flat.sort(descending=True).values
    if not len(ordered) or not ordered[0] > 0:
        return BestThreshold(UNLINKED, 0.0)
    counts = torch.arange(1, len(ordered) + 1)
    scores = 2 * ordered.cumsum(0) / (counts + ordered.sum())
    best = int(scores.argmax())
    return BestThreshold(max(float(scores[best]) / 2, MIN_THRESHOLD), float(scores[best]))


def symmetrise(forward: Set[Link], reverse: Set[Link], method: str = "grow-diag") -> Links:
    """Combine the links of a model and of a reverse model, both as (source, target).

    intersection, union
    grow-diag             the intersection; then links of the union that are adjacent to an accepted
                          one, diagonals included, if one of their two words has no link yet
    -final                then the remaining links of one direction, and of the other, if one of
                          their two words has no link
    -final-and            the same, if neither word has a link
    Och and Ney 2003, section 4.2; Koehn, Axelrod et al. 2005. Links are added in the order of Moses
    (symal.cpp): target by target.
    """
    if method not in SYMMETRISE:
        raise unknown_name("symmetrise", method, SYMMETRISE)
    if method == "union":
        return frozenset(forward | reverse)
    grown = Grown(forward & reverse)
    if method.startswith("grow"):
        grow(grown, forward | reverse)
    if "final" in method:
        enough = all if method.endswith("and") else any
        for direction in (forward, reverse):
            for link in sorted(direction - grown.links, key=by_target):
                if enough(grown.free(link)):
                    grown.add(link)
    return frozenset(grown.links)


class Grown:
    """Accepted links, and the words that they link."""

    def __init__(self, links: Iterable[Link]) -> None:
        self.links = set(links)
        self.sources = {i for i, _ in self.links}
        self.targets = {j for _, j in self.links}

    def add(self, link: Link) -> None:
        """Accept a link."""
        self.links.add(link)
        self.sources.add(link[0])
        self.targets.add(link[1])

    def free(self, link: Link) -> tuple[bool, bool]:
        """Return True for each of a link's two words that has no link."""
        return link[0] not in self.sources, link[1] not in self.targets


def grow(grown: Grown, union: Set[Link]) -> None:
    """Add the neighbours of each accepted link that have a free word, until nothing is added.

    A link that is added after the current position is visited in the same round.
    """
    added = True
    while added:
        added, last = False, (-1, -1)
        while ahead := [link for link in grown.links if by_target(link) > last]:
            here = min(ahead, key=by_target)
            last = by_target(here)
            for j, i in BESIDE:
                link = here[0] + i, here[1] + j
                if link in union and link not in grown.links and any(grown.free(link)):
                    grown.add(link)
                    added = True


def by_target(link: Link) -> tuple[int, int]:
    """Return the sort key of symal."""
    return link[1], link[0]


class Group(NamedTuple):
    """Sentence pairs with the same numbers of words: N pairs, I source and J target words.

    Every source word of a sentence pair meets every target word in a cell, which holds the number
    of its pair of words in the table of all different ones.
    """

    numbers: tuple[int, ...]  # of the sentence pairs
    cells: Tensor  # (N, J, I) number of each pair of words
    source: Tensor  # (N, I) word numbers
    target: Tensor  # (N, J)

    def turned(self) -> Group:
        """Return the group with source and target exchanged."""
        return Group(self.numbers, self.cells.mT, self.target, self.source)


class WordPairs(NamedTuple):
    """All sentence pairs in groups, and the table of K different pairs of words."""

    groups: tuple[Group, ...]
    source: Tensor  # (K,) source word of each pair of words
    target: Tensor  # (K,)
    source_words: tuple[str, ...]  # different ones, normalised; a word's number is its place
    target_words: tuple[str, ...]

    def turned(self) -> WordPairs:
        """Return the table with source and target exchanged."""
        groups = tuple(group.turned() for group in self.groups)
        return WordPairs(groups, self.target, self.source, self.target_words, self.source_words)


def word_pairs(pairs: Sequence[tuple[str, str]]) -> WordPairs:
    """Return the groups and the table of sentence pairs; words are separated by spaces.

    Sentence pairs with an empty side, or with more than MAX_WORDS words, are left out.
    """
    source, sources = numbered([pair[0] for pair in pairs])
    target, targets = numbered([pair[1] for pair in pairs])
    parts = list(same_lengths(source, target))
    keys = [_keys(source, target, part, len(targets)) for part in parts]
    flat = np.concatenate([key.ravel() for key in keys] or [np.zeros(0, np.int64)])
    table, cells = np.unique(flat, return_inverse=True)
    groups, start = [], 0
    for part, key in zip(parts, keys, strict=True):
        inside = torch.from_numpy(cells[start : start + key.size].reshape(key.shape))
        sides = (torch.tensor([side[n] for n in part]) for side in (source, target))
        groups.append(Group(part, inside, *sides))
        start += key.size
    size = max(len(targets), 1)
    which = torch.from_numpy(table // size), torch.from_numpy(table % size)
    return WordPairs(tuple(groups), *which, sources, targets)


def numbered(texts: Sequence[str]) -> tuple[list[list[int]], tuple[str, ...]]:
    """Return the word numbers of texts, and the different words."""
    known: dict[str, int] = {}
    written: dict[str, int] = {}
    numbers = []
    for text in texts:
        row = []
        for word in text.split():
            if word not in written:
                written[word] = known.setdefault(normalised(word), len(known))
            row.append(written[word])
        numbers.append(row)
    return numbers, tuple(known)


def normalised(word: str) -> str:
    """Return a word in lower case, without punctuation at its ends unless it has nothing else."""
    lowered = word.lower()
    return MARKS.sub("", lowered) or lowered


def same_lengths(
    source: Sequence[Sequence[int]], target: Sequence[Sequence[int]]
) -> Iterator[tuple[int, ...]]:
    """Yield the numbers of sentence pairs with equal lengths, at most CELLS cells at a time."""
    found: dict[tuple[int, int], list[int]] = {}
    for number, (a, b) in enumerate(zip(source, target, strict=True)):
        if 0 < len(a) <= MAX_WORDS and 0 < len(b) <= MAX_WORDS:
            found.setdefault((len(a), len(b)), []).append(number)
    for (a_words, b_words), numbers in found.items():
        size = max(1, CELLS // (a_words * b_words))
        for start in range(0, len(numbers), size):
            yield tuple(numbers[start : start + size])


def _keys(
    source: Sequence[Sequence[int]],
    target: Sequence[Sequence[int]],
    part: tuple[int, ...],
    targets: int,
) -> np.ndarray:
    """Return a number (N, J, I) for each cell that is the same for the same pair of words."""
    first = np.array([source[n] for n in part], np.int64)
    second = np.array([target[n] for n in part], np.int64)
    return first[:, None, :] * targets + second[:, :, None]

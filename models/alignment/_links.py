"""Links between words, and their symmetrisation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set

import torch
from torch import Tensor

from models.core.errors import unknown_name
from models.core.types import Link
from models.core.use_config import SYMMETRISE, AlignConfig

Links = frozenset[Link]

ROUNDS = 25  # of Sinkhorn's algorithm
FLOOR = 1e-6  # smallest weight of a pair; with zeros there may be no coupling
THRESHOLDED = ("threshold", "transport")
BESIDE = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]


def extract(weights: Tensor, null: Tensor, config: AlignConfig) -> Links:
    """Return the links of weights (J, I), given the weight null (J,) on no source unit."""
    if config.extract not in EXTRACTS:
        raise unknown_name("extract", config.extract, EXTRACTS)
    strength = EXTRACTS[config.extract](weights) if weights.numel() else weights
    threshold = config.threshold if config.extract in THRESHOLDED else 0.0
    linked = (strength >= threshold) & (strength > 0)
    # a word that attends mostly to the end mark has no translation
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

"""Symmetrisation: one set of links from the links of two directions.

intersection, union
grow-diag             the intersection; then links of the union that are adjacent to an accepted
                      one, diagonals included, if one of their two words has no link yet
-final                then the remaining links of one direction, and of the other, if one of their
                      two words has no link
-final-and            the same, if neither word has a link
Och and Ney 2003, section 4.2; Koehn, Axelrod et al. 2005

Links are added in the order of Moses (symal.cpp): target by target.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from models.alignment.links import Links
from models.base.errors import unknown_name
from models.base.types import Link
from models.config import SYMMETRISE

BESIDE = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]


def symmetrise(forward: Set[Link], reverse: Set[Link], method: str = "grow-diag") -> Links:
    """Combine the links of a model and of a reverse model, both as (source, target)."""
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

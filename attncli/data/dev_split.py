"""Dev set held out of the training data: sources or images chosen by a hash, at most 500.

All examples of a chosen source are held out, so no source is in both sets. The choice depends on
the set of sources, not on their order, nor on train.seed: runs of several seeds have one dev set.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable

MOST = 500  # sources, because they are decoded at every evaluation
LEAST = 10  # scores of fewer sources say little
SEED = 1  # of the choice
FEW = 5  # sources of a run that starts from a trained model, which has little data


def held_out(
    sources: Iterable[str],
    share: float,
    *,
    seed: int = SEED,
    few: bool = False,
    most: int = MOST,
) -> frozenset[str]:
    """Return a share of the distinct sources, at most `most`; none if that is fewer than LEAST.

    few: FEW of at least 20 sources are enough, even if that is a larger share.
    """
    if not share:
        return frozenset()
    enough = math.ceil(most / share)  # distinct sources; counting stops there
    distinct: set[int] = set()
    smallest: dict[int, str] = {}  # hash: source
    for source in sources:
        number = _hash(source, seed)
        if not source.strip() or number in smallest:
            continue
        if len(distinct) < enough:
            distinct.add(number)
        smallest[number] = source
        if len(smallest) > most:
            del smallest[max(smallest)]
    count = min(most, int(share * len(distinct)))
    if few and len(distinct) >= 4 * FEW:
        count = max(count, FEW)
    elif count < LEAST:
        return frozenset()
    return frozenset(smallest[number] for number in sorted(smallest)[:count])


def described(count: int, unit: str, option: str = "--dev") -> str:
    """Return the line that names a dev set held out of the training data."""
    return (
        f"dev set: {count:,} {unit} held out of the training data; name another with {option}, "
        "or train on all with -s data.dev_share=0"
    )


def _hash(source: str, seed: int) -> int:
    digest = hashlib.blake2b(f"{seed} {source}".encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big")

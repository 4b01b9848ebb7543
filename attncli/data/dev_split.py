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
    pairs: Iterable[tuple[str, str]],
    share: float,
    *,
    seed: int = SEED,
    few: bool = False,
    most: int = MOST,
) -> dict[str, str]:
    """Return a share of the distinct sources, each with its first target that is not empty.

    They are at most `most`, and none if that is fewer than LEAST. few: FEW of at least 20 sources
    are enough, even if that is a larger share.
    """
    if not share:
        return {}
    enough = math.ceil(most / share)  # distinct sources; counting stops there
    distinct: set[int] = set()
    smallest: dict[int, tuple[str, str]] = {}  # by the hash of the source, in order
    largest = 1 << 64  # hash among them, if these are `most`
    for source, target in pairs:
        number = _hash(source, seed)
        if number > largest or not source.strip():
            continue
        if len(distinct) < enough:
            distinct.add(number)
        if not smallest.get(number, ("", ""))[1].strip():
            smallest[number] = source, target
        if len(smallest) > most:
            del smallest[max(smallest)]
            largest = max(smallest) if len(distinct) >= enough else largest
    count = min(most, int(share * len(distinct)))
    if few and len(distinct) >= 4 * FEW:
        count = max(count, FEW)
    elif count < LEAST:
        return {}
    chosen = {*sorted(smallest)[:count]}
    return dict(pair for number, pair in smallest.items() if number in chosen)


def described(count: int, unit: str, option: str = "--dev") -> str:
    """Return the line that names a dev set held out of the training data."""
    return (
        f"dev set: {count:,} {unit} held out of the training data; name another with {option}, "
        "or train on all with -s data.dev_share=0"
    )


def _hash(source: str, seed: int) -> int:
    digest = hashlib.blake2b(f"{seed} {source}".encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big")

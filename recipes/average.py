"""Write the weighted mean of the weights of models of equal shapes (Wortsman et al. 2022).

    python recipes/average.py MODEL... -o FOLDER [--shares SHARE...] [-s KEY=VALUE]

    W = sum_i share_i W_i / sum_i share_i

A model is a run, a bundle, or a name. The models must have started from the same weights.
Tokenizer, search settings and buffers are those of the first one; `-s beam=2` sets one of search.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch

from models.core.settings import overridden
from models.networks import bundle
from models.storage.installed import find_model


def main() -> None:
    """Parse the command line and write the mean."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--shares", type=float, nargs="+", help="one for each model; default: 1")
    parser.add_argument("-s", "--set", action="append", default=[], help="such as beam=2")
    options = parser.parse_args()
    shares = options.shares or [1.0] * len(options.models)
    if len(shares) != len(options.models):
        parser.error(f"{len(shares)} shares for {len(options.models)} models; give one for each")
    average(options.models, options.output, shares, options.set)


@torch.no_grad()
def average(
    models: Sequence[Path], folder: Path, shares: Sequence[float], search: Sequence[str] = ()
) -> None:
    """Write the mean of models to a folder. search: settings that replace those of the first."""
    first, *others = (bundle.read(find_model(path)) for path in models)
    total = shares[0]
    for other, share in zip(others, shares[1:], strict=True):
        total += share
        pairs = zip(first.model.parameters(), other.model.parameters(), strict=True)
        for mean, further in pairs:
            mean.lerp_(further, share / total)
    folder.mkdir(parents=True, exist_ok=True)
    bundle.save(first._replace(search=overridden(first.search, search)), folder)


if __name__ == "__main__":
    main()

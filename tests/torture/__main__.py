"""Run the campaign and print its table: ``python -m tests.torture [--seed N] [--scale X]``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads that wait spend time of the worker's limit

from tests.torture.campaign import ATTACKS, Campaign
from tests.torture.worker import Result

HEAD = f"{'attack':<36}{'tried':>10}{'failed':>8}{'peak MB':>10}"


def table(results: Iterable[Result]) -> tuple[str, list[str]]:
    """Return the table and the descriptions of the failed cases."""
    found = list(results)
    failed = [case for result in found for case in result.failed]
    return "\n".join([HEAD, *map(row, found)]), failed


def row(result: Result) -> str:
    """Return one row of the table."""
    tried, failed = f"{result.tried:>10,}", f"{len(result.failed):>8}"
    return f"{result.attack:<36}{tried}{failed}{result.peak / 1e6:>10.0f}"


def show(*lines: str) -> None:
    """Print lines at once: the attacks take minutes."""
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


def main() -> int:
    """Run the campaign; the exit status is 1 if a case failed."""
    options = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    options.add_argument("--seed", type=int, default=int(time.time()), help="default: the time")
    options.add_argument("--scale", type=float, default=20.0, help="1: about a minute; default 20")
    options.add_argument(
        "--only", nargs="+", choices=ATTACKS, metavar="ATTACK", help=f"of {', '.join(ATTACKS)}"
    )
    given = options.parse_args()
    show(f"seed {given.seed}, scale {given.scale:g}", HEAD)
    failed = []
    with tempfile.TemporaryDirectory() as place:
        campaign = Campaign(Path(place), given.seed, given.scale)
        for result in campaign.results(given.only or ()):
            failed += result.failed
            show(row(result))
    show(*failed[:50])
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())

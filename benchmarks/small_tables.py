"""Word error rates of small tables of letters and phonemes, trained with the defaults.

    python benchmarks/small_tables.py --tables DIR --work WORK
    python benchmarks/small_tables.py --cmudict DIR/pairs/cmudict.train.tsv.xz --work WORK

DIR has the files of a language of SIGMORPHON 2021, task 1 (Ashby et al. 2021), low resource: as
`ice_train.tsv`, `ice_dev.tsv` and `ice_test.tsv`, lines of a word, a tab and phonemes. A table is
trained by `attn train TABLE --dev DEV` and further settings, given by `-s`. The other call takes
800 words of CMUdict, 100 to choose the weights and 500 to test.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import subprocess
import sys
from pathlib import Path
from statistics import fmean

PARTS = {"train": 800, "dev": 100, "test": 500}  # words of CMUdict


def main() -> None:
    """Train and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tables", type=Path, help="folder of tables LANGUAGE_train.tsv")
    parser.add_argument("--cmudict", type=Path, help="the compressed table of CMUdict")
    parser.add_argument("--work", type=Path, required=True, help="folder to write to")
    parser.add_argument("-s", dest="settings", action="append", default=[], help="as attn train")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    folder = options.tables or drawn(options.cmudict, options.work)
    names = sorted(path.name.removesuffix("_train.tsv") for path in folder.glob("*_train.tsv"))
    print("| table | WER % |\n|---|---:|", flush=True)
    found = []
    for name in names:
        train, dev, test = (folder / f"{name}_{part}.tsv" for part in PARTS)
        run = options.work / name
        settings = [word for one in options.settings for word in ("-s", one)]
        attn("train", str(train), "--dev", str(dev), "-o", str(run), "-q", *settings)
        scores = attn("evaluate", "-q", "--json", "-m", str(run), str(test))
        [system] = json.loads(scores)["systems"]
        found.append(100 - system["scores"]["exact"]["score"])
        print(f"| {name} | {found[-1]:.1f} |", flush=True)
    print(f"| mean | {fmean(found):.1f} |")


def drawn(path: Path, work: Path) -> Path:
    """Return a folder with the three tables of CMUdict."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        rows = list(lines)
    random.Random(11).shuffle(rows)
    start = 0
    for part, count in PARTS.items():
        (work / f"cmu_{part}.tsv").write_text("".join(rows[start : start + count]), "utf-8")
        start += count
    return work


def attn(*words: str) -> str:
    """Return the output of a command of `attn`; exit with its error if it fails."""
    command = [sys.executable, "-m", "attncli", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


if __name__ == "__main__":
    main()

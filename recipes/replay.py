"""Write the replay set of `everyday`, which runs that start from it mix into their data.

    python recipes/replay.py MODEL [--rows 3000]

It has sentence pairs of phrases.tsv.xz in every direction of the model and, for each source, the
model's own output as a further target. The file goes into the folder of the model, with its digest.
"""

from __future__ import annotations

import argparse
import lzma
import random
from pathlib import Path

from attncli.fine_tuning.replay_set import ReplayPair, pack_replay
from models import load
from models.storage.digests import write_files
from models.storage.settings import REPLAY, read_settings

LANGUAGES = ("en", "de", "fr", "es")  # columns of phrases.tsv.xz
LONGEST = 25  # words of a source


def main() -> None:
    """Parse the command line and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--rows", type=int, default=3000, help="rows of phrases.tsv.xz")
    options = parser.parse_args()
    directions = read_settings(options.model)["tokenizer"]["directions"]
    with lzma.open(Path(__file__).with_name("phrases.tsv.xz"), "rt", encoding="utf-8") as table:
        rows = [tuple(line.rstrip("\n").split("\t")) for line in table]
    fitting = [row for row in rows if len(row[0].split()) <= LONGEST]
    chosen = random.Random(1).sample(fitting, options.rows)
    translator = load(options.model, "translate")
    pairs: list[ReplayPair] = []
    for number, direction in enumerate(directions):
        source, target = (LANGUAGES.index(code) for code in direction.split("-"))
        part = [(row[source], row[target]) for row in chosen[number :: len(directions)]]
        way = translator.for_direction(LANGUAGES[target], LANGUAGES[source])
        outputs = [result.text for result in way.translate([text for text, _ in part])]
        for (text, reference), output in zip(part, outputs, strict=True):
            targets = dict.fromkeys((reference, output))
            pairs += [ReplayPair(direction, text, each) for each in targets]
    packed = pack_replay(pairs)
    write_files(options.model, {REPLAY: packed})
    print(f"{len(pairs):,} pairs, {len(packed):,} bytes")


if __name__ == "__main__":
    main()

"""Word alignment learned from the gold sentences alone, for languages without a parallel text.

    python benchmarks/alignment_small.py --data DIR

DIR holds `roen.dev`, `zhen.dev`, `jaen.dev` and `enfr.dev`, each as .src-tgt and .gold (from
awesome-align). Rows: the diagonal; the links of the statistical models; the links of their
probabilities by the threshold with the best expected F, as a bundle of `attn align train` extracts
them. Nothing is chosen on gold. There is no attention, because a hundred pairs train no translator.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from attncli.data.alignments.links import read_links
from attncli.render.columns import columns
from attncli.scoring.alignments import score_alignments
from models.alignment import Links, diagonal
from models.alignment.expected import best_threshold
from models.alignment.joint_hmm import trained
from models.alignment.links import extract
from models.alignment.statistical import link_probabilities
from models.config.tables import AlignConfig

SETS = ("roen", "zhen", "jaen", "enfr")


def main() -> None:
    """Print a table of the alignment error rate of each set, in percent."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the gold alignments")
    folder = parser.parse_args().data
    rows = [["", "pairs", "diagonal", "statistical links", "probabilities", "threshold"]]
    for name in SETS:
        rows.append([name, *scores(folder / f"{name}.dev")])
    print(columns(rows))


def scores(path: Path) -> list[str]:
    """Return the number of pairs, the error rates and the threshold of one set."""
    text = path.with_name(f"{path.name}.src-tgt").read_text("utf-8")
    pairs = [(a.strip(), b.strip()) for a, _, b in (r.partition("|||") for r in text.splitlines())]
    words = [(source.split(), target.split()) for source, target in pairs]
    lengths = [(len(source), len(target)) for source, target in words]
    gold = read_links(path.with_name(f"{path.name}.gold"), lengths, index="1").rows
    joint = trained(pairs)
    tables = [table for table in link_probabilities(joint.tables(), words) if table is not None]
    threshold = best_threshold(tables).threshold
    config = AlignConfig(extract="threshold", threshold=threshold)
    found: dict[str, list[Links]] = {
        "diagonal": [frozenset(diagonal(*size)) for size in lengths],
        "links": joint.links(len(pairs)),
        "probabilities": [extract(table, table[:, 0] * 0, config) for table in tables],
    }
    rates = [score_alignments(name, links, gold).error_rate for name, links in found.items()]
    return [str(len(pairs)), *(f"{100 * rate:.1f}" for rate in rates), f"{threshold:.2f}"]


if __name__ == "__main__":
    main()

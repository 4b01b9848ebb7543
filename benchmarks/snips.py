"""Intents of SNIPS by a Bi-LSTM with attention: accuracy on a tenth of the texts, set aside.

    python benchmarks/snips.py --data DIR/pairs --work WORK [--preset NAME] [SETTING=VALUE ...]

DIR/pairs holds `snips.train.tsv.xz`: intent, tab, text. A tenth of the texts, sampled by the seed,
is written to test.tsv and not used before the end; `attn train` sets a tenth of the others aside as
dev set. `attn evaluate labels` then scores test.tsv once.
"""

from __future__ import annotations

import argparse
import lzma
import random
import subprocess
import sys
from pathlib import Path

SEED = 1
RECIPE = ("train.batch_tokens=1024", "train.epochs=10")


def main() -> None:
    """Split the texts, train, and print the scores."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--preset", default="bilstm-attention-small")
    parser.add_argument("--threads", default="1")
    parser.add_argument("settings", nargs="*", help="such as model.pooling=mean")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    split(options.data / "snips.train.tsv.xz", options.work)
    run = options.work / "-".join([options.preset, *options.settings]).replace("=", "-")
    chosen = [word for setting in (*RECIPE, *options.settings) for word in ("-s", setting)]
    files = ["--labels", str(options.work / "train.tsv"), "-o", str(run)]
    attn("train", "-p", options.preset, *files, *chosen, "--threads", options.threads)
    attn("evaluate", "labels", str(options.work / "test.tsv"), "-m", str(run))


def split(source: Path, work: Path) -> None:
    """Write train.tsv and test.tsv; no text is in both."""
    with lzma.open(source, "rt", encoding="utf-8") as lines:
        pairs = [line.rstrip("\n").split("\t")[:2] for line in lines]
    texts = sorted({text for _, text in pairs})
    held = set(random.Random(SEED).sample(texts, len(texts) // 10))
    for name, wanted in (("train", False), ("test", True)):
        kept = [f"{label}\t{text}\n" for label, text in pairs if (text in held) == wanted]
        (work / f"{name}.tsv").write_text("".join(kept), "utf-8")
        print(f"{name}.tsv: {len(kept):,} texts")


def attn(*words: str) -> None:
    """Run an attn command; exit if it fails."""
    subprocess.run([sys.executable, "-m", "attncli", *words], check=True)


if __name__ == "__main__":
    main()

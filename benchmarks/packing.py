"""Print the size of a text model, and its BLEU, with weights in fp32, fp16 and int8.

    python benchmarks/packing.py runs/en-de test.tsv

Options after the files are passed to `attn evaluate`, for example --to de.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import get_args

from attncli.jobs.installed import Packing, pack
from attncli.render.columns import columns, size
from models.storage.settings import Precision


def main() -> None:
    """Pack the model in each precision and score it."""
    model, *options = sys.argv[1:]
    rows = [["weights", "size", "BLEU"]]
    with tempfile.TemporaryDirectory() as folder:
        for precision in get_args(Precision):
            packed = pack(Path(model), Path(folder) / precision, Packing(precision))
            rows.append([precision, size(packed.after), f"{bleu(packed.path, options):.2f}"])
    print(columns(rows), end="")


def bleu(folder: Path, options: list[str]) -> float:
    """Return the BLEU of a model, as `attn evaluate` computes it."""
    command = [sys.executable, "-m", "attncli", "evaluate", "-m", str(folder), "--json", *options]
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(ended.stdout)["systems"][0]["scores"]["BLEU"]["score"])


if __name__ == "__main__":
    main()

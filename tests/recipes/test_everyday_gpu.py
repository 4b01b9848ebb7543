"""recipes/everyday_gpu.sh runs to its end in its small form, on made-up data, part by part."""

from __future__ import annotations

import lzma
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from attncli.data.embedded import generate

ROOT = Path(__file__).parents[2]
AGAIN = 75  # exit status of a call that leaves parts to do


def write(path: Path, rows: list[tuple[str, ...]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join("\t".join(row) + "\n" for row in rows).encode()
    path.write_bytes(lzma.compress(text) if path.suffix == ".xz" else text)


def write_data(data: Path) -> None:
    """Write the files that everyday_data.py reads; every language is that of the grammar."""
    pairs = [(p.source, p.target) for p in generate(900)]
    pairs = [(f"Anna {number} {a}", f"Anna {number} {b}") for number, (a, b) in enumerate(pairs)]
    words = [(f"wor{letter}", f"Wort{letter}", "noun", "wiktionary", "1") for letter in "abc"]
    for long, short in (("deu", "de"), ("fra", "fr"), ("spa", "es")):
        write(data / "tatoeba" / f"eng-{long}.train.tsv.xz", [*pairs[:220]])
        write(data / "tatoeba" / f"eng-{long}.dev.tsv", [*pairs[220:300]])
        write(data / "tatoeba" / f"eng-{long}.test.tsv", [*pairs[300:305]])
        write(data / "longer" / f"news.en-{short}.tsv.xz", [*pairs[305:]])
        write(data / "text" / f"commonvoice.{short}.txt.xz", [(b,) for _, b in pairs[:12]])
        write(data / "words" / f"en-{short}.tsv.xz", [*words])
    kinds = ("day", "month", "city", "country")
    names = [(f"{kind}{n}",) * 4 + (kind,) for kind in kinds for n in range(3)]
    write(data / "words" / "names.tsv.xz", [*names])


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_small_form_writes_a_model(tmp_path: Path) -> None:
    write_data(tmp_path / "data")
    paths = [str(tmp_path / name) for name in ("data", "work")]
    statuses: list[int] = []
    while len(statuses) < 20:
        seconds = "2" if len(statuses) == 1 else "540"  # the first training is interrupted
        done = subprocess.run(
            [str(ROOT / "recipes/everyday_gpu.sh"), *paths, "small"],
            env={
                **os.environ,
                "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
                "PYTHONPATH": str(ROOT),
                "OMP_NUM_THREADS": "1",
                "SECONDS_A_PART": seconds,
            },
            capture_output=True,
            text=True,
        )
        statuses.append(done.returncode)
        if done.returncode != AGAIN:
            break
    assert statuses[-1] == 0 and statuses.count(AGAIN) >= 9, done.stderr
    with zipfile.ZipFile(tmp_path / "work/everyday.zip") as archive:
        assert any(name.endswith("model.safetensors") for name in archive.namelist())

"""Every family trains, is evaluated, saved, resumed and used on a device of its own.

A process of its own, because the pretended device changes torch.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from models.core.registry import names

ROOT = Path(__file__).parents[2]


def test_every_family_and_score_stays_on_its_device(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.pretended.program", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = re.fullmatch(r"(\d+) parts, 0 mixes", done.stdout.splitlines()[-1])
    assert found and int(found[1]) > len(names("score")) + len(names("pooling"))

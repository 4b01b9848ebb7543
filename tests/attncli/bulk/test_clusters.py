"""Ray and Spark write what the local engine writes; each test needs its package."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from attncli.bulk.engines import ENGINES
from attncli.embedded.grammar import generate
from attncli.shell import app

PACKAGES = {"ray": "ray", "spark": "pyspark"}
CLUSTERS = [name for name in ENGINES if name in PACKAGES]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("engine", CLUSTERS)
def test_a_cluster_writes_what_one_process_writes(
    engine: str, tiny_bundle: Path, tmp_path: Path
) -> None:
    pytest.importorskip(PACKAGES[engine])
    source, one, out = tmp_path / "in", tmp_path / "one", tmp_path / "out"
    lines = [pair.source.encode() for pair in generate(40)]
    lines[7], lines[9] = b"", b"\xff"
    source.write_bytes(b"\n".join(lines))
    assert app.run(["translate", "-m", str(tiny_bundle), "-i", str(source), "-o", str(one)]) == 1
    words = ["-m", str(tiny_bundle), str(source), str(out), "--shard", "7", "--processes", "2"]
    command = [sys.executable, "-m", "attncli", "bulk", "translate", *words, "--engine", engine]
    assert subprocess.run(command).returncode == 1
    assert out.read_bytes() == one.read_bytes()
    bad = subprocess.run([*command, "--to", "de"], capture_output=True, text=True)
    assert bad.returncode == 1 and "attn: " in bad.stderr and "Traceback" not in bad.stderr


@pytest.mark.parametrize("engine", CLUSTERS)
def test_a_missing_package_is_one_line(
    engine: str, tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if importlib.util.find_spec(PACKAGES[engine]):
        pytest.skip("the package is installed")
    (tmp_path / "in").write_text("A dog.\n")
    words = ["-m", str(tiny_bundle), str(tmp_path / "in"), str(tmp_path / "out")]
    assert app.run(["bulk", "translate", *words, "--engine", engine]) == 1
    assert f"pip install 'attn[{engine}]'" in capsys.readouterr().err

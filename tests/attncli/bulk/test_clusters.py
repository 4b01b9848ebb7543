"""Ray writes what one process writes."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from attncli.data.embedded import generate
from attncli.shell import app


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_cluster_writes_what_one_process_writes(tiny_bundle: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    source, one, out = tmp_path / "in", tmp_path / "one", tmp_path / "out"
    lines = [pair.source.encode() for pair in generate(40)]
    lines[7], lines[9] = b"", b"\xff"
    source.write_bytes(b"\n".join(lines))
    assert app.run(["translate", "-m", str(tiny_bundle), "-i", str(source), "-o", str(one)]) == 1
    words = [str(source), str(out), "--shard", "7", "--processes", "2"]
    task = ["--", "translate", "-m", str(tiny_bundle)]
    command = [sys.executable, "-m", "attncli", "bulk", *words, *task]
    assert subprocess.run(command).returncode == 1
    assert out.read_bytes() == one.read_bytes()
    bad = subprocess.run([*command, "--to", "de"], capture_output=True, text=True)
    assert bad.returncode == 1 and "attn: " in bad.stderr and "Traceback" not in bad.stderr


def test_a_missing_package_is_one_line(
    tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if importlib.util.find_spec("ray"):
        pytest.skip("the package is installed")
    (tmp_path / "in").write_text("A dog.\n")
    words = [str(tmp_path / "in"), str(tmp_path / "out")]
    assert app.run(["bulk", *words, "--", "translate", "-m", str(tiny_bundle)]) == 1
    assert "pip install -e '.[ray]'" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in"]

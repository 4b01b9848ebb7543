"""README's "Add your own" section does what it says, and other packages can add to the zoo."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from models import registry
from models.attention.base import Attention
from models.config import AttentionConfig

ROOT = Path(__file__).parents[2]
SECTION = "## Add your own\n"
TESTS = "tests/models/attention"
MODULE = '''
from models.attention.dot import Dot

class Half(Dot):
    """Half: half the product.

    score(s, h) = s^T h / 2
    Source: nobody 1900.
    """

    def forward(self, query, keys):
        return super().forward(query, keys) / 2
'''


@pytest.fixture
def other_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package that registers a score, and one under a name of the zoo."""
    info = tmp_path / "halves-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: halves\nVersion: 1\n")
    points = "[attn.score]\nhalf = halves:Half\ndot = halves:Half\n"
    (info / "entry_points.txt").write_text(points)
    (tmp_path / "halves.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    registry.installed.cache_clear()
    yield
    registry.installed.cache_clear()


@pytest.mark.usefixtures("other_package")
def test_another_package_adds_a_score_by_its_entry_point() -> None:
    assert registry.names("score").count("half") == 1
    attention = Attention(4, 4, AttentionConfig(score="half"))
    assert type(attention.score).__name__ == "Half"
    described = registry.describe("score", "half")
    assert (described.summary, described.source) == ("Half: half the product.", "nobody 1900")


@pytest.mark.usefixtures("other_package")
def test_the_zoos_own_names_go_before_those_of_other_packages() -> None:
    assert registry.names("score").count("dot") == 1
    assert registry.location("score", "dot")[0] == "models.attention.dot"


def test_the_readmes_section_works_as_written(tmp_path: Path) -> None:
    _, found, rest = (ROOT / "README.md").read_text("utf-8").partition(SECTION)
    if not found:
        pytest.skip("README has no such section yet")
    section = rest.partition("\n## ")[0]
    assert section.count("\n") < 40
    file, line, formula = re.findall(r"```python\n(.*?)```", section, flags=re.S)
    for part in ("models", "attncli", "tests"):
        shutil.copytree(ROOT / part, tmp_path / part)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "models/attention/distance.py").write_text(file)
    inserted(tmp_path / "models/registry.py", '    "score": {\n', line)
    inserted(tmp_path / "tests/models/attention/formulas.py", "dict[str, Formula] = {\n", formula)
    chosen = "distance and (formula or alone or padded)"
    tests = [
        f"tests/models/attention/test_{name}.py" for name in ("attention", "scores", "contract")
    ]
    output = run(tmp_path, "-m", "pytest", "-p", "no:cacheprovider", "-k", chosen, *tests)
    assert re.search(r"\n1[0-9] passed", output), output
    assert "-|s - h|^2" in run(tmp_path, "-m", "attncli", "models", "show", "distance")


def inserted(path: Path, after: str, text: str) -> None:
    content = path.read_text()
    assert content.count(after) == 1
    path.write_text(content.replace(after, after + text))


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

"""Other packages can add to the zoo by entry points."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from models import registry
from models.attention.base import Attention
from models.config import AttentionConfig

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
    """Return an installed package that registers a score, and one under a name of the zoo."""
    info = tmp_path / "halves-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: halves\nVersion: 1\n")
    points = "[attn.score]\nhalf = halves:Half\ndot = halves:Half\n"
    (info / "entry_points.txt").write_text(points)
    (tmp_path / "halves.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    registry.package_names.cache_clear()
    yield
    registry.package_names.cache_clear()


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

"""Other packages can add to the zoo by entry points."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from models import load
from models.attention.base import Attention
from models.base import registry
from models.base.errors import ConfigurationError, ModelError
from models.config import AttentionConfig

MODULE = '''
from models.attention.scores import Dot

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
    monkeypatch.setenv("ATTN_PACKAGES", "other, Halves")
    monkeypatch.delitem(sys.modules, "halves", raising=False)
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
    assert registry.location("score", "dot")[0] == "models.attention.scores"


@pytest.mark.usefixtures("other_package")
@pytest.mark.parametrize("enabled", ["", "other", "halve"])
def test_a_package_that_the_user_does_not_name_is_never_imported(
    enabled: str, tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTN_PACKAGES", enabled)
    registry.package_names.cache_clear()
    assert "half" not in registry.names("score")
    folder = Path(shutil.copytree(tiny_bundle, tmp_path / "bundle"))
    (folder / "SHA256SUMS").unlink()
    settings = json.loads((folder / "config.json").read_text())
    settings["model"]["attention"]["score"] = "half"
    (folder / "config.json").write_text(json.dumps(settings))
    with pytest.raises(ModelError, match="set ATTN_PACKAGES=halves if you trust"):
        load(folder)
    with pytest.raises(ConfigurationError, match="score 'half' of a package that is not enabled"):
        registry.find("score", "half")
    assert "halves" not in sys.modules


@pytest.mark.usefixtures("other_package")
@pytest.mark.parametrize("place", ["halves:Nothing", "nowhere:Half", "no.where:Half"])
def test_an_entry_point_without_its_class_is_reported_in_one_line(
    place: str, tmp_path: Path
) -> None:
    points = tmp_path / "halves-1.dist-info" / "entry_points.txt"
    points.write_text(f"[attn.score]\nhalf = {place}\n")
    for use in (registry.describe, registry.find):
        with pytest.raises(ConfigurationError, match=f"expected the registered class {place}"):
            use("score", "half")

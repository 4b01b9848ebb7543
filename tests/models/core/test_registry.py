"""Every registered name leads to a class that explains itself, also names of other packages."""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from models import load
from models.attention.base import Attention
from models.core import registry
from models.core.attention_config import AttentionConfig
from models.core.errors import ConfigurationError, ModelError
from models.core.registry import TABLES, config_of, describe, find, location, names, source_name
from models.core.sources import check_source, find_source, source_of

ENTRIES = [(kind, name) for kind in TABLES for name in names(kind)]
UNSOURCED: set[tuple[str, str]] = set()  # variants that come from no paper


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_a_name_leads_to_a_class_that_explains_itself(kind: str, name: str) -> None:
    variant, description = find(kind, name), describe(kind, name)
    assert inspect.isclass(variant) and description.name == name
    summary, _, detail = inspect.cleandoc(variant.__doc__ or "").partition("\n")
    assert description.summary == summary.strip() and description.detail == detail.strip()
    assert summary.endswith(".") and len(summary) < 90
    assert description.source or (kind, name) in UNSOURCED
    assert not description.source or any(char.isdigit() for char in description.source)  # a year


@pytest.mark.parametrize("kind", TABLES)
def test_an_unknown_name_is_refused_in_one_line_with_near_ones(kind: str) -> None:
    known = names(kind)[-1]
    for lookup in (location, find, describe):
        with pytest.raises(ModelError, match=f"unknown {kind}") as refused:
            lookup(kind, known + "x")
        message = str(refused.value)
        assert f"did you mean {known}" in message and "\n" not in message


def test_no_class_has_two_names() -> None:
    places = [location(kind, name) for kind, name in ENTRIES]
    assert len(set(places)) == len(places)


def test_looking_at_the_zoo_imports_no_torch() -> None:
    code = """
import sys
import models, models.core.config, models.core.errors, models.core.registry
import models.text.tokenizer, models.core.types
import models.core.files, models.storage.presets
for preset in models.list_models():
    models.info(preset)
for kind in models.core.registry.TABLES:
    for name in models.core.registry.names(kind):
        models.core.registry.describe(kind, name)
print(sorted({"torch", "numpy", "sentencepiece", "safetensors"} & set(sys.modules)))
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


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
    attention = Attention(4, 4, AttentionConfig.of(score="half"))
    assert type(attention.score).__name__ == "Half"
    described = registry.describe("score", "half")
    assert (described.summary, described.source) == ("Half: half the product.", "nobody 1900")


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


@pytest.mark.parametrize("family", names("family"))
def test_the_source_of_a_family_is_the_one_its_config_states(family: str) -> None:
    assert source_name(family) == config_of("family", family).source
    assert source_of(family) is find_source(source_name(family))


def test_a_model_of_another_kind_is_refused_with_the_command_for_it() -> None:
    check_source("captioner", "image")
    with pytest.raises(ModelError, match="captions images.*translates texts.*attn caption"):
        check_source("captioner", "text")
    with pytest.raises(ModelError, match="unknown family"):
        source_of("no-such-family")

"""Models in CTranslate2's format: folders, Argos packages, and one that others trained."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest
import torch

pytest.importorskip("ctranslate2")

from models import load
from models.core.errors import ModelError
from models.engines.ctranslate2_export import export
from models.importers.base import import_model

SENTENCES = ["The dog sees the cat.", "A woman reads.", "Maria laughed at our beach."]


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_an_exported_model_comes_back_as_it_was(
    tiny_bundle: Path, tmp_path: Path, precision: str
) -> None:
    there, back = tmp_path / "there", tmp_path / "back"
    export(tiny_bundle, there, precision)  # type: ignore[arg-type]
    (there / "tokenizer.model").rename(there / "sentencepiece.model")
    back.mkdir()
    import_model(there, back, name="tiny")
    one, other = load(tiny_bundle, "translate"), load(back, "translate")
    search = one.search
    if precision == "fp32":
        ours, theirs = one.model.state_dict(), other.model.state_dict()
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    found = [model.translate(SENTENCES, search=search) for model in (one, other)]
    pairs = [(a, b) for a, b in zip(*found, strict=True) if a.text == b.text]
    # rounded weights may decide a near tie of a tiny model otherwise
    assert len(pairs) >= len(SENTENCES) - (precision == "int8")
    for a, b in pairs:
        assert a.hypotheses[0].score == pytest.approx(
            b.hypotheses[0].score, abs=1e-5 if precision == "fp32" else 0.05
        )


def test_an_argos_package_is_read_with_its_languages(tiny_bundle: Path, tmp_path: Path) -> None:
    export(tiny_bundle, tmp_path / "model", "fp32")
    settings = json.loads((tmp_path / "model" / "config.json").read_text())
    settings["add_source_eos"] = False
    (tmp_path / "model" / "config.json").write_text(json.dumps(settings))
    package = tmp_path / "translate-en_de.argosmodel"
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in (tmp_path / "model").iterdir():
            if path.suffix != ".model":
                archive.write(path, f"en_de/model/{path.name}")
        archive.write(tiny_bundle / "tokenizer.model", "en_de/sentencepiece.model")
        archive.writestr("en_de/metadata.json", json.dumps({"from_code": "en", "to_code": "de"}))
    (tmp_path / "back").mkdir()
    import_model(package, tmp_path / "back", name="en-de")
    about = json.loads((tmp_path / "back" / "config.json").read_text())["about"]
    assert about["languages"] == ["en", "de"]
    ids = load(tmp_path / "back", "translate").encode(SENTENCES[0])
    assert ids == load(tiny_bundle, "translate").encode(SENTENCES[0])[:-1]  # no end mark


def test_an_archive_cannot_write_outside(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr("../evil", "x")
    (tmp_path / "back").mkdir()
    with pytest.raises(ModelError, match="evil"):
        import_model(tmp_path / "evil.zip", tmp_path / "back", name="evil")
    assert not (tmp_path.parent / "evil").exists()


def test_what_is_not_known_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "t5").mkdir()
    (tmp_path / "t5" / "config.json").write_text('{"model_type": "t5"}')
    (tmp_path / "back").mkdir()
    with pytest.raises(ModelError, match="t5.*marian") as refused:
        import_model(tmp_path / "t5", tmp_path / "back", name="t5")
    assert "\n" not in str(refused.value)
    shutil.rmtree(tmp_path / "t5")

"""A model in use searches as its training was judged, but for what the command line says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from attncli.shell import app
from models import load_captioner, load_translator
from models.bundle import read, save
from models.config.tables import SearchConfig
from models.images.opening import open_image


def shown(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert app.run([*map(str, arguments), "--threads", "1"]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_translations_are_searched_for_as_the_bundle_says(
    tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle, folder = read(tiny_bundle), tmp_path / "model"
    folder.mkdir()
    short = SearchConfig(beam=2, max_ratio=0, max_extra=3)
    save(bundle._replace(search=short), folder)
    line, translator = "The old dog sees a small house.", load_translator(folder)
    [own], [other] = (
        translator.translate([line], search=search)
        for search in (None, replace(short, max_extra=9))
    )
    assert len(own.hypotheses[0].ids) <= 2 < len(other.hypotheses[0].ids)
    assert shown(capsys, "translate", "-m", folder, line) == f"{own.text}\n"
    assert (
        shown(capsys, "translate", "-m", folder, "-s", "search.max_extra=9", line)
        == f"{other.text}\n"
    )

    test = tmp_path / "test.tsv"
    test.write_text(f"{line}\tDer alte Hund sieht ein kleines Haus.\n", "utf-8")
    shown(capsys, "evaluate", "-m", folder, "--save", tmp_path / "out", test)
    assert (tmp_path / "out").read_text("utf-8") == f"{own.text}\n"


def test_captions_are_searched_for_as_the_bundle_says(
    soft_captioner: Path, photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle, folder = read(soft_captioner), tmp_path / "model"
    folder.mkdir()
    save(bundle._replace(search=SearchConfig(beam=2, max_caption=4)), folder)
    image = next(photos.glob("*.png"))
    [own] = load_captioner(folder).caption([open_image(image)])
    longer = shown(capsys, "caption", "-m", folder, "-s", "search.max_caption=12", image)
    assert shown(capsys, "caption", "-m", folder, image) == f"{own.text}\n" != longer
    assert len(longer) > len(own.text)

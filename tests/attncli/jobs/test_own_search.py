"""A model searches by its saved settings; the command line changes them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from attncli.shell import app
from models import load_translator
from models.bundle import read, save
from models.config.tables import SearchConfig


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

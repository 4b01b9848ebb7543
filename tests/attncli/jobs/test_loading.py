"""Names of opened models; a model searches by its saved settings, or those of the command."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from attncli.jobs.loading import model_names
from models import load_translator
from models.core.use_config import VERBATIM, SearchConfig
from models.networks.bundle import read, save
from tests.attncli.command_line import Attn

LIMITED, FREE = {"licence": "CC BY-NC 4.0"}, {"licence": "CC BY 4.0"}


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (["runs/en-de"], ["en-de"]),
        (["runs/en-de", "runs/rnn"], ["en-de", "rnn"]),
        (["x/none/seed-1", "x/dot/seed-1"], ["none", "dot"]),
        (["x/none/seed-1"], ["none"]),
        (["x/none/seed-1", "x/dot/seed-2"], ["none, seed 1", "dot, seed 2"]),
        (["x/none/seed-1", "x/none/seed-2"], ["none, seed 1", "none, seed 2"]),
        (
            ["x/none/seed-1", "x/dot/seed-1", "x/dot/seed-2"],
            ["none, seed 1", "dot, seed 1", "dot, seed 2"],
        ),
        (["x/a", "x/a"], ["x/a", "x/a"]),
        (["x/a", "x/b/x/a"], ["x/a", "x/b/x/a"]),
    ],
)
def test_models_are_named_by_the_parts_of_their_paths_that_differ(
    folders: list[str], names: list[str]
) -> None:
    assert model_names([Path(folder) for folder in folders]) == names


def test_a_model_searches_by_its_saved_settings(
    tiny_bundle: Path, tmp_path: Path, attn: Attn
) -> None:
    bundle, folder = read(tiny_bundle), tmp_path / "model"
    folder.mkdir()
    short = SearchConfig(beam=2, max_ratio=0, max_extra=3)
    save(bundle._replace(search=short, prepare=VERBATIM), folder)
    line, translator = "The old dog sees a small house.", load_translator(folder)
    [own] = translator.translate([line])
    [other] = translator.translate([line], search=replace(short, max_extra=9))
    assert len(own.hypotheses[0].ids) <= 2 < len(other.hypotheses[0].ids)
    words = ["translate", "-m", str(folder), "--threads", "1", line]
    assert attn(*words).out == f"{own.text}\n"
    assert attn(*words, "-s", "search.max_extra=9").out == f"{other.text}\n"

    test, out = tmp_path / "test.tsv", tmp_path / "out"
    test.write_text(f"{line}\tDer alte Hund sieht ein kleines Haus.\n", "utf-8")
    attn("evaluate", "-m", folder, "--save", out, test)
    assert out.read_text("utf-8") == f"{own.text}\n"

    greedy = replace(short, method="greedy", max_extra=9)
    save(bundle._replace(search=greedy, prepare=VERBATIM), folder)
    assert len(attn(*words, "-b", "4", "-n", "4").out.splitlines()) == 4


def test_a_licence_that_limits_the_use_is_named_once_for_each_model(
    tiny_bundle: Path, tmp_path: Path, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    save(read(tiny_bundle), Path(shutil.copytree(tiny_bundle, tmp_path / "limited")), about=LIMITED)
    words = ["translate", "-m", tmp_path / "limited", "A dog."]
    assert "limited is not for commercial use (licence: CC BY-NC 4.0)" in attn(*words).err
    assert "commercial" not in attn(*words).err
    save(read(tiny_bundle), Path(shutil.copytree(tiny_bundle, tmp_path / "free")), about=FREE)
    assert "commercial" not in attn("translate", "-m", tmp_path / "free", "A dog.").err

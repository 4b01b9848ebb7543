"""``attn models shortlist`` makes what ``attn translate --shortlist`` uses."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from attncli.embedded.grammar import Pair
from attncli.shell.app import run
from models import load_translator
from models.catalogue import installed
from models.storage.settings import SHORTLIST
from models.text.tokenizer import train
from tests.models.text.test_languages import CONFIG, multilingual


@pytest.fixture
def model(tiny_bundle: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny bundle."""
    return Path(shutil.copytree(tiny_bundle, tmp_path / "model"))


@pytest.fixture
def texts(tiny_pairs: list[Pair], tmp_path: Path) -> tuple[str, str]:
    """Return the files of the training text."""
    for name in ("source", "target"):
        lines = [f"{getattr(pair, name)}\n" for pair in tiny_pairs]
        (tmp_path / name).write_text("".join(lines), "utf-8")
    return str(tmp_path / "source"), str(tmp_path / "target")


def test_a_shortlist_is_made_and_used(
    model: Path, texts: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "shortlist", str(model), *texts, "--per-token", "5"]) == 0
    assert SHORTLIST in capfd.readouterr().err
    translate = ["translate", "-m", str(model), "-i", texts[0], "--engine", "torch", "-o"]
    assert run([*translate, str(tmp_path / "whole")]) == 0
    assert run([*translate, str(tmp_path / "listed"), "--shortlist"]) == 0
    whole, listed = ((tmp_path / name).read_text("utf-8") for name in ("whole", "listed"))
    lines = zip(whole.splitlines(), listed.splitlines(), strict=True)
    assert sum(one != other for one, other in lines) < 24  # of 240; most tokens are listed
    assert run(["models", "verify", str(model)]) == 0
    assert run(["models", "show", str(model)]) == 0
    at_most = load_translator(model).shortlists[""].rows.shape[1]
    assert f"common target tokens and at most {at_most} for each source" in capfd.readouterr().out
    (model / SHORTLIST).write_bytes(b"no")
    assert run(["models", "show", str(model)]) == 1
    assert "shortlist.safetensors is damaged" in capfd.readouterr().err
    assert run(["models", "shortlist", str(model), *texts]) == 1
    (model / SHORTLIST).unlink()
    assert run(["models", "shortlist", str(model), *texts]) == 0
    capfd.readouterr()
    packed = str(tmp_path / "packed.zip")
    assert run(["models", "pack", str(model), packed, "--weights", "fp32"]) == 0
    assert SHORTLIST in zipfile.ZipFile(packed).namelist()
    assert run(["evaluate", "-m", str(model), *texts, "--shortlist"]) == 0


@pytest.mark.parametrize("command", ["models shortlist", "align tune -m"])
def test_a_shipped_model_is_not_changed(
    command: str,
    model: Path,
    texts: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(installed, "BOX", model.parent)
    before = sorted((path.name, path.read_bytes()) for path in model.iterdir())
    assert run([*command.split(), str(model), *texts]) == 1
    said = capfd.readouterr().err
    assert "model is shipped with attn; expected a model of your own; copy it: " in said
    assert f"cp -r {model} runs/" in said
    assert sorted((path.name, path.read_bytes()) for path in model.iterdir()) == before


def test_few_tokens_change_the_outputs(model: Path, texts: tuple[str, str], tmp_path: Path) -> None:
    lists = ["--common", "4", "--per-token", "1"]
    assert run(["models", "shortlist", str(model), *texts, *lists]) == 0
    shortlist = load_translator(model).shortlists[""]
    assert len(shortlist.common) == 4 and shortlist.rows.shape[1] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "torch"], "make it with `attn models shortlist`"),
        ([], "make it with `attn models shortlist`"),
        (["--engine", "ctranslate2"], "--engine ctranslate2 with --shortlist"),
        (["--precision", "int8"], "--precision int8 with --shortlist"),
    ],
)
def test_a_model_without_a_shortlist_is_refused_in_one_line(
    options: list[str], message: str, model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["translate", "-m", str(model), "--shortlist", *options, "A dog."]) == 1
    [line] = capfd.readouterr().err.splitlines()
    assert message in line


def test_an_ensemble_is_refused_in_one_line(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    both = ["-m", str(model), "-m", str(model)]
    assert run(["translate", *both, "--shortlist", "A dog."]) == 1
    assert "several models" in capfd.readouterr().err.splitlines()[-1]


def test_each_target_language_has_its_own_shortlist(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = [f"the dog {n} sees a house" for n in range(60)]
    (tmp_path / "multi").mkdir()
    bundle = multilingual(train(lines, lines, 400, CONFIG), tmp_path / "multi")
    (tmp_path / "some.tsv").write_text("the dog\tder Hund\n", "utf-8")
    make = ["models", "shortlist", str(bundle), str(tmp_path / "some.tsv")]
    assert run(make) == 1  # no --to
    languages = load_translator(bundle).languages[:2]
    for language in languages:
        assert run([*make, "--to", language]) == 0
    translator = load_translator(bundle)
    assert sorted(translator.shortlists) == sorted(languages)
    capfd.readouterr()
    last = load_translator(bundle).languages[-1]
    assert run(["translate", "-m", str(bundle), "--to", last, "--shortlist", "the dog"]) == 1
    assert f"for target language {last}" in capfd.readouterr().err
    search = translator.search.__class__(shortlist=True, beam=2)
    texts, to = ["the dog", "a house", "dog 7"], [languages[0], languages[1], languages[0]]
    found = translator.translate(texts, to=to, search=search)
    alone = [
        translator.translate([text], to=language, search=search)[0]
        for text, language in zip(texts, to, strict=True)
    ]
    assert [one.text for one in found] == [one.text for one in alone]

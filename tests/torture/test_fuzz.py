"""Damaged models: a status of 0, 1 or 2, and at most one line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("transformers")
pytest.importorskip("ctranslate2")

from attncli.shell import app
from models.engines.ctranslate2_export import export
from models.storage.installed import BOX, user_folder
from tests.models.importers import published
from tests.torture.mutate import damage
from tests.torture.worker import Workers

CASES = 2000
NATIVE = BOX / "grammar-en-de"
COMMANDS = (["models", "verify"], ["models", "show"], ["models", "add", "--name", "z"])
PUBLISHED: dict[str, Callable[[Path], object]] = {
    "marian": lambda folder: published.marian(folder, learns=False),
    "two": lambda folder: published.marian(folder, separate=True, learns=False),
    "m2m100": published.m2m100,
    "nllb": lambda folder: published.m2m100(folder, "nllb", ("eng_Latn", "deu_Latn")),
    "blip": published.blip,
    "vit": published.vit_gpt2,
    "hub": lambda folder: published.whisper(folder, steps=1),
    "ctranslate2": lambda folder: export(NATIVE, folder, "fp32"),
    "native": lambda folder: shutil.copytree(NATIVE, folder),
}


def run(arguments: list[str], log: Path) -> None:
    """Run a command in a worker, whose stderr is a log; fail for a traceback or several lines."""
    status = app.run(arguments)
    said = [line for line in log.read_text().splitlines() if line and "converting" not in line]
    assert status in (0, 1, 2) and (not status or len(said) == 1), said[-1:]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_damaged_files_give_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name, write in PUBLISHED.items():
        write(tmp_path / "good" / name)
    names = sorted({*PUBLISHED, *published.spoken_forms(tmp_path / "good")})
    for name in names:  # so that the workers, which are forked, need not import what this imports
        assert app.run(["models", "add", "--name", name, str(tmp_path / "good" / name)]) == 0
    workers, failed = Workers(tmp_path / "log"), []
    for number in range(CASES):
        random, folder = Random(f"fuzz {number}"), tmp_path / "m"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(user_folder(), ignore_errors=True)
        name = random.choice(names)
        shutil.copytree(tmp_path / "good" / name, folder)
        (folder / "SHA256SUMS").unlink(missing_ok=True)
        damage(random.choice(sorted(p for p in folder.iterdir() if p.is_file())), random)
        command = random.choice(COMMANDS) if name == "native" else COMMANDS[-1]
        fault = workers.attempt(lambda: run([*command, str(folder)], workers.log))  # noqa: B023
        failed += [f"{number} ({name}): {fault}"] * bool(fault)
    assert not failed, "\n".join(failed)

"""Every command over imported public models."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
from PIL import Image

pytest.importorskip("transformers")

from attncli.shell import app
from tests.models.importers import published

LINES = published.lines(40)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder with texts and images, where tiny models are installed."""
    folder = tmp_path_factory.mktemp("walk")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(folder / "data"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.chdir(folder)
        published.marian(folder / "opus")
        published.blip(folder / "blip")
        published.m2m100(folder / "nllb", "nllb")
        for name in ("opus", "blip", "nllb"):
            assert app.run(["models", "add", name]) == 0
            shutil.rmtree(folder / name)
        Path("test.en").write_text("\n".join(LINES[:20]) + "\n", "utf-8")
        Path("test.de").write_text("\n".join(LINES[20:]) + "\n", "utf-8")
        Path("page.md").write_text("# The old man\n\nThe **old man** sees a [house](x).\n")
        rng = numpy.random.default_rng(1)
        for number in range(3):
            pixels = rng.integers(0, 255, (45, 70, 3), numpy.uint8)
            Image.fromarray(pixels).save(f"{number}.png")
        Path("captions.tsv").write_text("0.png\ta b\n1.png\tc d\n2.png\te f\n")
        yield folder


COMMANDS = [
    "translate -m opus -i test.en -o out.de",
    "translate -m opus -i page.md -o page.de.md",
    "translate -m opus --align the-old-man",
    "translate -m opus --show the-old-man",
    "translate -m nllb --from eng --to deu --align the-old-man",
    "caption -m blip 0.png",
    "caption -m blip 0.png --picture map.png",
    "explain -m opus the-old-man",
    "explain -m blip 0.png",
    "evaluate -m opus test.en test.de",
    "evaluate captions captions.tsv -m blip --images .",
    "align -m opus test.en test.de",
    "align train test.en test.de --start-from opus -o aligner",
    "train test.en test.de --start-from opus -o tuned -s train.steps=2",
    "train --images . --captions captions.tsv --start-from blip -o captioner -s train.steps=2",
    "bulk test.en shards/ -- translate -m opus",
    "models export opus exported",
    "models pack opus packed.zip",
    "models show blip",
    "models verify opus",
    "models",
]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_runs_on_imported_models(line: str, place: Path) -> None:
    words = [word.replace("-old-", " old ").replace("the ", "The ") for word in line.split()]
    assert app.run(words) == 0


def test_an_imported_model_knows_its_languages_licence_and_head(place: Path) -> None:
    folder = place / "data" / "attn" / "models" / "opus"
    settings = json.loads((folder / "config.json").read_text())
    assert settings["about"]["languages"] == ["en", "de"]
    assert settings["search"]["beam"] == 4 and settings["alignment"]["layer"] >= 1

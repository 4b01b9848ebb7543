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

soundfile = pytest.importorskip("soundfile")
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
        published.whisper(folder / "ear")
        for name in ("opus", "blip", "nllb", "ear"):
            assert app.run(["models", "add", name]) == 0
            shutil.rmtree(folder / name)
        Path("test.en").write_text("\n".join(LINES[:20]) + "\n", "utf-8")
        Path("test.de").write_text("\n".join(LINES[20:]) + "\n", "utf-8")
        Path("page.md").write_text("# The old man\n\nThe **old man** sees a [house](x).\n")
        rng = numpy.random.default_rng(1)
        for number in range(3):
            pixels = rng.integers(0, 255, (45, 70, 3), numpy.uint8)
            Image.fromarray(pixels).save(f"{number}.png")
        Path("sounds").mkdir()
        for name, seconds in (("short", 2), ("long", 8)):
            sound = rng.normal(0, 0.2, seconds * 16_000)
            soundfile.write(f"{name}.wav", sound, 16_000)
        shutil.copy("short.wav", Path("sounds"))
        Path("spoken.tsv").write_text("short.wav\ta b\n")
        Path("captions.tsv").write_text("0.png\ta b\n1.png\tc d\n2.png\te f\n")
        yield folder


COMMANDS = [
    "translate -m opus -i test.en -o out.de",
    "translate -m opus -i page.md -o page.de.md",
    "translate -m opus --align the-old-man",
    "translate -m opus --show the-old-man",
    "translate -m opus -b 3 -n 3 the-old-man",
    "translate -m nllb --from eng --to deu --align the-old-man",
    "evaluate -m nllb --from eng --to deu test.en test.de",
    "explain -m nllb --from eng --to deu the-old-man",
    "align -m nllb --from eng --to deu test.en test.de",
    "models export nllb exported-nllb",
    "caption -m blip 0.png",
    "caption -m blip 0.png --picture map.png",
    "caption -m blip 0.png -s search.beam=3 -n 3",
    "transcribe -m ear short.wav long.wav --align",
    "transcribe -m ear long.wav --from de --to en --format srt -o long.srt",
    "transcribe -m ear long.wav --picture heard.png",
    "transcribe -m ear short.wav --from auto --format jsonl",
    "evaluate transcripts -m ear --audio . spoken.tsv",
    "models show ear",
    "explain -m opus the-old-man",
    "explain -m blip 0.png",
    "evaluate -m opus test.en test.de",
    "evaluate captions captions.tsv -m blip --images .",
    "align -m opus test.en test.de",
    "align train test.en test.de --start-from opus -o aligner",
    "train test.en test.de --start-from opus -o tuned -s train.steps=2",
    "train --images . --captions captions.tsv --start-from blip -o captioner -s train.steps=2",
    "models compare train.lr=0.0001 train.lr=0.0002 --start-from opus -o compared --seeds 1 "
    "--train test.en test.de --dev test.en test.de --test test.en test.de -s train.steps=1",
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


def test_words_of_another_language_than_english_are_no_target(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["transcribe", "-m", "ear", "short.wav", "--from", "en", "--to", "de"]) == 1
    assert "English alone" in capsys.readouterr().err


def test_imported_models_are_served(place: Path) -> None:
    from attncli.serve._options import ServeOptions
    from tests.attncli.serve.conftest import running

    httpx = pytest.importorskip("httpx")
    with running(ServeOptions(models=(Path("opus"),), port=0, threads=1)) as url:
        content = Path("0.png").read_bytes()
        kind = {"Content-Type": "image/png"}
        address = f"{url}/caption?model=blip"
        found = httpx.post(address, content=content, headers=kind, timeout=60).json()
        assert len(found["maps"]) == len(found["words"])
        given = {"q": "The old man.", "source": "en", "target": "de"}
        text = httpx.post(f"{url}/translate", json=given, timeout=60).json()
        assert text["translatedText"]


def test_an_imported_model_knows_its_languages_licence_and_head(place: Path) -> None:
    folder = place / "data" / "attn" / "models" / "opus"
    settings = json.loads((folder / "config.json").read_text())
    assert settings["about"]["languages"] == ["en", "de"]
    assert settings["search"]["beam"] == 4 and settings["alignment"]["layer"] >= 1
    captioner = json.loads((folder.with_name("blip") / "config.json").read_text())
    assert captioner["alignment"]["layer"] >= 1

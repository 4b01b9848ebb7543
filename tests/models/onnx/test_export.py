"""An exported folder gives the outputs of attn without attn."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch
from PIL import Image

pytest.importorskip("onnxscript", reason="the extra attn[onnx] is not installed")
pytest.importorskip("onnxruntime", reason="the extra attn[onnx] is not installed")

from attncli.shell.app import run
from models import load_captioner, load_classifier, load_translator
from models.config import SearchConfig
from models.onnx import trace
from models.onnx.export import inputs_of
from models.onnx.trace import Traced
from tests.docs.pages import ROOT, blocks
from tests.models.onnx.running import check_label, check_steps
from tests.models.small import sources

GREEDY = SearchConfig(method="greedy")


def exported(model: Path, folder: Path) -> Path:
    assert run(["models", "export", str(model), str(folder), "--to", "onnx"]) == 0
    return folder


def example(folder: Path, *arguments: str) -> list[list[str]]:
    """Return the lines that the program of a folder prints, split at tabs."""
    command = [sys.executable, "-I", "-B", "-c", ISOLATED, str(folder / "example.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


ISOLATED = """
import runpy, sys
from pathlib import Path
del sys.argv[0]
sys.path.insert(0, str(Path(sys.argv[0]).parent))
runpy.run_path(sys.argv[0], run_name="__main__")
assert not {"torch", "models", "attncli"} & {*sys.modules}
"""


def graphs_in(folder: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in folder.glob("*.onnx")}


@pytest.fixture(scope="module")
def exported_translator(tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the tiny bundle, exported."""
    return exported(tiny_bundle, tmp_path_factory.mktemp("translator") / "out")


def test_a_translator_gives_the_greedy_outputs_and_the_attention_of_torch(
    tiny_bundle: Path, exported_translator: Path
) -> None:
    folder, translator = exported_translator, load_translator(tiny_bundle)
    texts = ["The dog sees the old car.", "A cat sleeps."]
    lines = example(folder, *texts)
    outputs = translator.translate(texts, search=GREEDY)
    assert [line[0] for line in lines if len(line) == 1] == [one.text for one in outputs]
    tokens = [line[0].strip() for line in lines if len(line) > 1]
    assert tokens == [token for one in outputs for token in one.hypotheses[0].tokens]
    inputs = inputs_of(translator.model)
    tokens_read = torch.randint(4, 200, (3, 4))
    check_steps(translator.model, inputs, graphs_in(folder), sources(9, 2, 5), tokens_read)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    assert config["task"] == "translate" and config["tokens"]["end"] == 3
    assert {path.name for path in folder.iterdir()} == {
        *("encoder.onnx", "decoder_step.onnx", "tokenizer.model"),
        *("config.json", "greedy.py", "example.py"),
    }


def test_the_example_of_the_documentation_runs(
    exported_translator: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without another export: its call copies the folder of the tiny bundle."""
    [text] = [text for needs, text in blocks(ROOT / "docs/export.md", "python") if needs == "onnx"]
    monkeypatch.chdir(tmp_path)
    copy = partial(shutil.copytree, exported_translator)
    monkeypatch.setattr("models.onnx.export.export", lambda model, folder: copy(folder))
    exec(compile(text, "export.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.count("[[") == 5  # attention of each step


def test_a_classifier_gives_the_labels_and_the_weights_of_torch(
    toy_classifier: Path, tmp_path: Path
) -> None:
    folder, classifier = exported(toy_classifier, tmp_path / "out"), load_classifier(toy_classifier)
    texts = ["play  some jazz", "what is the weather?"]
    found = [line for line in example(folder, *texts) if not line[0].startswith(" ")]
    for (label, probability), expected in zip(found, classifier.classify(texts), strict=True):
        assert label == expected.label
        assert float(probability) == pytest.approx(expected.labels[0].probability, abs=1e-3)
    inputs = inputs_of(classifier.model)
    check_label(classifier.model, inputs, graphs_in(folder)["model"], sources(7, 3, 1))


def test_a_captioner_gives_the_greedy_captions_of_torch(
    soft_captioner: Path, photos: Path, tmp_path: Path
) -> None:
    folder, captioner = exported(soft_captioner, tmp_path / "out"), load_captioner(soft_captioner)
    files = [photos / name for name in ("a.png", "c.webp")]
    lines = example(folder, *map(str, files))
    images = [Image.open(path) for path in files]
    expected = [one.text for one in captioner.caption(images, search=GREEDY)]
    assert [line[0] for line in lines if len(line) == 1] == expected
    inputs, size = inputs_of(captioner.model), captioner.model.config.image.size
    tokens_read = torch.randint(4, 200, (3, 4))
    check_steps(
        captioner.model, inputs, graphs_in(folder), (torch.rand(3, 3, size, size),), tokens_read
    )


def refuse(_: object) -> Traced:
    raise AssertionError("the model is traced although it cannot be written")


def test_an_existing_folder_is_kept_and_mistakes_are_one_line(
    tiny_bundle: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("models.onnx.export.traced", refuse)
    command = ["models", "export", str(tiny_bundle), str(tmp_path), "--to", "onnx"]
    for more, message in (([], f"{tmp_path} exists"), (["--precision", "int8"], "int8")):
        assert run([*command, *more]) == 1
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1
    monkeypatch.setattr(trace, "PACKAGES", ("no_such_package",))
    assert run(command) == 1
    assert "pip install 'attn[onnx]'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())

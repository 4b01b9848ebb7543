"""`attn align train` in one go: from sentence pairs to a bundle that aligns."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.app import run
from attncli.embedded.grammar import generate
from attncli.jobs import align_train as job
from attncli.jobs.align_train import AlignerRun
from models import load_translator
from models.alignment import AlignConfig, align, diagonal, error_rate

PAIRS = list(generate(80))
TEXTS = [(pair.source, pair.target) for pair in PAIRS]
GOLD = [frozenset(pair.links) for pair in PAIRS]
SETTINGS = (
    *("model.embedding=32", "model.hidden=32", "model.encoder_layers=1", "tokenizer.size=420"),
    *("train.steps=4", "train.batch_tokens=600", "train.precision=fp32"),
)


def write_texts(folder: Path) -> list[Path]:
    """Write the sentence pairs; return the files."""
    paths = [folder / "text.en", folder / "text.de"]
    for path, side in zip(paths, zip(*TEXTS, strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in side), "utf-8")
    return paths


def command(files: list[Path], folder: Path, *more: str) -> list[str]:
    """Return the command line of a tiny run."""
    options = [word for setting in SETTINGS for word in ("-s", setting)]
    return ["align", "train", *map(str, files), "-o", str(folder), *options, *more]


@pytest.fixture(scope="module")
def aligner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run."""
    folder = tmp_path_factory.mktemp("aligner")
    assert run(command(write_texts(folder), folder / "run")) == 0
    return folder / "run"


def test_the_bundle_aligns_by_the_settings_that_were_chosen(aligner: Path) -> None:
    translator = load_translator(aligner)
    config = translator.alignment
    assert (config.layer, config.shift, config.languages) == (1, 1, "en-de")
    found = [one.links for one in align(translator, TEXTS)]
    same = align(translator.for_direction("de"), TEXTS, config=config)
    assert found == [one.links for one in same]
    floor = [diagonal(len(source.split()), len(target.split())) for source, target in TEXTS]
    assert error_rate(found, GOLD) < 0.7 * error_rate(floor, GOLD)


def test_weights_are_the_mean_of_both_directions(aligner: Path) -> None:
    translator = load_translator(aligner)
    one_way = AlignConfig(**{**vars(translator.alignment), "languages": ""})
    [both] = align(translator, TEXTS[:1])
    [ahead] = align(translator.for_direction("de"), TEXTS[:1], config=one_way)
    [back] = align(translator.for_direction("en"), [TEXTS[0][::-1]], config=one_way)
    assert both.weights.allclose((ahead.weights + back.weights.T) / 2, atol=1e-5)
    [turned] = align(translator.for_direction("en"), [TEXTS[0][::-1]])
    assert both.weights.allclose(turned.weights.T, atol=1e-5)


def test_the_command_needs_no_languages(aligner: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [str(aligner.parent / name) for name in ("text.en", "text.de")]
    assert run(["align", "-m", str(aligner), *texts]) == 0
    lines = capsys.readouterr().out.splitlines()
    links = [one.links for one in align(load_translator(aligner), TEXTS)]
    assert [set(line.split()) for line in lines] == [
        {f"{i}-{j}" for i, j in pair} for pair in links
    ]


def test_an_interrupted_run_ends_as_an_uninterrupted_one(aligner: Path, tmp_path: Path) -> None:
    files = write_texts(tmp_path)
    part = AlignerRun((tuple(map(str, files)),), "en-de", SETTINGS, tmp_path / "run")

    def stopping(stage: str, done: float, total: float) -> None:
        if stage == "embedding linked tokens":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.prepare(part, stopping)
    assert part.links.exists() and not part.initial.exists()
    assert run(command(files, part.path)) == 0
    for name in ("model.safetensors", "alignment/links", "alignment/tuned.json"):
        assert (part.path / name).read_bytes() == (aligner / name).read_bytes()


def test_a_finished_run_is_left_as_it_is(aligner: Path) -> None:
    before = (aligner / "model.safetensors").read_bytes(), (aligner / "config.json").read_bytes()
    assert run(command([aligner.parent / "text.en", aligner.parent / "text.de"], aligner)) == 0
    assert before[0] == (aligner / "model.safetensors").read_bytes()
    assert before[1] == (aligner / "config.json").read_bytes()


def test_other_files_are_refused(aligner: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [aligner.parent / "text.de", aligner.parent / "text.en"]
    assert run(command(files, aligner)) == 1
    assert "other files or settings" in capsys.readouterr().err


def test_a_dry_run_names_the_stages_and_writes_nothing(
    aligner: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = write_texts(tmp_path)
    assert run(command(files, tmp_path / "run", "--dry-run")) == 0
    assert capsys.readouterr().out.count("to do") == 4
    assert not (tmp_path / "run").exists()
    assert run(command(files, aligner, "--dry-run")) == 0
    assert capsys.readouterr().out.count("done") == 4

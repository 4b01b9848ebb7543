"""`attn translate --to` and the other commands on a multilingual model."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from attncli.embedded.grammar import Pair
from attncli.shell import app
from models.text.tokenizer import train
from tests.models.text.test_languages import CONFIG, multilingual

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def bundle(tiny_pairs: list[Pair], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a bundle of three languages with random weights."""
    sides = [p.source for p in tiny_pairs], [p.target for p in tiny_pairs]
    return str(multilingual(train(*sides, 400, CONFIG), tmp_path_factory.mktemp("multi")))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line; return its status, stdout and stderr."""

    def run(*arguments: str, text: str = "") -> tuple[int, str, str]:
        with monkeypatch.context() as context:
            context.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
            status = app.run(list(arguments))
        return status, *capsys.readouterr()

    return run


def test_translate_to_a_language(run: Run, bundle: str) -> None:
    german = run("translate", "-m", bundle, "--to", "de", text="He ran.\n\n")
    french = run("translate", "-m", bundle, "--to", "fr", "--from", "en", text="He ran.\n\n")
    assert german[0] == french[0] == 0 and german[1].endswith("\n\n")
    assert german[1] != french[1]
    for _, _, said in (german, french):  # random weights: cut, and caught in a repetition
        cut, repeated = said.splitlines()
        assert cut.startswith("attn: line 1: the output was cut at its length limit, after 11 ")
        assert repeated.startswith("attn: line 1: the output repeats ")


def test_a_direction_without_training_data_is_translated_through_a_third_language(
    run: Run, bundle: str
) -> None:
    status, out, err = run("translate", "-m", bundle, "--to", "fr", "--from", "de", text="A\nB\n")
    assert status == 0 and out.count("\n") == 2 and err.count("translated through en") == 1


def test_alignments_tags_and_scores_take_the_language(
    run: Run, bundle: str, tmp_path: Path
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("He ran.\tEr lief.\nI ran.\tIch lief.\n")
    assert run("translate", "-m", bundle, "--to", "de", "--align", "He ran.")[0] == 0
    assert run("translate", "-m", bundle, "--to", "de", "--keep-tags", "<b>He</b> ran.")[0] == 0
    status, out, _ = run("align", "-m", bundle, "--to", "de", str(pairs))
    assert status == 0 and out.count("\n") == 2
    both = ["--reverse-model", bundle, "--to", "de"]
    assert run("align", "-m", bundle, *both, "--from", "en", str(pairs))[0] == 0
    status, _, err = run("align", "-m", bundle, *both, str(pairs))
    assert status == 1 and "--from" in err
    assert run("evaluate", "-m", bundle, "--to", "de", str(pairs))[0] == 0
    assert run("evaluate", "-m", bundle, str(pairs))[0] == 1

"""`attn tokens` prints tokens that make up the text."""

from pathlib import Path

import pytest

from attncli.shell import app


def test_tokens_make_up_the_text(tiny_bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["tokens", "-m", str(tiny_bundle), "The dog sees."]) == 0
    assert "".join(capsys.readouterr().out.split()).startswith("\u2581The\u2581dog\u2581sees.")

"""`attn tokens` prints tokens that make up the text."""

import pytest

from attncli.shell import app
from tests.fixtures.small import FILES


def test_tokens_make_up_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["tokens", "-m", str(FILES / "bundles/transformer"), "The dog sees."]) == 0
    assert "".join(capsys.readouterr().out.split()).startswith("\u2581The\u2581dog\u2581sees.")

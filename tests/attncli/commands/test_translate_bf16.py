"""`attn translate --precision bf16`: used where it is faster, refused in one line elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch import Tensor

from attncli.shell import app
from models.inference.search import rounded_output
from models.inference.search.rounded_output import RoundedBackend, has_fast_bf16

BF16 = ["--precision", "bf16", "A dog sees a house."]


@pytest.mark.skipif(not has_fast_bf16(), reason="a processor without products of bf16")
@pytest.mark.parametrize("gain", [0.9, 1.2])
def test_bf16_is_used_only_where_it_is_faster(
    gain: float,
    tiny_bundle: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used, logits = [], RoundedBackend.logits

    def recorded(self: RoundedBackend, features: Tensor) -> Tensor:
        used.append(len(features))
        return logits(self, features)

    monkeypatch.setattr(rounded_output, "bf16_gain", lambda model: gain)
    monkeypatch.setattr(RoundedBackend, "logits", recorded)
    assert app.run(["translate", "-m", str(tiny_bundle), *BF16]) == 0
    shown = capsys.readouterr()
    assert shown.out.strip()
    assert bool(used) == (gain > 1)
    assert ("fp32 is used" in shown.err) == (gain < 1)


@pytest.mark.parametrize(
    "options",
    [["--engine", "ctranslate2"], ["--method", "sample"], ["-m", "grammar-en-de"]],
)
def test_what_bf16_cannot_do_is_one_line(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["translate", "-m", "grammar-en-de", *options, *BF16]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert "bf16" in line

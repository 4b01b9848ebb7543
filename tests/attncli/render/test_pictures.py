"""Pictures of runs, comparisons and sound: drawn from what a log or a model has."""

from __future__ import annotations

import base64
import io
import re
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from attncli.compare._drawing import draw_comparison
from attncli.compare._scores import RunScores
from attncli.render.plots import Bar, Curve, bleu_by_length, curves
from attncli.scoring.score import MetricScore
from attncli.terminal.messages import Screen
from attncli.transcribe.drawing import (
    WRITERS,
    sound_page,
    spectrogram_url,
    strips,
    wav_of,
)
from models.core.types import Hypothesis
from models.speech.transcripts import SoundAttention, SpokenSegment, Word

HISTORY: list[dict[str, Any]] = [
    {"event": "start", "parameters": 10},
    {"event": "train", "step": 50, "loss": 7.9, "nll": 7.5},
    {"event": "train", "step": 100, "nll": float("nan")},
    {"event": "dev", "step": 100, "bleu": 3.25, "loss": 6.0},
    {"event": "train", "step": 100, "loss": 5.9, "nll": 5.5},
    {"event": "dev", "step": 200, "bleu": 12.5, "loss": 5.0},
]


def test_curves_show_loss_score_and_the_best(tmp_path: Path) -> None:
    curves(tmp_path / "x.svg", HISTORY)
    drawn = (tmp_path / "x.svg").read_text("utf-8")
    axis = "negative log-likelihood (nats per token)"
    texts = (axis, "training", "dev BLEU", "12.50")
    assert all(f">{text}</text>" in drawn for text in texts)


@pytest.mark.parametrize("kinds", [(), ("train",), ("dev",)])
def test_curves_of_a_run_that_has_only_some_records(kinds: tuple[str, ...], tmp_path: Path) -> None:
    curves(tmp_path / "x.png", [record for record in HISTORY if record["event"] in kinds])
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_dev_scores_without_a_loss_or_without_bleu(tmp_path: Path) -> None:
    pictures = []
    for missing in ("", "bleu", "loss"):
        curves(tmp_path / "x.png", [{**record, missing: None} for record in HISTORY])
        pictures.append((tmp_path / "x.png").read_bytes())
    assert len(set(pictures)) == 3  # a curve is missing in the second and in the third


def test_no_window_is_opened_and_pyplot_stays_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    bleu_by_length(tmp_path / "x.png", [Curve("a", [3, 8], [40, 30])], [Bar(0.5, 5.5, 7)])
    assert "matplotlib.pyplot" not in sys.modules


@pytest.mark.parametrize(
    ("metric", "score", "direction"), [("bleu", 3.0, "higher"), ("wer", 40.0, "lower")]
)
def test_a_comparison_states_its_data_its_marks_and_what_is_better(
    metric: str, score: float, direction: str, tmp_path: Path
) -> None:
    dev = (MetricScore(metric, score),)
    rows = [RunScores("dot", seed, dev, (), 5.0, 9.5, 100, 10, 50.0, 2.0) for seed in (1, 2)]
    draw_comparison(tmp_path / "dev.svg", rows)
    drawn = (tmp_path / "dev.svg").read_text("utf-8")
    assert "Scores of the dev set. A dot is a seed, a bar the mean" in drawn
    assert drawn.count(f">({direction} is better)<") == 2  # AER is lower, speed higher
    assert ("The best dev BLEU is 3.00, below 10" in drawn) == (metric == "bleu")
    draw_comparison(tmp_path / "test.svg", [row._replace(test=dev) for row in rows])
    assert "Scores of the test set." in (tmp_path / "test.svg").read_text("utf-8")


WEIGHTS = torch.tensor([[0.2, 0.1, 0.0, 0.0, 0.0], [0.0, 0.0, 0.1, 0.4, 0.1]])


def made(*tokens: str) -> tuple[SpokenSegment, SoundAttention]:
    energies = torch.randn(50, 8, generator=torch.Generator().manual_seed(1))
    words = tuple(Word(token, 1.0 + n, 1.5 + n) for n, token in enumerate(tokens))
    found = SoundAttention(tokens, WEIGHTS[: len(tokens)], 0.4, energies, 0.04)
    output = Hypothesis(" ".join(tokens), 0.0, 0.0, tokens, ())
    return SpokenSegment(1.0, 3.0, (output,), words, found), found


MAPS = [made("one", "<b>two"), made("three", "$four_")]


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_picture_is_written_again_equal(suffix: str) -> None:
    write = WRITERS[suffix]
    assert write("a.wav", MAPS, b"") == write("a.wav", MAPS, b"") != write("a.wav", MAPS[:1], b"")
    assert write("a.wav", [], b"")


def test_the_page_has_each_word_with_its_time_and_the_sound() -> None:
    samples = np.sin(np.arange(800, dtype=np.float32) / 5)
    page = sound_page("<i>.wav", MAPS, wav_of(samples, 8000)).decode()
    assert "<b>two" not in page and "<i>.wav" not in page
    starts = re.findall(r'data-start="([\d.]+)"', page)
    assert [float(start) for start in starts] == [1.0, 2.0, 1.0, 2.0]
    found = re.search(r"data:audio/wav;base64,([^\"]+)", page)
    assert found
    with wave.open(io.BytesIO(base64.b64decode(found[1]))) as file:
        assert (file.getframerate(), file.getnframes()) == (8000, 800)
        heard = np.frombuffer(file.readframes(800), "<i2") / 32767
    np.testing.assert_allclose(heard, samples, atol=1e-4)
    assert "<audio" not in sound_page("a", MAPS).decode()


def test_high_bands_are_on_top() -> None:
    one = made("one")[1]._replace(spectrogram=torch.arange(8.0).repeat(50, 1))
    picture = Image.open(io.BytesIO(base64.b64decode(spectrogram_url(one).partition(",")[2])))
    grey = np.asarray(picture.convert("L"))
    assert grey.shape == (8, 50) and grey[0, 0] < grey[-1, 0]  # dark is loud


def test_a_strip_is_darkest_where_the_weight_is_largest() -> None:
    lines = strips([made("one", "two")], Screen(30)).splitlines()
    assert lines[0] == "1.00 to 3.00 s: one two" and len(lines) == 5
    one, two = (line[5:] for line in lines[2:4])
    assert set(one[:4]) == {"█"} and not one[11:].strip()
    assert "█" not in two[:13] and "█" in two[14:20]
    assert all(len(line) <= 30 for line in lines)
    assert "\x1b[" in strips(MAPS, Screen(30, 256))

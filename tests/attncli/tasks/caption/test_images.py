"""Captions of files: images opened in threads, and warnings after all captions."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import torch
from PIL import Image

from attncli.caption.images import PixelBudget
from attncli.caption.outputs import CaptionStatistics
from attncli.caption.runner import CaptionedImage, CaptionOptions, CaptionRunner
from attncli.data.named_files import NamedFile
from attncli.render.image_maps import AttentionMaps
from models import load_captioner
from models.core.config import ImageConfig
from models.core.types import Hypothesis
from models.engines.captioner import Captioner


def outcome(text: str, maps: np.ndarray | None = None) -> CaptionedImage:
    attention = None
    if maps is not None:
        words = tuple("w" * len(maps))
        nothing = np.zeros(len(maps), np.float32)
        attention = AttentionMaps("x", Image.new("RGB", (4, 4)), words, maps, None, nothing, "soft")
    return CaptionedImage(NamedFile("x"), (Hypothesis(text, 0.0, 0.0, (), ()),), attention)


def test_threads_continue_after_an_image_that_cannot_be_read(
    soft_captioner: Path, tmp_path: Path
) -> None:
    paths = [tmp_path / f"{n}.png" for n in range(10)]
    for n, path in enumerate(paths):
        Image.new("RGB", (32, 32), (20 * n, 200 - 20 * n, 90)).save(path)
    paths[5].write_bytes(b"not an image")
    captioner, files = load_captioner(soft_captioner), [NamedFile(p.name, p) for p in paths]

    def captions() -> list[str]:
        [outcomes] = CaptionRunner.of(captioner, CaptionOptions()).run([files])
        return [one.note or one.caption for one in outcomes]

    in_turn = captions()
    assert in_turn[5].startswith("5.png")
    torch.set_num_threads(2)
    try:
        assert captions() == in_turn
    finally:
        torch.set_num_threads(1)


def told(outcomes: list[CaptionedImage]) -> list[str]:
    statistics = CaptionStatistics()
    for one in outcomes:
        statistics.count([one])
    return list(statistics.notes())


def test_maps_that_hardly_differ_are_told() -> None:
    same = np.full((5, 2, 2), 0.25, np.float32)
    moving = np.eye(4, dtype=np.float32).reshape(4, 2, 2)
    [note] = told([outcome("a", same), outcome("b", same), outcome("c", moving)])
    assert note.startswith("in 2 of 3 images the maps hardly differ from word to word")
    assert told([outcome("a", same), outcome("b", moving), outcome("c", moving)]) == []
    assert told([outcome("a", same[:1])]) == []  # one word has nothing to differ from


def test_one_caption_for_most_images_is_told() -> None:
    [note] = told([outcome("a dog" if n % 3 else f"{n}") for n in range(30)])
    assert note == "20 of 30 images have the same caption, 'a dog'"
    assert told([outcome("a dog")] * 9) == []
    assert told([outcome(f"{n // 2}") for n in range(30)]) == []


def captioner(reduced: Callable[[Image.Image], Any]) -> Captioner:
    """Return what the opener uses of a captioner."""
    config = SimpleNamespace(image=ImageConfig())
    return cast(Captioner, SimpleNamespace(config=config, image_size=8, reduced=reduced))


def test_the_budget_is_never_exceeded_except_by_one_image_alone() -> None:
    budget = PixelBudget(10)
    inside: list[int] = []
    peaks: list[list[int]] = []

    def hold(pixels: int) -> None:
        with budget.held(pixels):
            inside.append(pixels)
            peaks.append(list(inside))
            time.sleep(0.002)
            inside.remove(pixels)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(hold, [4, 6, 30, 5, 5, 7, 3] * 5))
    assert not inside
    assert all(sum(peak) <= 10 or peak == [30] for peak in peaks)
    assert any(len(peak) > 1 for peak in peaks)

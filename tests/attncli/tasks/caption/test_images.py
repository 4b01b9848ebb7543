"""Captions of files, and what a user is told of a captioner after all its captions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from attncli.data.images.named import ImageFile
from attncli.render.image_attention.maps import AttentionMaps
from attncli.tasks.caption.images import CaptionStatistics, caption_images
from attncli.tasks.caption.writers import CaptionedImage
from models import load_captioner
from models.base.types import Hypothesis


def outcome(text: str, maps: np.ndarray | None = None) -> CaptionedImage:
    attention = None
    if maps is not None:
        words = tuple("w" * len(maps))
        nothing = np.zeros(len(maps), np.float32)
        attention = AttentionMaps("x", Image.new("RGB", (4, 4)), words, maps, None, nothing, "soft")
    return CaptionedImage(ImageFile("x"), (Hypothesis(text, 0.0, 0.0, (), ()),), attention)


def test_threads_continue_after_an_image_that_cannot_be_read(
    soft_captioner: Path, tmp_path: Path
) -> None:
    paths = [tmp_path / f"{n}.png" for n in range(10)]
    for n, path in enumerate(paths):
        Image.new("RGB", (32, 32), (20 * n, 200 - 20 * n, 90)).save(path)
    paths[5].write_bytes(b"not an image")
    captioner, files = load_captioner(soft_captioner), [ImageFile(p.name, p) for p in paths]

    def captions() -> list[str]:
        [outcomes] = caption_images([files], captioner)
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

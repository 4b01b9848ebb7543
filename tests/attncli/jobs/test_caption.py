"""What a user is told of a captioner after all its captions."""

from __future__ import annotations

import numpy as np
from PIL import Image

from attncli.data.named_images import ImageFile
from attncli.jobs.caption import CaptionStatistics
from attncli.render.captions import CaptionedImage
from attncli.render.image_attention.maps import AttentionMaps
from models.types import Hypothesis


def outcome(text: str, maps: np.ndarray | None = None) -> CaptionedImage:
    attention = None
    if maps is not None:
        words = tuple("w" * len(maps))
        nothing = np.zeros(len(maps), np.float32)
        attention = AttentionMaps("x", Image.new("RGB", (4, 4)), words, maps, None, nothing, "soft")
    return CaptionedImage(ImageFile("x"), (Hypothesis(text, 0.0, 0.0, (), ()),), attention)


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

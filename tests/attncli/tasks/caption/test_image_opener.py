"""Images are opened in threads: in order, within a budget of pixels, errors in their places."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from PIL import Image

from attncli.data.images.named import ImageFile
from attncli.tasks.caption.images import ImageOpener, PixelBudget
from models.config.tables import ImageConfig
from models.inference.captioner import Captioner


def captioner(reduced: Callable[[Image.Image], Any]) -> Captioner:
    """Return what the opener uses of a captioner."""
    config = SimpleNamespace(image=ImageConfig())
    return cast(Captioner, SimpleNamespace(config=config, image_size=8, reduced=reduced))


def image_files(folder: Path, count: int) -> list[ImageFile]:
    for number in range(count):
        Image.new("RGB", (10 + number, 10)).save(folder / f"{number}.png")
    return [ImageFile(str(number), folder / f"{number}.png") for number in range(count)]


def test_one_batch_is_opened_ahead_and_no_more(tmp_path: Path) -> None:
    files = image_files(tmp_path, 6)
    seen: list[Image.Image] = []
    with ImageOpener(captioner(seen.append), attention=False) as opener:
        batches = opener.opened(files, 1)
        next(batches)
        end = time.monotonic() + 30
        while len(seen) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.2)  # for a third, which would be wrong
        assert len(seen) == 2


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

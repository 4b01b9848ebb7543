"""Regions of captions draw a captioner's attention to the cells that a file names."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from attncli.training.settings.config import RunConfig
from models.core.errors import ModelError
from models.engines.captioner import Captioner
from tests.attncli.training.small import run
from tests.attncli.training.small_captions import Files, small_config

CELL = 5  # of 4 x 4
WORDS = 7  # of each caption, the stop included
SHORT = ("train.steps=30", "train.metric=loss")


def with_regions(files: Files, lines: list[str], *more: str) -> RunConfig:
    """Return the settings of a minute run whose file of regions has the given lines."""
    path = files.train.with_suffix(".regions")
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    changes = [f"data.regions={path}", "train.attention.regions=4", *SHORT, *more]
    return small_config(files, *changes)


def attention_on_the_cell(folder: Path, files: Files) -> float:
    """Return the mean attention of a captioner's words on the cell."""
    images = [Image.open(path) for path in sorted(files.images.iterdir())]
    found = [one.attention for one in Captioner.read(folder).caption(images, attention=True)]
    shares = [float(m[CELL]) for one in found if one for m in one.maps.flatten(1)]
    return sum(shares) / len(shares)


def test_attention_is_where_the_regions_are(files: Files, tmp_path: Path) -> None:
    captions = len(files.train.read_text("utf-8").splitlines())
    line = " ".join(f"{CELL}-{word}" for word in range(WORDS - 1))
    run(with_regions(files, [line] * captions), tmp_path / "drawn")
    run(small_config(files, *SHORT), tmp_path / "free")
    assert attention_on_the_cell(tmp_path / "drawn", files) > 0.5
    assert attention_on_the_cell(tmp_path / "free", files) < 0.2


@pytest.mark.parametrize(
    ("line", "count", "fault"),
    [
        ("0-0", 1, "1 line for 44 captions"),
        ("0-0", 45, "45 lines for 44 captions"),
        ("16-0", 44, "link 16-0 of a pair with 16 source"),
        ("0:0", 44, "line 1: '0:0' is not a link"),
    ],
)
def test_regions_that_do_not_fit_are_refused(
    line: str, count: int, fault: str, files: Files, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=fault):
        run(with_regions(files, [line] * count), tmp_path / "run")

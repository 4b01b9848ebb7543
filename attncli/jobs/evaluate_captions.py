"""Make what is to be scored of captions: read the test set, have a model caption it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attncli.console import Progress
from attncli.data.captions import has_parts, read_captions
from attncli.data.corpus import open_text
from attncli.data.picture_files import PictureFile
from attncli.data.pictures import Pictures
from attncli.jobs.caption import BATCH, caption_pictures
from attncli.scoring.caption_systems import CaptionSet, CaptionSystem
from models.errors import ModelError

if TYPE_CHECKING:
    from models.config import SearchConfig
    from models.inference.captioner import Captioner


def read_caption_set(path: Path, part: str = "") -> CaptionSet:
    """The references of each picture of a file of captions.

    part: of a file with splits, this one; "" for its test part.
    """
    rows = read_captions(path, part=part or ("test" if has_parts(path) else ""))
    return CaptionSet(path.name, [row.image for row in rows], [list(r.captions) for r in rows])


def find_pictures(test: CaptionSet, pictures: Pictures) -> list[PictureFile]:
    """The pictures of a test set; a ModelError if one is missing."""
    files = []
    for name in test.images:
        place = pictures.find(name)
        if place is None:
            missing = sum(pictures.find(other) is None for other in test.images)
            raise ModelError(
                f"{missing:,} of {len(test.images):,} pictures of {test.name} are not in "
                f"{pictures.path}, {name} first",
                "each of them",
            )
        files.append(PictureFile(name, place))
    return files


def caption_test_set(
    name: str,
    files: Sequence[PictureFile],
    captioner: Captioner,
    *,
    search: SearchConfig,
    advance: Progress = lambda done, note="": None,
) -> CaptionSystem:
    """The captions of a model; a picture that cannot be read is a ModelError."""
    start, captions = time.perf_counter(), []
    for outcomes in caption_pictures([files], captioner, search=search, batch=BATCH):
        for outcome in outcomes:
            if not outcome.hypotheses:
                raise ModelError(outcome.note)
            captions.append(outcome.hypotheses[0].text)
        rate = len(captions) / (time.perf_counter() - start)
        advance(len(captions), f"{len(captions):,} pictures, {rate:,.1f}/s")
    return CaptionSystem(name, captions, captioner.read_mode, time.perf_counter() - start)


def read_caption_system(path: Path, test: CaptionSet) -> CaptionSystem:
    """Captions that another program made.

    A line for each picture of the test set, in its order, or, in any order, a table of picture and
    caption, as ``attn caption`` writes it; also its JSON lines, or a JSON array of such objects.
    """
    with open_text(path) as lines:
        rows = [line for line in lines if line.strip()] if _is_json(path) else list(lines)
    if _is_json(path):
        found = dict(map(_named, _objects(path, rows)))
    elif rows and all("\t" in row for row in rows):
        cells = [row.split("\t") for row in rows]
        found = {cell[0]: cell[1] for cell in reversed(cells)}  # of several, the first
    else:
        return CaptionSystem(path.name, _in_order(path, rows, test))
    return CaptionSystem(path.name, _by_name(path, found, test))


def _is_json(path: Path) -> bool:
    with open_text(path) as lines:
        return next(lines, "").lstrip()[:1] in ("{", "[")


def _objects(path: Path, rows: list[str]) -> list[Any]:
    try:
        if rows[0].lstrip().startswith("["):
            return list(json.loads("\n".join(rows)))
        return [json.loads(row) for row in rows]
    except json.JSONDecodeError as error:
        raise ModelError(f"{path} is not JSON ({error.msg})", "an array, or lines") from None


def _named(record: Any) -> tuple[str, str]:
    """The picture and the caption of an object."""
    expected = '{"image": name, "caption": text}, one for each picture'
    try:
        name = next(record[key] for key in ("image", "image_id", "filename") if key in record)
        return str(name), str(record["caption"] or "")
    except (KeyError, TypeError, StopIteration):
        raise ModelError(f"a caption is given as {json.dumps(record)[:60]}", expected) from None


def _in_order(path: Path, rows: list[str], test: CaptionSet) -> list[str]:
    if len(rows) != len(test.images):
        raise ModelError(
            f"{path} has {len(rows):,} lines",
            f"{len(test.images):,}, one for each picture of {test.name}",
            "or write picture, tab, caption",
        )
    return rows


def _by_name(path: Path, found: dict[str, str], test: CaptionSet) -> list[str]:
    """The captions in the order of the test set; a name matches with or without its folders."""
    alone = {_last(name): text for name, text in found.items()}
    captions = []
    for image in test.images:
        caption = found.get(image, alone.get(_last(image)))
        if caption is None:
            raise ModelError(f"{path} has no caption for {image}", f"one for each of {test.name}")
        captions.append(caption)
    return captions


def _last(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]

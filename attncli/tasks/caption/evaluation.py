"""Score captions against references: read the test set, caption it, compute the scores."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attncli.data.images.captions import has_parts, read_captions
from attncli.data.images.index import ImageIndex, open_images
from attncli.data.images.named import ImageFile
from attncli.data.streams import check_files
from attncli.data.text.text_files import open_text
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions, model_names
from attncli.options.evaluation import save_outputs
from attncli.scoring.meteor import why_not
from attncli.tasks.caption.attention_scores import attention_scores
from attncli.tasks.caption.images import caption_images
from attncli.tasks.caption.systems import (
    CaptionEvaluation,
    CaptionSet,
    CaptionSystem,
    score_systems,
)
from attncli.terminal.messages import ShowProgress
from attncli.terminal.plurals import counted
from models.base.errors import ModelError
from models.base.parsing import parse_json

if TYPE_CHECKING:
    from models.config.tables import SearchConfig
    from models.inference.captioner import Captioner


class CaptionResults(NamedTuple):
    """Scores of every system, and the test set they were computed on."""

    evaluations: list[CaptionEvaluation]
    test_set: CaptionSet


def evaluate_captions(
    captions: Path,
    *,
    models: Sequence[Path] = (),
    images: Path | None = None,
    hypotheses: Sequence[Path] = (),
    part: str = "",
    attention: bool = False,
    save: Path | None = None,
    options: OpenOptions | None = None,
) -> CaptionResults:
    """Score the captions of models, and of other programs, against references.

    captions: file of references. images: folder or archive of the images, for models.
    hypotheses: files of captions. part: see `read_caption_set`. attention: True scores the
    attention of models, too. save: file for the captions of each model; `{model}` in its name is
    replaced. Raises ModelError for files that do not fit.
    """
    options = options or OpenOptions()
    test_set = read_caption_set(captions, part)
    others = [read_caption_system(path, test_set) for path in hypotheses]
    systems = [*_captioned(models, test_set, images, options, save, attention), *others]
    if missing := why_not():
        options.messages.say(f"{missing}; left out")
    return CaptionResults(score_systems(systems, test_set), test_set)


def read_caption_set(path: Path, part: str = "") -> CaptionSet:
    """Return the references of each image of a file of captions.

    part: train, dev or test, for a file with splits; "" means its test part.
    """
    check_files([path])
    rows = read_captions(path, part=part or ("test" if has_parts(path) else ""))
    return CaptionSet(path.name, [row.image for row in rows], [list(r.captions) for r in rows])


def find_images(test: CaptionSet, images: ImageIndex) -> list[ImageFile]:
    """Return the images of a test set. Raises ModelError if one is missing."""
    files = []
    for name in test.images:
        place = images.find(name)
        if place is None:
            missing = sum(images.find(other) is None for other in test.images)
            raise ModelError(
                f"{missing:,} of {len(test.images):,} images of {test.name} are not in "
                f"{images.path}, {name} first",
                "each of them",
            )
        files.append(ImageFile(name, place))
    return files


def caption_test_set(
    name: str,
    files: Sequence[ImageFile],
    captioner: Captioner,
    *,
    search: SearchConfig,
    advance: ShowProgress = lambda done, note="": None,
) -> CaptionSystem:
    """Caption the images of a test set. Raises ModelError if one cannot be read."""
    start, captions = time.perf_counter(), []
    for outcomes in caption_images([files], captioner, search=search):
        for outcome in outcomes:
            if not outcome.hypotheses:
                raise ModelError(outcome.note)
            captions.append(outcome.hypotheses[0].text)
        rate = len(captions) / (time.perf_counter() - start)
        advance(len(captions), f"{counted(len(captions), 'image')}, {rate:,.1f}/s")
    return CaptionSystem(name, captions, captioner.read_mode, time.perf_counter() - start)


def _captioned(
    folders: Sequence[Path],
    test_set: CaptionSet,
    images: Path | None,
    options: OpenOptions,
    save: Path | None,
    attention: bool,
) -> Iterator[CaptionSystem]:
    """Caption with each model; save its captions before the next model is opened."""
    if not folders:
        return
    if images is None:
        raise ModelError(
            "a model without images", "the folder or archive of the images", "give --images"
        )
    files = find_images(test_set, open_images(images))
    for name, folder in zip(model_names(folders), folders, strict=True):
        captioner = loading.open_captioner(folder, options)
        with options.messages.progress(f"captioning, {name}", total=len(files)) as advance:
            system = caption_test_set(
                name, files, captioner, search=captioner.search, advance=advance
            )
        texts = (" ".join(text.split()) for text in system.captions)
        save_outputs(save, name, map("\t".join, zip(test_set.images, texts, strict=True)))
        if attention and captioner.read_mode:
            with options.messages.progress(
                f"scoring attention, {name}", total=len(files)
            ) as advance:
                scores = attention_scores(captioner, files, captioner.search, advance)
            system = system._replace(attention=scores)
        yield system


def read_caption_system(path: Path, test: CaptionSet) -> CaptionSystem:
    """Read the captions of another program.

    The file has one line for each image of the test set, in its order; or rows of image and
    caption in any order: a table, JSON lines or a JSON array, as ``attn caption`` writes them.
    """
    with open_text(path, as_written=True) as lines:
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
    with open_text(path, as_written=True) as lines:
        return next(lines, "").lstrip()[:1] in ("{", "[")


def _objects(path: Path, rows: list[str]) -> list[Any]:
    try:
        if rows[0].lstrip().startswith("["):
            return list(parse_json("\n".join(rows)))
        return [parse_json(row) for row in rows]
    except ValueError as error:
        reason = getattr(error, "msg", "") or error
        raise ModelError(f"{path} is not JSON ({reason})", "an array, or lines") from None


def _named(record: Any) -> tuple[str, str]:
    """Return the image name and the caption of an object."""
    expected = '{"image": name, "caption": text}, one for each image'
    try:
        name = next(record[key] for key in ("image", "image_id", "filename") if key in record)
        return str(name), str(record["caption"] or "")
    except (KeyError, TypeError, StopIteration):
        raise ModelError(f"a caption is given as {json.dumps(record)[:60]}", expected) from None


def _in_order(path: Path, rows: list[str], test: CaptionSet) -> list[str]:
    if len(rows) != len(test.images):
        raise ModelError(
            f"{path} has {counted(len(rows), 'line')}",
            f"{len(test.images):,}, one for each image of {test.name}",
            "or write image, tab, caption",
        )
    return rows


def _by_name(path: Path, found: dict[str, str], test: CaptionSet) -> list[str]:
    """Return the captions in the order of the test set; names match with or without folders."""
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

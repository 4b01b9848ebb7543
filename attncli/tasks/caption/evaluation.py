"""Score captions against references: read the test set, caption it, compute the scores."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attncli.data.images.captions import parts_of, read_captions
from attncli.data.images.index import ImageIndex, last_part, open_images
from attncli.data.images.named import ImageFile
from attncli.data.streams import check_files
from attncli.data.text.text_files import open_text
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions, model_names
from attncli.options.evaluation import save_outputs
from attncli.scoring.captions import CaptionScores, caption_scores
from attncli.tasks.caption.attention_scores import AttentionScores, attention_scores
from attncli.tasks.caption.images import caption_images
from attncli.terminal.messages import ShowProgress, counted
from models.base.errors import ModelError
from models.base.parsing import parse_json

if TYPE_CHECKING:
    from models.inference.captioner import Captioner


class CaptionSet(NamedTuple):
    """Images and their reference captions."""

    name: str
    images: list[str]  # names in the file of captions
    references: list[list[str]]


class CaptionSystem(NamedTuple):
    """Captions by one model or program."""

    name: str
    captions: list[str]
    read: str = ""  # read mode of a model
    seconds: float | None = None  # to read and caption the images, for a model
    attention: AttentionScores | None = None  # of a model, if requested


class CaptionEvaluation(NamedTuple):
    """A system and its scores."""

    system: CaptionSystem
    scores: CaptionScores


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
) -> tuple[list[CaptionEvaluation], CaptionSet]:
    """Score the captions of models, and of other programs, against references.

    captions: file of references. images: folder or archive of the images, for models.
    hypotheses: files of captions. part: train, dev or test, for a file with splits; "" means its
    test part. attention: True scores the attention of models, too. save: file for the captions of
    each model; `{model}` in its name is replaced. Raises ModelError for files that do not fit.
    """
    options = options or OpenOptions()
    check_files([captions])
    rows = read_captions(captions, part=part or ("test" if parts_of(captions) else ""))
    references = [list(row.captions) for row in rows]
    test_set = CaptionSet(captions.name, [row.image for row in rows], references)
    others = [read_caption_system(path, test_set) for path in hypotheses]
    systems = [*_captioned(models, test_set, images, options, save, attention), *others]
    scored = [CaptionEvaluation(s, caption_scores(s.captions, references)) for s in systems]
    return scored, test_set


def find_images(test: CaptionSet, images: ImageIndex) -> list[ImageFile]:
    """Return the images of a test set. Raises ModelError if one is missing."""
    places = {name: images.find(name) for name in test.images}
    if missing := [name for name, place in places.items() if place is None]:
        raise ModelError(
            f"{len(missing):,} of {len(places):,} images of {test.name} are not in "
            f"{images.path}, {missing[0]} first",
            "each of them",
        )
    return [ImageFile(name, place) for name, place in places.items() if place]


def caption_test_set(
    name: str, files: Sequence[ImageFile], captioner: Captioner, advance: ShowProgress
) -> CaptionSystem:
    """Caption the images of a test set. Raises ModelError if one cannot be read."""
    start, captions = time.perf_counter(), []
    for outcomes in caption_images([files], captioner):
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
    assert images is not None
    files = find_images(test_set, open_images(images))
    for name, folder in zip(model_names(folders), folders, strict=True):
        captioner = loading.open_captioner(folder, options)
        with options.messages.progress(f"captioning, {name}", total=len(files)) as advance:
            system = caption_test_set(name, files, captioner, advance)
        texts = (" ".join(text.split()) for text in system.captions)
        save_outputs(save, name, map("\t".join, zip(test_set.images, texts, strict=True)))
        if attention and captioner.read_mode:
            with options.messages.progress(
                f"scoring attention, {name}", total=len(files)
            ) as advance:
                scores = attention_scores(captioner, files, advance)
            system = system._replace(attention=scores)
        yield system


def read_caption_system(path: Path, test: CaptionSet) -> CaptionSystem:
    """Read the captions of another program.

    The file has one line for each image of the test set, in its order; or rows of image and
    caption in any order: a table, JSON lines or a JSON array, as ``attn caption`` writes them.
    """
    with open_text(path, as_written=True) as lines:
        rows = list(lines)
    if rows and rows[0].lstrip()[:1] in ("{", "["):
        found = _of_json(path, "\n".join(rows))
    elif rows and all("\t" in row for row in rows):
        cells = [row.split("\t") for row in rows]
        found = {cell[0]: cell[1] for cell in reversed(cells)}  # of several, the first
    elif len(rows) != len(test.images):
        raise ModelError(
            f"{path} has {counted(len(rows), 'line')}",
            f"{len(test.images):,}, one for each image of {test.name}",
            "or write image, tab, caption",
        )
    else:
        return CaptionSystem(path.name, rows)
    return CaptionSystem(path.name, _by_name(path, found, test))


def _of_json(path: Path, text: str) -> dict[str, str]:
    """Return the caption of each image, given an array of objects or one object a line."""
    try:
        if text.lstrip().startswith("["):
            records = parse_json(text)
        else:
            records = [parse_json(row) for row in text.split("\n") if row.strip()]
        return {str(record["image"]): str(record["caption"] or "") for record in records}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(
            f"{path} has no JSON of captions ({error})",
            '{"image": name, "caption": text}, one for each image',
        ) from None


def _by_name(path: Path, found: dict[str, str], test: CaptionSet) -> list[str]:
    """Return the captions in the order of the test set; names match with or without folders."""
    alone = {last_part(name): text for name, text in found.items()}
    captions = []
    for image in test.images:
        caption = found.get(image, alone.get(last_part(image)))
        if caption is None:
            raise ModelError(f"{path} has no caption for {image}", f"one for each of {test.name}")
        captions.append(caption)
    return captions

"""Caption pictures, a batch after another: one outcome for each, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from attncli.data.picture_files import PictureFile
from models.errors import ModelError

if TYPE_CHECKING:
    from PIL.Image import Image

    from models.captioner import Caption, Captioner
    from models.config import SearchConfig

BATCH = 32  # pictures at a time


class Outcome(NamedTuple):
    """What became of a picture."""

    file: PictureFile
    caption: Caption | None  # None: there is none, `note` says why
    picture: Image | None = None  # what it was made from, where it is to be drawn
    note: str = ""


def caption_pictures(
    groups: Iterable[Sequence[PictureFile]],
    captioner: Captioner,
    *,
    search: SearchConfig,
    attention: bool = False,
    batch: int = BATCH,
) -> Iterator[list[Outcome]]:
    """The outcomes of each group, at most a batch at a time; a batch is in memory, no more.

    attention: whether to say where the model looked, and to keep the pictures for drawing.
    """
    for group in groups:
        for start in range(0, len(group), batch):
            files = group[start : start + batch]
            yield _captioned(files, captioner, search=search, attention=attention)


def _captioned(
    files: Sequence[PictureFile], captioner: Captioner, *, search: SearchConfig, attention: bool
) -> list[Outcome]:
    opened = [_opened(file, captioner) for file in files]
    pictures = [picture for picture in opened if not isinstance(picture, str)]
    captions = iter(
        captioner.caption(pictures, search=search, attention=attention) if pictures else []
    )
    return [
        Outcome(file, None, note=picture)
        if isinstance(picture, str)
        else Outcome(file, next(captions), picture if attention else None)
        for file, picture in zip(files, opened, strict=True)
    ]


def _opened(file: PictureFile, captioner: Captioner) -> Image | str:
    """The picture, or what is wrong with it."""
    from models.images import open_image

    if file.fault:
        return file.fault
    try:
        return open_image(file.content(), least=captioner.config.image.size)
    except ModelError as error:
        return str(error)

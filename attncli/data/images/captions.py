r"""Captions of images, read from the usual file formats.

table        image <TAB> caption, or several captions a row; an image may have many rows
token file   image.jpg#0 <TAB> caption                                    (Flickr8k, Flickr30k)
CSV          a first line `image,caption`, then a row for each                   (Flickr8k, Kaggle)
Karpathy     {"images": [{"filename", "split", "sentences": [{"raw"}]}]}    with the usual splits
COCO         {"images": [{"id", "file_name"}], "annotations": [{"image_id", "caption"}]}

The content of a file determines its format. Files may be compressed. Decomposed accents are
composed (Unicode NFC) in captions, but not in the names of images.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from attncli.data.text import text_files
from attncli.terminal.messages import counted
from models.base.errors import ModelError
from models.base.parsing import parse_json
from models.text.normalise import nfc

NUMBERED = re.compile(r"(.+\.\w+)#\d+")  # a name in a token file
PARTS = {  # names of the splits of a Karpathy file
    "train": ("train", "restval"),
    "dev": ("val", "dev", "valid", "validation"),
    "test": ("test",),
}
INNER = re.compile(r"(?<=\w)['’-](?=\w)")  # punctuation that belongs to a word


class Captioned(NamedTuple):
    """An image and its captions."""

    image: str  # file name, as in the file of captions
    captions: tuple[str, ...]  # at least one


def read_captions(path: Path | str, *, part: str = "") -> list[Captioned]:
    """Return the images of a file in the order in which they first appear.

    part: the split to read, if the file has splits: train, dev or test; "" for all. Raises
    ModelError, with the line number if there is one, for content that cannot be parsed.
    """
    rows = _records(_json(path), path, part) if _is_json(path) else _rows(path)
    found: dict[str, list[str]] = {}
    for image, caption in rows:
        found.setdefault(image, []).append(nfc(caption))
    if not found:
        wanted = f"an image of its part '{part}'" if part else "an image with its caption"
        raise ModelError(f"{path} has no captions", wanted)
    return [Captioned(image, tuple(captions)) for image, captions in found.items()]


def parts_of(path: Path | str) -> set[str]:
    """Return the parts into which a file divides its images: train, dev, test; or none."""
    found = _json(path) if _is_json(path) else None
    images = found.get("images") if isinstance(found, dict) else None
    records = images if isinstance(images, list) else []
    splits = {str(image.get("split")) for image in records if isinstance(image, dict)}
    return {part for part, names in PARTS.items() if not splits.isdisjoint(names)}


def styled(caption: str, style: str) -> str:
    """Return a caption in the style that a model learns.

    words: in lower case and without punctuation, as in the papers; plain: as written, with single
    spaces.
    """
    if style == "words":
        kept = INNER.sub(lambda inner: "\0" if inner[0] == "-" else "\1", caption.lower())
        kept = "".join(" " if unicodedata.category(c)[0] in "PS" else c for c in kept)
        caption = kept.replace("\0", "-").replace("\1", "'")
    return " ".join(caption.split())


def _is_json(path: Path | str) -> bool:
    return text_files.read_head(path).lstrip()[:1] in (b"{", b"[")


def _rows(path: Path | str) -> Iterator[tuple[str, str]]:
    """Yield name and caption of each row of a table, a token file or a CSV file."""
    with text_files.open_text(path, as_written=True) as lines:
        rows = list(lines)
    first = rows[0] if rows else ""
    if re.fullmatch(r"image(_name)?,\s*caption", first.strip().lower()):
        yield from _comma_separated(path, rows)
        return
    numbered = NUMBERED.fullmatch(first.partition("\t")[0])
    for number, line in enumerate(rows, 1):
        if not line.strip():
            continue
        name, *captions = line.split("\t")
        if not captions:
            raise ModelError(
                f"{path}, line {number} has no tab",
                "image, tab, caption (or Karpathy's or COCO's JSON)",
            )
        if not name.strip():
            raise ModelError(f"{path}, line {number} has no image's name before the tab")
        if match := numbered and NUMBERED.fullmatch(name):
            name = match[1]
        yield from ((name.strip(), caption.strip()) for caption in captions)


def _comma_separated(path: Path | str, lines: list[str]) -> Iterator[tuple[str, str]]:
    try:
        rows = list(csv.reader(lines))
    except csv.Error as error:
        raise ModelError(f"{path} is not a CSV file ({error})", "image and caption") from None
    for number, row in enumerate(rows[1:], 2):
        if len(row) != 2:
            raise ModelError(
                f"{path}, row {number} has {counted(len(row), 'column')}", "image and caption"
            )
        yield row[0].strip(), row[1].strip()


def _json(path: Path | str) -> Any:
    try:
        return parse_json(text_files.read_content(path))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is not JSON ({error})", "Karpathy's or COCO's JSON") from None


def _records(found: Any, path: Path | str, part: str) -> Iterator[tuple[str, str]]:
    """Yield name and caption of each record of a JSON file."""
    expected = '"images" with "sentences" (Karpathy), or "images" and "annotations" (COCO)'
    try:
        coco = "annotations" in found
        yield from _coco(found) if coco else _karpathy(found, PARTS.get(part, ()))
    except (KeyError, TypeError, AttributeError) as error:
        missing = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise ModelError(f"{path} is JSON of another kind ({missing})", expected) from None


def _karpathy(found: Any, splits: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for image in found["images"]:
        if splits and image.get("split", splits[0]) not in splits:
            continue
        folder, name = image.get("filepath", ""), _name(image["filename"])
        name = f"{folder}/{name}" if folder else name
        for sentence in image["sentences"]:
            yield name, str(sentence.get("raw") or " ".join(sentence["tokens"])).strip()


def _coco(found: Any) -> Iterator[tuple[str, str]]:
    names = {image["id"]: _name(image["file_name"]) for image in found["images"]}
    for annotation in found["annotations"]:
        yield names[annotation["image_id"]], str(annotation["caption"]).strip()


def _name(value: Any) -> str:
    """Return the name of a file; a TypeError for a value of another type."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not a file name")
    return value

"""Files of prepared captions in a run folder.

data/tokenizer.model, target.ids, target.offsets.npy    captions to train on, as token ids
data/pictures.npy       (N,) index of each caption's image
data/made.json          content hashes of the images, and what was excluded
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attncli.data.images.captions import Captioned, styled
from attncli.data.text.token_writing import SideWriter, id_type
from attncli.data.text.tokens import Dropped, Side, read_side
from attncli.training.settings.config import DataConfig
from models.base.errors import ModelError
from models.base.files import write_errors, write_text
from models.base.parsing import parse_json
from models.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Manifest:
    """The content of `data/made.json`."""

    train: dict[str, str]  # name of an image: content hash
    dev: dict[str, str]
    missing: list[str]  # names that no file has
    broken: dict[str, str]  # name of an image that cannot be decoded: reason, with the name
    empty: int  # captions excluded
    long: int


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write `made.json`."""
    write_text(folder / "made.json", json.dumps(dataclasses.asdict(manifest), ensure_ascii=False))


def read_manifest(folder: Path) -> Manifest:
    """Return the content of `made.json`; raise a ModelError if it is damaged."""
    try:
        return Manifest(**parse_json((folder / "made.json").read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise _damaged(folder, error) from None


def write_captions(
    train: list[Captioned], tokenizer: Tokenizer, folder: Path, data: DataConfig
) -> Dropped:
    """Write token ids and image indices of the captions; count those that are empty or too long."""
    numbers, empty, long = [], 0, 0
    with write_errors(folder):
        writer = SideWriter(folder, "target", id_type(len(tokenizer.target)))
        for number, image in enumerate(train):
            for caption in image.captions:
                ids = tokenizer.encode_target(styled(caption, data.caption_style))
                if len(ids) < 2:
                    empty += 1
                elif len(ids) > data.max_length:
                    long += 1
                else:
                    writer.add(ids)
                    numbers.append(number)
        writer.close()
        np.save(folder / "pictures.npy", np.array(numbers, np.int64), allow_pickle=False)
    if not numbers:
        raise ModelError(
            f"no usable caption in {data.captions}: {empty:,} are empty, "
            f"{long:,} are longer than data.max_length",
            "captions of that length",
        )
    return Dropped(empty, long)


def read_prepared_captions(folder: Path) -> tuple[Side, np.ndarray]:
    """Return the memory-mapped captions, and the index (N,) of each one's image."""
    try:
        return read_side(folder, "target"), np.load(folder / "pictures.npy", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise _damaged(folder, error) from None


def _damaged(folder: Path, error: Exception) -> ModelError:
    return ModelError(
        f"the prepared captions in {folder} are damaged ({error})",
        "files written by `attn train`",
        "remove the run folder to start again",
    )

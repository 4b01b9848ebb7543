"""Preparation of the texts of a run: its settings, the vocabulary, and the folder of the result.

The folder of the prepared data is complete or absent, with digests of its files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attncli.tags.checks import are_faithful
from attncli.training.settings.config import RunConfig
from models.base.errors import ModelError
from models.base.files import write_bytes, write_folder, write_text
from models.base.parsing import parse_json
from models.base.process import interruptible
from models.base.settings import from_dict, to_dict
from models.config import VERBATIM, PrepareConfig, TokenizerConfig
from models.storage.digests import check_digests, read_digests, write_digests
from models.storage.settings import read_settings
from models.text.labels import read_tokenizer
from models.text.prepare import check_untokenised, preparation_for
from models.text.tokenizer import Tokenizer, train

if TYPE_CHECKING:
    from attncli.training.interfaces import Progress

FORMS = "prepare.json"
LARGEST, SMALLEST = 32_000, 400  # tokens
MOST_LINES = 300_000  # pairs or texts that a vocabulary is learned from; more are sampled


class Preparation(NamedTuple):
    """The settings by which the texts of a run are prepared."""

    data: Any  # a DataConfig of the kind of input
    tokenizer: TokenizerConfig
    start_from: str  # trained model whose tokenizer is used; "": one is learned
    seed: int  # of sampled lines and of examples that are held out
    longest: int  # a text in tokens; longer ones are left out


def preparation(config: RunConfig) -> Preparation:
    """Return the settings by which the texts of a run are prepared."""
    longest = min(config.data.max_length, config.model.max_source)
    return Preparation(config.data, config.tokenizer, config.start_from, config.train.seed, longest)


def size_for(words: int) -> int:
    """Return a vocabulary size: 10 times the square root of the running words, in hundreds.

    Examples: 8,600 for the 30,000 pairs of Multi30k; 32,000 from about ten million words on.
    """
    size = round(10 * math.sqrt(words) / 100) * 100
    return max(SMALLEST, min(LARGEST, size))


def count_words(lines: Iterable[str]) -> int:
    """Return the number of running words."""
    return sum(len(line.split()) for line in lines)


def learn_side(texts: list[str], config: TokenizerConfig) -> Tokenizer:
    """Return a tokenizer learned from the texts of one side, with a size that fits them."""
    size = config.size or size_for(count_words(texts))
    return train(texts, [], size, replace(config, joint=True))


def write_vocabulary(
    folder: Path, start_from: str, learn: Callable[[], Tokenizer], progress: Progress
) -> Tokenizer:
    """Write the tokenizer of the initial model, or a newly learned one, to a folder; return it.

    Ctrl-C can interrupt the learning.
    """
    if start_from:
        tokenizer = read_tokenizer(Path(start_from))
    else:
        progress("learning the vocabulary", 0, 0)
        tokenizer = interruptible(learn)
    for name, content in tokenizer.files().items():
        write_bytes(folder / name, content)
    return tokenizer


def prepare_folder(folder: Path, make: Callable[[Path], None]) -> None:
    """Let ``make`` fill a missing folder; compare the files of an existing one with their digests.

    Raises DamagedError for the first file that differs from its digest.
    """

    def fill(part: Path) -> None:
        make(part)
        write_digests(part)

    if folder.exists():
        check_folder(folder)
    else:
        write_folder(folder, fill)


def check_folder(folder: Path) -> None:
    """Compare the files of prepared data with their digests, if they have any."""
    hint = "restore the file, or remove the run folder to start again"
    check_digests(folder, read_digests(folder), hint)


@contextmanager
def reading(subject: str) -> Iterator[None]:
    """Report prepared data that cannot be read as a ModelError.

    subject: with its verb, such as "the tokenised corpus in runs/a/data is".
    """
    try:
        yield
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"{subject} damaged ({error})",
            "files written by `attn train`",
            "remove the run folder to start again",
        ) from None


def read_made(folder: Path) -> Any:
    """Return the content of `made.json`: what was left out of the prepared data."""
    return parse_json((folder / "made.json").read_text("utf-8"))


def write_forms(
    folder: Path, start_from: str, sources: Sequence[str], targets: Sequence[str]
) -> None:
    """Store how a model of these texts prepares its sources: as the initial model, if there is one.

    Raises InputError for texts that are tokens of SentencePiece.
    """
    for texts, side in ((sources, "source"), (targets, "target")):
        check_untokenised(texts, f"the {side} text")
    if start_from:
        stored = read_settings(Path(start_from)).get("prepare", {})
    else:
        form = preparation_for(sources, targets)
        stored = to_dict(replace(form, parts=are_faithful(sources, targets)))
    write_text(folder / FORMS, json.dumps(stored))


def start_forms(start_from: str) -> PrepareConfig:
    """Return how the initial model prepares texts; without one, they stay as they are."""
    if not start_from:
        return VERBATIM
    stored = read_settings(Path(start_from)).get("prepare", {})
    return from_dict(PrepareConfig, stored, where="prepare")


def read_forms(folder: Path) -> PrepareConfig:
    """Return the preparation that `write_forms` stored; the defaults for data made before it."""
    path = folder / FORMS
    stored = parse_json(path.read_text("utf-8")) if path.exists() else {}
    return from_dict(PrepareConfig, stored, where="prepare")

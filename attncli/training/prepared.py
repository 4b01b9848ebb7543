"""The prepared data of a run: its vocabulary, and tables of token ids in the folder `data`.

The folder is complete or absent, with digests of its files. Texts are read twice: a sample of them
for the vocabulary, then all of them to be tokenised. Afterwards they are memory-mapped.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attncli.faithful.checks import are_faithful
from attncli.terminal import console
from attncli.terminal.messages import counted
from attncli.training.examples import Table
from attncli.training.tokens import SIDES, Dropped, read_pairs, write_pairs
from models.core.errors import ModelError
from models.core.files import write_bytes, write_folder, write_text
from models.core.limits import interruptible
from models.core.settings import from_dict, parse_json, to_dict
from models.core.use_config import VERBATIM, PrepareConfig, TokenizerConfig
from models.storage.digests import check_digests, read_digests, write_digests
from models.storage.settings import read_settings
from models.text.normalise import check_untokenised, preparation_for, with_apostrophes
from models.text.tokenizer import Tokenizer, read_tokenizer, train, with_new_tokens

if TYPE_CHECKING:
    from attncli.training.interfaces import Progress
    from attncli.training.sources import TrainingSource

FORMS = "prepare.json"
MAX_VOCABULARY_LINES = 300_000  # pairs or texts; of more, a sample teaches the vocabulary
LARGEST, SMALLEST = 32_000, 400  # tokens of a vocabulary
Learn = Callable[[], Tokenizer]
Finish = Callable[[Path, Tokenizer, np.ndarray], None]  # folder, tokenizer, kept pairs (N,)


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


def write_made(folder: Path, content: object) -> None:
    """Write `made.json`."""
    write_text(folder / "made.json", json.dumps(content, ensure_ascii=False))


class PairTable(NamedTuple):
    """Pairs of sources and targets that can be read again and again, without those of the dev set.

    Pairs are sentence pairs, rows of inputs with their targets, or labelled texts.
    """

    name: str  # of the files, for messages
    read: Callable[[], Iterable[tuple[str, str]]]
    longest: int  # a side in tokens; longer pairs are left out
    held: Collection[str] = frozenset()  # sources that are left out, because they are the dev set
    forms: PrepareConfig = VERBATIM  # of a trained model, whose apostrophes both sides get
    part: str = ""  # folder of its columns in that of all tables
    sides: Sequence[str] = SIDES  # that are tokenised
    label: str = "tokenising"  # for the progress display

    def pairs(self, forms: PrepareConfig = VERBATIM) -> Iterator[tuple[str, str]]:
        """Yield each source with its target."""
        for source, target in self.read():
            if source not in self.held:
                yield with_apostrophes(source, forms), with_apostrophes(target, forms)


class Preparation(NamedTuple):
    """How the tables of a run are tokenised."""

    # folder and both sides of at most MAX_VOCABULARY_LINES sampled pairs, an equal number of each
    # table, to the function that learns their vocabulary
    learner: Callable[[Path, list[str], list[str]], Learn]
    change: Callable[[Tokenizer], Tokenizer] = lambda tokenizer: tokenizer  # see `write_vocabulary`
    # writes what else belongs to the pairs of a table that are kept
    finish: Finish = lambda folder, tokenizer, kept: None


def write_tables(
    source: TrainingSource,
    tables: Sequence[PairTable],
    folder: Path,
    progress: Progress,
    how: Preparation,
) -> list[Dropped]:
    """Tokenise the tables of a run into a folder; return how many pairs of each are left out."""
    progress("reading", 0, 0)
    most, dropped = max(1, MAX_VOCABULARY_LINES // len(tables)), []
    samples = [sampled_lines(table.pairs(), most, source.train.seed) for table in tables]
    sources = [text for sample in samples for text in sample[0]]
    targets = [text for sample in samples for text in sample[1]]
    learn = how.learner(folder, sources, targets)
    tokenizer = write_vocabulary(folder, source, learn, progress, how.change)
    for table, (_, _, total) in zip(tables, samples, strict=True):
        place = folder / table.part
        place.mkdir(exist_ok=True)

        def advance(done: int, label: str = table.label, total: int = total) -> None:
            progress(label, done, total)

        found, kept = write_pairs(
            table.pairs(table.forms),
            tokenizer,
            place,
            max_length=table.longest,
            sides=table.sides,
            name=table.name,
            advance=advance,
        )
        how.finish(place, tokenizer, kept)
        dropped.append(found)
    return dropped


def load_tables(
    source: TrainingSource,
    tables: Sequence[PairTable],
    folder: Path,
    progress: Progress,
    how: Preparation,
) -> tuple[list[Table], Dropped, Tokenizer]:
    """Return the tables of a run, what all of them lack, and the tokenizer, made the first time."""
    several = any(table.part for table in tables)

    def make(part: Path) -> None:
        dropped = [one._asdict() for one in write_tables(source, tables, part, progress, how)]
        write_made(part, dropped if several else dropped[0])

    prepare_folder(folder, make)
    with reading(f"the tokenised pairs in {folder} are"):
        made = read_made(folder)
        dropped = [Dropped(**record) for record in (made if several else [made])]
        stored = [read_pairs(folder / table.part) for table in tables]
    total = Dropped(*(sum(column) for column in zip(*dropped, strict=True)))
    return stored, total, read_tokenizer(folder)


def sampled_lines(
    pairs: Iterable[tuple[str, str]], most: int, seed: int
) -> tuple[list[str], list[str], int]:
    """Return the sides of up to `most` pairs, sampled uniformly, and the number of all pairs.

    Source: Vitter 1985, algorithm R.
    """
    sampled: list[tuple[str, str]] = []
    rng, total = random.Random(seed), 0
    for total, pair in enumerate(pairs, 1):
        if total <= most:
            sampled.append(pair)
        elif (place := rng.randrange(total)) < most:
            sampled[place] = pair
    return [source for source, _ in sampled], [target for _, target in sampled], total


def size_for(words: int) -> int:
    """Return a vocabulary size: 10 times the square root of the running words, in hundreds.

    Examples: 8,600 for the 30,000 pairs of Multi30k; 32,000 from about ten million words on.
    """
    return max(SMALLEST, min(LARGEST, round(10 * math.sqrt(words) / 100) * 100))


def learn_tokenizer(source: list[str], target: list[str], config: TokenizerConfig) -> Tokenizer:
    """Return a tokenizer learned from texts; say which characters it encodes as bytes.

    Without a given size, it has one that fits the texts: separate vocabularies that of the longer
    side.
    """
    words = [sum(len(line.split()) for line in side) for side in (source, target)]
    size = config.size or size_for(sum(words) if config.joint else max(words))
    tokenizer = train(source, target, size, config)
    if rare := len(tokenizer.rare):
        what = "set tokenizer.size to have more of them" if config.size else "they occur once"
        console.say(f"vocabulary: {counted(rare, 'rare character')} encoded as bytes; {what}")
    return tokenizer


def learn_side(texts: list[str], config: TokenizerConfig) -> Tokenizer:
    """Return a tokenizer learned from the texts of one side, with a size that fits them."""
    return learn_tokenizer(texts, [], replace(config, joint=True))


def write_vocabulary(
    folder: Path,
    source: TrainingSource,
    learn: Learn,
    progress: Progress,
    change: Callable[[Tokenizer], Tokenizer] = lambda tokenizer: tokenizer,
) -> Tokenizer:
    """Write the tokenizer of the initial model, or a newly learned one, to a folder; return it.

    change: of either tokenizer, such as further tokens. Ctrl-C can interrupt the learning.
    """
    if source.start_from:
        own = read_tokenizer(Path(source.start_from))
        tokenizer = with_new_tokens(own, source.tokenizer.model)
    else:
        progress("learning the vocabulary", 0, 0)
        tokenizer = interruptible(learn)
    tokenizer = change(tokenizer)
    for name, content in tokenizer.files().items():
        write_bytes(folder / name, content)
    return tokenizer


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

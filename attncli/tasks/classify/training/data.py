"""Training on labelled texts."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attncli.data.dev_split import described
from attncli.data.text import tokens
from attncli.data.text.tables import LabelledText, check_order, read_labelled, set_aside
from attncli.data.text.tokens import SideWriter, id_type
from attncli.embedded import Splits
from attncli.embedded.grammar import split_tenses
from attncli.tasks.classify.training.dev import DevLabels
from attncli.tasks.classify.training.source import LabelData
from attncli.training.interfaces import Data, Prepared, Progress
from attncli.training.sources import (
    MOST_LINES,
    Preparation,
    learn_side,
    read_made,
    reading,
    write_vocabulary,
)
from models.base.errors import ModelError
from models.base.files import write_folder, write_text
from models.text.normalise import normalise
from models.text.tokenizer import LabelTokenizer, read_tokenizer
from models.use_config import TokenizerConfig

if TYPE_CHECKING:
    pass


# Labelled texts in training.


DEMO_SIZE = 8000  # sentences of the embedded grammar, train
DEV_SENTENCES = 500  # of the embedded grammar, dev and test each


class LabelSplits(NamedTuple):
    """Labelled texts as read from their files."""

    train: list[LabelledText]
    dev: list[LabelledText]


def load(settings: Preparation, folder: Path, progress: Progress) -> Data:
    """Return the run's data; prepare them in the run folder the first time."""
    data, seed = settings.data, settings.seed
    if not data.labels:
        data = demonstration(data, seed, folder)
    rows, place = read_rows(data), folder / "data"
    if not place.exists():
        write_folder(place, lambda part: prepare(settings, rows, part, progress))
    with reading(f"the tokenised texts in {place} are"):
        dropped, pairs = tokens.Dropped(**read_made(place)), tokens.read_pairs(place)
    dev = dev_labels(rows.dev) if rows.dev else None
    remarks: tuple[str, ...] = ()
    if dev and not data.dev_labels:
        remarks = (described(len(dev), "labelled texts"),)
    return Data(Prepared(read_tokenizer(place), pairs, dropped, remarks=remarks), dev)


def demonstration(data: LabelData, seed: int, folder: Path) -> LabelData:
    """Write labelled sentences of the embedded grammar; return settings that name the files."""
    if not (folder / "data").exists():  # data/ is written after these files
        parts = demo_rows(data, seed)
        for name, rows in zip(parts._fields, parts, strict=True):
            write_text(folder / f"{name}.tsv", as_table(rows))
    return replace(data, labels=str(folder / "train.tsv"), dev_labels=str(folder / "dev.tsv"))


def demo_rows(data: LabelData, seed: int) -> Splits:
    """Return labelled sentences of the embedded grammar."""
    return split_tenses(data.demo_size or DEMO_SIZE, DEV_SENTENCES, seed=seed)


def as_table(rows: Iterable[tuple[str, str]]) -> str:
    """Return rows (label, text) as a table."""
    return "".join(f"{label}\t{text}\n" for label, text in rows)


def dev_labels(rows: Sequence[LabelledText]) -> DevLabels:
    """Return labelled texts as a dev set."""
    return DevLabels([row.text for row in rows], [row.label for row in rows])


def read_rows(data: LabelData) -> LabelSplits:
    """Return the rows of both sets; raise ModelError for a dev label that training lacks."""
    rows = read_labelled(data.labels)
    check_order(rows, data.labels)
    if not data.dev_labels:
        return LabelSplits(*set_aside(rows, data.dev_share))
    dev = read_labelled(data.dev_labels)
    if unknown := sorted({row.label for row in dev} - {row.label for row in rows}):
        raise ModelError(
            f"label {unknown[0]!r} in {data.dev_labels}", f"the labels of {data.labels}"
        )
    return LabelSplits(rows, dev)


def prepare(settings: Preparation, rows: LabelSplits, folder: Path, progress: Progress) -> None:
    """Learn a vocabulary, and write the texts and labels as ids."""
    tokenizer = write_vocabulary(
        folder,
        settings,
        lambda: learn(rows, settings.tokenizer, settings.seed),
        progress,
    )
    assert isinstance(tokenizer, LabelTokenizer)
    write_rows(rows.train, tokenizer, settings, folder)


def write_rows(
    rows: Sequence[LabelledText], tokenizer: LabelTokenizer, settings: Preparation, folder: Path
) -> None:
    """Write tokenised texts, the numbers of their labels, and how many rows are left out."""
    encoded = [(tokenizer.encode(row.text) if row.text.strip() else [], row.label) for row in rows]
    kept = [
        (ids, tokenizer.encode_target(label))
        for ids, label in encoded
        if 0 < len(ids) <= settings.longest
    ]
    empty = sum(not ids for ids, _ in encoded)
    dropped = tokens.Dropped(empty, len(encoded) - empty - len(kept))
    if not kept:
        raise ModelError(
            f"no usable text in {settings.data.labels}: {dropped.empty:,} are empty, "
            f"{dropped.long:,} are longer than data.max_length",
            "texts of that length",
        )
    kind = id_type(max(len(tokenizer.source), len(tokenizer.labels)))
    for side, ids_of in zip(("source", "target"), zip(*kept, strict=True), strict=True):
        writer = SideWriter(folder, side, kind)
        writer.add(ids_of)
        writer.close()
    write_text(folder / "made.json", json.dumps(dropped._asdict()))


def learn(rows: LabelSplits, config: TokenizerConfig, seed: int) -> LabelTokenizer:
    """Return a tokenizer learned from the training texts, with the labels of all rows."""
    texts = [normalise(row.text) for row in rows.train]
    if len(texts) > MOST_LINES:
        texts = random.Random(seed).sample(texts, MOST_LINES)
    labels = sorted({row.label for part in rows for row in part})
    return LabelTokenizer(learn_side(texts, config).files()["tokenizer.model"], labels)

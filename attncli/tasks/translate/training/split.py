"""Dev set held out of sentence pairs: dev.tsv in the run folder, by source sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from attncli.data.dev_split import held_out
from attncli.data.text import corpus
from attncli.training.settings.config import DataConfig
from models.base.files import write_text


class TextSplit(NamedTuple):
    """Settings that name the dev set, and the sources to leave out of training."""

    data: DataConfig
    held: frozenset[str] = frozenset()


def split_dev(data: DataConfig, seed: int, folder: Path) -> TextSplit:
    """Write dev.tsv the first time; a run that was prepared without a dev set has none.

    The dev set has the first pair of each source that is held out.
    """
    path = folder / "dev.tsv"
    named = replace(data, dev=(str(path),))
    if (folder / "data").exists():  # written after dev.tsv
        return TextSplit(named if path.exists() else data)
    sources = (pair.source for pair in corpus.read_pairs(data.train))
    held = held_out(sources, data.dev_share, seed)
    if not held:
        return TextSplit(data)
    rows: dict[str, str] = {}
    for source, references in corpus.read_pairs(data.train):
        if source in held and references[0].strip():
            rows.setdefault(source, references[0])
    write_text(path, "".join(f"{_cell(s)}\t{_cell(t)}\n" for s, t in rows.items()))
    return TextSplit(named, held)


def _cell(text: str) -> str:
    return text.replace("\t", " ")

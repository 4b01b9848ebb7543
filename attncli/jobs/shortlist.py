"""Make a lexical shortlist of a model, and store it in the bundle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from attncli.data.text.corpus import source_target_pairs
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions


class Made(NamedTuple):
    """A shortlist that was stored."""

    path: Path
    common: int  # number of target tokens that every output may contain
    per_token: float  # mean number of further target tokens of a source token


def make(
    folder: Path,
    corpora: Sequence[Sequence[Path]],
    options: OpenOptions,
    *,
    common: int,
    per_token: int,
    on_pairs: Callable[[int], None] = lambda done: None,
) -> Made:
    """Make the shortlist of a model from sentence pairs; those of other languages are kept.

    corpora: files of each corpus, source and target or one table. on_pairs: called with
    the number of pairs done.
    """
    from models.alignment.shortlist import shortlist
    from models.storage.settings import SHORTLIST
    from models.storage.shortlist import write_shortlists
    from models.text.tokenizer import PAD

    translator = loading.open_translator(folder, options)
    pairs = chain.from_iterable(map(source_target_pairs, corpora))
    made = shortlist(translator, pairs, common=common, per_token=per_token, on_pairs=on_pairs)
    write_shortlists({**translator.shortlists, translator.to: made}, folder)
    filled = (made.rows != PAD).sum(1)
    mean = float(filled.double().mean())
    return Made(folder / SHORTLIST, len(made.common), mean)

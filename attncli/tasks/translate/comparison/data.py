"""Sentence pairs that the runs of a comparison share: files, or the embedded grammar."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from attncli.data.alignments.links import Index, PairLinks, read_links
from attncli.jobs.compared.base import ComparedData, Sets
from attncli.jobs.compared.shared_files import fingerprints, write_tables
from attncli.tasks.translate.training.data import as_tsv, read_dev, sample_grammar
from attncli.training.settings.config import DataConfig
from models.base.errors import ModelError


def embedded(data: DataConfig, seed: int, folder: Path) -> ComparedData:
    """Write sentences of the embedded grammar to files that all runs share."""
    parts = sample_grammar(data, seed)
    tables = {name: as_tsv(pairs) for name, pairs in parts._asdict().items()}
    train, dev, test = write_tables(folder, tables)
    named = replace(data, train=(str(train),), dev=(str(dev),))
    links = [frozenset(pair.links) for pair in parts.test]
    return compared_texts(named, [test], tuple(PairLinks(sure, sure) for sure in links))


def compared_texts(
    data: DataConfig,
    test_files: Sequence[Path],
    gold: tuple[PairLinks, ...] | Path | None,
    index: Index | None = None,
) -> ComparedData:
    """Return the data with dev set, test set and gold links; a ModelError without a dev set."""
    dev = read_dev(data)
    if dev is None:
        raise ModelError("no dev set", "a dev set, which selects the weights", "give --dev FILE...")
    test = read_dev(replace(data, dev=tuple(map(str, test_files))))
    if isinstance(gold, Path):
        texts = test or dev
        pairs = zip(texts.sources, texts.references[0], strict=True)
        lengths = [(len(source.split()), len(target.split())) for source, target in pairs]
        gold = read_links(gold, lengths, index=index).rows
    known = [[sorted(row.sure), sorted(row.possible)] for row in gold or ()]
    marks = fingerprints([data.dev, test_files])
    mark = hashlib.sha256(f"{marks} {known}".encode()).hexdigest()
    return ComparedData(data, Sets(dev, test, mark, gold))

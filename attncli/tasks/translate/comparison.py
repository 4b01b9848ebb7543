"""Comparison of translators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from attncli.data.alignments import Index, PairLinks, read_links
from attncli.data.dev_split import held_out
from attncli.data.text.rows import row_pairs
from attncli.data.text.tables import open_text
from attncli.jobs.compared import (
    ComparedSource,
    Sets,
    TestFiles,
    mark_of,
    no_dev,
    write_tables,
)
from attncli.terminal.messages import one_cell
from models.base.errors import ConfigurationError
from models.sources import TAB

if TYPE_CHECKING:
    from attncli.tasks.translate.training.source import RowData, TextData


ONE_WAY = "model.bidirectional=false"  # dot, scaled_dot and cosine need keys of the query's size


class ComparedTexts(ComparedSource):
    """Translations: compared by BLEU and, with gold links, by the alignment error rate."""

    outputs = "translations"
    presets = "presets for texts"
    preset, demo_preset = "rnnsearch-small", "rnnsearch-nano"
    variants: ClassVar[
        tuple[str, ...]
    ] = (  # Luong et al. 2015, table 4, and what came before and after
        *("none", "location", "dot", "general", "concat", "additive", "cosine", "scaled_dot"),
        *("location_aware", "dot,local_m", "general,local_m", "dot,local_p", "general,local_p"),
        *("hard", "sparsemax", "entmax15", "heads=4"),
    )
    settings: ClassVar[tuple[str, ...]] = (ONE_WAY,)
    budget: ClassVar[tuple[str, ...]] = (
        *("train.batch_tokens=2048", "train.steps=1000", "train.evaluate_every=250"),
        "train.patience=0",
    )
    without_attention = "seq2seq"
    scoring = "attncli.tasks.translate.compared_scores:text_scores"

    def prepare(
        self, data: TextData, seed: int, files: TestFiles, folder: Path
    ) -> tuple[TextData, Sets]:
        """Return the named files, or sentences of the embedded grammar with their links."""
        from attncli.tasks.translate.training.data import as_tsv, sample_grammar

        if data.train:
            if not data.dev:
                data = with_dev(data, seed, folder)
            return compared_texts(data, files.test, files.gold, files.gold_index)
        parts = sample_grammar(data, seed)
        tables = {name: as_tsv(pairs) for name, pairs in parts._asdict().items()}
        train, dev, test = write_tables(folder, tables)
        named = replace(data, train=(str(train),), dev=(str(dev),))
        links = [frozenset(pair.links) for pair in parts.test]
        return compared_texts(named, [test], tuple(PairLinks(sure, sure) for sure in links))


def with_dev(data: TextData, seed: int, folder: Path) -> TextData:
    """Hold a dev set out of the pairs; return the data with the tables of both parts."""
    from attncli.tasks.translate.training.data import pairs_of

    held = held_out((source for source, _ in pairs_of(data.train)), data.dev_share, seed)
    parts: dict[str, list[str]] = {"train": [], "dev": []}
    first: set[str] = set()  # sources held out: each with its first translation
    for source, target in pairs_of(data.train):
        part = "dev" if source in held else "train"
        if part == "train" or (target.strip() and source not in first):
            first.add(source)
            parts[part].append("\t".join(map(one_cell, (source, target))) + "\n")
    if not held:
        raise no_dev(data.dev_share, len(parts["train"]), "pairs")
    train, dev = write_tables(folder, {name: "".join(rows) for name, rows in parts.items()})
    return replace(data, train=(str(train),), dev=(str(dev),))


def with_dev_rows(data: RowData, seed: int, folder: Path) -> RowData:
    """Hold a dev set out of a table of rows; return the data with the tables of both parts."""
    with open_text(Path(data.train[0]), as_written=True) as lines:
        header, *rows = lines
    inputs = [name for name in header.split(TAB) if name != data.target]
    sources = [source for source, _ in row_pairs(data.train, inputs, data.target)]
    held = held_out(sources, data.dev_share, seed)
    if not held:
        raise no_dev(data.dev_share, len(rows), "rows")
    parts = {"train": [header], "dev": [header]}
    for source, row in zip(sources, rows, strict=True):
        parts["dev" if source in held else "train"].append(row)
    tables = {name: "".join(f"{row}\n" for row in rows) for name, rows in parts.items()}
    train, dev = write_tables(folder, tables)
    return replace(data, train=(str(train),), dev=(str(dev),))


def compared_texts(
    data: TextData,
    test_files: Sequence[Path],
    gold: tuple[PairLinks, ...] | Path | None,
    index: Index | None = None,
) -> tuple[TextData, Sets]:
    """Return the data with dev set, test set and gold links."""
    from attncli.tasks.translate.training.data import read_dev

    dev = read_dev(data)
    assert dev is not None
    test = read_dev(replace(data, dev=tuple(map(str, test_files))))
    if isinstance(gold, Path):
        texts = test or dev
        pairs = zip(texts.sources, texts.references[0], strict=True)
        lengths = [(len(source.split()), len(target.split())) for source, target in pairs]
        gold = read_links(gold, lengths, index=index).rows
    known = [[sorted(row.sure), sorted(row.possible)] for row in gold or ()]
    mark = mark_of([data.dev, test_files], f" {known}")
    return data, Sets(dev, test, mark, gold)


class ComparedRows(ComparedTexts):
    """Translations of rows: compared by BLEU. The sets are the paths of tables."""

    presets = "presets of several inputs"
    preset = demo_preset = "multi-source-small"
    variants = ("flat", "hierarchical")
    settings = budget = ()
    without_attention = ""
    scoring = "attncli.tasks.translate.compared_scores:row_scores"

    def prepare(self, data: Any, seed: int, files: TestFiles, folder: Path) -> tuple[Any, Sets]:
        """Return the named tables."""
        if not data.train:
            raise ConfigurationError(
                "a comparison of models of several inputs without data",
                "--train and --dev, each a table whose first line names its columns",
            )
        if not data.dev:
            data = with_dev_rows(data, seed, folder)
        if files.gold:
            raise ConfigurationError(
                "--gold for models of several inputs", "links of one source", "leave it out"
            )
        tables = [*data.train, *data.dev, *map(str, files.test)]
        for table in tables:
            next(row_pairs([table], (), data.target))  # refuse one without targets
        mark = mark_of([data.dev, files.test])
        return data, Sets(data.dev, files.test or None, mark)


# Scores of a trained translator: BLEU, and the alignment error rate of its attention.

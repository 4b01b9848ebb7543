"""Comparison of models that translate: of sentence pairs, or of rows of several inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from attncli.data.alignments.links import Index, PairLinks, read_links
from attncli.data.text.rows import row_pairs
from attncli.jobs.compared import (
    ComparedFiles,
    ComparedSource,
    Sets,
    mark_of,
    write_tables,
)
from models.base.errors import ConfigurationError, ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from attncli.training.settings.config import DataConfig

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

    def is_named(self, files: ComparedFiles) -> bool:
        """Return True if training files are given."""
        return bool(files.train)

    def prepare(
        self, data: DataConfig, seed: int, files: ComparedFiles, folder: Path
    ) -> tuple[DataConfig, Sets]:
        """Return the named files, or sentences of the embedded grammar with their links."""
        from attncli.tasks.translate.training.data import as_tsv, sample_grammar

        if data.train:
            return compared_texts(data, files.test, files.gold, files.gold_index)
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
) -> tuple[DataConfig, Sets]:
    """Return the data with dev set, test set and gold links; a ModelError without a dev set."""
    from attncli.tasks.translate.training.data import read_dev

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

    def is_named(self, files: ComparedFiles) -> bool:
        """Return False: the preset distinguishes a table of rows from a table of sentence pairs."""
        return False

    def prepare(
        self, data: DataConfig, seed: int, files: ComparedFiles, folder: Path
    ) -> tuple[DataConfig, Sets]:
        """Return the named tables."""
        if not data.train:
            raise ConfigurationError(
                "a comparison of models of several inputs without data",
                "--train and --dev, each a table whose first line names its columns",
            )
        if files.gold:
            raise ConfigurationError(
                "--gold for models of several inputs", "links of one source", "leave it out"
            )
        tables = [*data.train, *data.dev, *map(str, files.test)]
        for table in tables:
            next(row_pairs([table], (), data.target))  # refuse one without targets
        mark = mark_of([data.dev, files.test])
        return data, Sets(data.dev, files.test or None, mark)

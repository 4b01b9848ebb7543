"""Texts in training: sentence pairs, and rows of several inputs."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from attncli.data.text.corpus import read_pairs
from attncli.training.settings.corpora import check_corpora, with_absolute_paths
from attncli.training.sources import TrainingSource
from attncli.training.sources.output_length import fit_limits
from attncli.training.sources.preparation import preparation
from models.base.errors import ModelError
from models.sources.rows import columns_of
from models.text.tokenizer import check_joint

if TYPE_CHECKING:
    from attncli.data.batching import Examples
    from attncli.training.interfaces import Data, DevSet, Progress
    from attncli.training.settings.config import DataConfig, RunConfig, TrainConfig
    from models.base.types import VocabularySizes
    from models.config import SearchConfig, TokenizerConfig


class TextTraining(TrainingSource):
    """Sentence pairs: line-aligned files or a table, or the embedded grammar."""

    unit = "sentence pairs"
    length_limits = "data.max_length or model.max_source"
    demo_name = "demo"
    embedded = "the embedded grammar"
    default_preset = "transformer-tiny"
    example_input = "echo {} | attn translate"
    unfit_data: ClassVar[tuple[str, ...]] = (
        "images",
        "captions",
        "dev_captions",
        "regions",
        "labels",
        "dev_labels",
    )

    def dev_option(self, data: DataConfig) -> str:
        """Return the option that names dev pairs; those of corpora have languages."""
        return "--dev-corpus" if data.corpora else "--dev"

    def files(self, data: DataConfig) -> tuple[str, ...]:
        """Return the paths of the training files."""
        return (*data.train, *(path for corpus in data.corpora for path in corpus.files))

    def count(self, data: DataConfig, most: int) -> int:
        """Return the number of sentence pairs of all files, at most `most`."""
        every = [data.train, *(corpus.files for corpus in data.corpora)]
        pairs = chain.from_iterable(read_pairs(files) for files in every if files)
        return sum(1 for _ in islice(pairs, most))

    def complete(self, data: DataConfig) -> DataConfig:
        """Return the settings with absolute paths of the corpora."""
        return replace(
            data,
            corpora=with_absolute_paths(data.corpora),
            dev_corpora=with_absolute_paths(data.dev_corpora),
        )

    def check(
        self, data: DataConfig, train: TrainConfig, tokenizer: TokenizerConfig, named: str
    ) -> None:
        """Refuse settings of other kinds, and incomplete sets of files."""
        super().check(data, train, tokenizer, named)
        check_files(data)
        check_corpora(data.corpora, name="data.corpora", most=2)
        check_corpora(data.dev_corpora, name="data.dev_corpora", most=100)
        check_examples(data, train, tokenizer)

    def fingerprints(self, data: DataConfig) -> dict[str, str]:
        """Return a hash of training and dev files, or of the corpora."""
        if not data.corpora:
            return super().fingerprints(data)
        from attncli.tasks.translate.training import corpora

        return corpora.fingerprints(data)

    def load(self, config: RunConfig, folder: Path, progress: Progress) -> Data:
        """Return tokenised sentence pairs and the dev set."""
        from attncli.tasks.translate.training import corpora as text_corpora
        from attncli.tasks.translate.training import data as text_data
        from attncli.tasks.translate.training.data import variation_of

        settings = preparation(config)
        variation = variation_of(settings, config.train.subword_sampling)
        if config.data.corpora:
            return text_corpora.load(settings, variation, folder, progress)
        return text_data.load(settings, variation, folder, progress)

    def search_settings(self, search: SearchConfig, examples: Examples) -> SearchConfig:
        """Return the search settings with an output length limit that fits the training pairs."""
        return fit_limits(search, *examples.lengths)

    def store_head(self, folder: Path, dev: DevSet, *, device: str) -> None:
        """Store in a bundle which attention head aligns best, by sentence pairs of the dev set."""
        from attncli.tasks.translate.training.dev import store_head
        from attncli.tasks.translate.training.dev_directions import DevDirections

        store_head(folder, dev.parts[0] if isinstance(dev, DevDirections) else dev, device)

    def describe_vocabulary(self, sizes: VocabularySizes) -> str:
        """Return the sizes of both vocabularies, or of the joint one."""
        if sizes.joint:
            return f"{sizes.target:,} joint tokens"
        return f"{sizes.source:,} source and {sizes.target:,} target tokens"


def check_examples(data: DataConfig, train: TrainConfig, tokenizer: TokenizerConfig) -> None:
    """Raise ModelError for corpora, or variations of examples, that do not fit the run."""
    if data.corpora and (data.train or data.dev):
        raise ModelError(
            f"corpora and the file {(*data.train, *data.dev)[0]}",
            "one of them",
            "name every file with --corpus or --dev-corpus",
        )
    if data.dev_corpora and not data.corpora:
        raise ModelError("data.dev_corpora without data.corpora", "both")
    if data.corpora and not tokenizer.joint:
        raise ModelError(
            "tokenizer.joint = false for several languages", "true: one vocabulary for all"
        )
    varied = data.corpora or data.noise or data.concatenate or data.replay
    varied = varied or train.subword_sampling
    if data.links and (varied or not data.train):
        raise ModelError(
            "data.links with several languages, examples that vary, or no pairs",
            "pairs of one direction, each as it is",
        )
    check_joint(tokenizer)
    kinds = {tokenizer.kind, tokenizer.target_kind or tokenizer.kind}
    if train.subword_sampling and kinds not in ({"unigram"}, {"bpe"}):
        raise ModelError(
            f"train.subword_sampling with tokens of kind {' and '.join(sorted(kinds))}",
            "subwords of one kind: tokenizer.kind=unigram or bpe",
        )


def check_files(data: DataConfig) -> None:
    """Raise ModelError if the named files do not belong together."""
    if len(data.train) > 2:
        names = " ".join(Path(path).name for path in data.train)
        raise ModelError(
            f"{len(data.train)} training files ({names})",
            "two, source and target, or one TSV",
            "name dev files after --dev; give several tables as one pattern, quoted: 'data/*.tsv'",
        )
    if data.dev and not data.train:
        raise ModelError(
            "dev files without training files", "both, or neither to learn the embedded grammar"
        )


class RowTraining(TextTraining):
    """Rows of several inputs: a table whose first line names its columns."""

    unit = "rows"
    demo_name = "rows"
    embedded = "no data"
    default_preset = "multi-source-small"
    example_input = "attn translate -i TABLE"
    unfit_data = (
        *("corpora", "dev_corpora", "noise", "concatenate", "replay"),
        *("captions", "dev_captions", "regions", "links", "labels", "dev_labels"),
    )
    unfit_train = ("subword_sampling", *TextTraining.unfit_train)

    def has_data(self, data: DataConfig) -> bool:
        """Return False, because the option that names a table of rows also names sentence pairs."""
        return False

    def check(
        self, data: DataConfig, train: TrainConfig, tokenizer: TokenizerConfig, named: str
    ) -> None:
        """Refuse settings of texts with one source, and several tables."""
        super().check(data, train, tokenizer, named)
        if (files := len(data.train)) > 1:
            raise ModelError(f"{files} training files for {named}", "one table of rows")

    def load(self, config: RunConfig, folder: Path, progress: Progress) -> Data:
        """Return tokenised rows and the dev set."""
        from attncli.tasks.translate.training import row_images, rows

        columns = columns_of(config.model.inputs)
        images = row_images.row_images(config.model, config.data, config.train, config.start_from)
        return rows.load(preparation(config), columns, images, folder, progress)

    def store_head(self, folder: Path, dev: DevSet, *, device: str) -> None:
        """Keep the mean of all heads: rows have no gold alignment of one source."""

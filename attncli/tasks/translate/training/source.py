"""Sentence pairs in training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from attncli.training.settings.corpora import check_corpora, with_absolute_paths
from attncli.training.sources.base import CAPTION_SETTINGS, LABEL_METRICS, TrainingSource
from models.base.errors import ModelError
from models.text.tokenizer import check_joint

if TYPE_CHECKING:
    from attncli.data.batching import Examples
    from attncli.training.interfaces import Data, DevSet, Progress
    from attncli.training.settings.config import DataConfig, RunConfig
    from models.base.types import VocabularySizes
    from models.config.tables import SearchConfig


class TextTraining(TrainingSource):
    """Sentence pairs: line-aligned files or a table, or the embedded grammar."""

    unit = "sentence pairs"
    length_limits = "data.max_length or model.max_source"
    demo_name = "demo"
    embedded = "the embedded grammar"
    default_preset = "transformer-tiny"
    example_input = "attn translate TEXT"

    def has_data(self, data: DataConfig) -> bool:
        """Return True if training files are named."""
        return bool(data.train or data.corpora)

    def dev_option(self, data: DataConfig) -> str:
        """Return the option that names dev pairs; those of corpora have languages."""
        return "--dev-corpus" if data.corpora else "--dev"

    def files(self, data: DataConfig) -> tuple[str, ...]:
        """Return the paths of the training files."""
        return (*data.train, *(path for corpus in data.corpora for path in corpus.files))

    def complete(self, data: DataConfig) -> DataConfig:
        """Return the settings with absolute paths of the corpora."""
        return replace(
            data,
            corpora=with_absolute_paths(data.corpora),
            dev_corpora=with_absolute_paths(data.dev_corpora),
        )

    def check(self, config: RunConfig) -> None:
        """Refuse images, settings of captioners, and incomplete sets of files."""
        data, named = config.data, f"preset {config.preset} (family {config.model.family})"
        if data.images or data.captions or data.dev_captions:
            raise ModelError(
                f"images or captions for {named}",
                "sentence pairs, or a preset of a captioner",
                "--preset show-attend-tell-soft-small",
            )
        for name in CAPTION_SETTINGS:
            if value := getattr(config.train, name):
                raise ModelError(f"train.{name} = {value} for {named}", "0")
        if data.labels or data.dev_labels:
            raise ModelError(
                f"labelled texts for {named}",
                "sentence pairs, or a preset of a classifier",
                "--preset bilstm-attention-small",
            )
        if config.train.metric in ("cider", *LABEL_METRICS):
            raise ModelError(
                f"train.metric = {config.train.metric!r} for {named}", "another metric"
            )
        check_files(data)
        check_corpora(data.corpora, name="data.corpora", most=2)
        check_corpora(data.dev_corpora, name="data.dev_corpora", most=100)
        check_examples(config)

    def example(self, config: RunConfig, folder: Path) -> str:
        """Return a command that translates a sentence of the training data."""
        from attncli.training.sources.examples import text_example

        return text_example(config, folder)

    def fingerprints(self, config: RunConfig) -> dict[str, str]:
        """Return a hash of training, dev and alignment files."""
        from attncli.tasks.translate.training import corpora as text_corpora
        from attncli.tasks.translate.training import data as text_data

        if config.data.corpora:
            return text_corpora.fingerprints(config.data)
        return text_data.fingerprints(config.data)

    def load(self, config: RunConfig, folder: Path, progress: Progress) -> Data:
        """Return tokenised sentence pairs and the dev set."""
        from attncli.tasks.translate.training import corpora as text_corpora
        from attncli.tasks.translate.training import data as text_data

        if config.data.corpora:
            return text_corpora.load(config, folder, progress)
        return text_data.load(config, folder, progress)

    def search_settings(self, search: SearchConfig, examples: Examples) -> SearchConfig:
        """Return the search settings with an output length limit that fits the training pairs."""
        from attncli.training.run.output_length import fit_limits

        return fit_limits(search, *examples.lengths)

    def tune_alignment(self, folder: Path, dev: DevSet, *, device: str) -> None:
        """Store in a bundle which attention head aligns best, by sentence pairs of the dev set."""
        from attncli.tasks.translate.training.dev import choose_head
        from attncli.tasks.translate.training.dev_directions import first_direction

        choose_head(folder, first_direction(dev), device)

    def describe_vocabulary(self, sizes: VocabularySizes) -> str:
        """Return the sizes of both vocabularies, or of the joint one."""
        if sizes.joint:
            return f"{sizes.target:,} joint tokens"
        return f"{sizes.source:,} source and {sizes.target:,} target tokens"


def check_examples(config: RunConfig) -> None:
    """Raise ModelError for corpora, or variations of examples, that do not fit the run."""
    data, train = config.data, config.train
    if data.corpora and (data.train or data.dev):
        raise ModelError(
            f"corpora and the file {(*data.train, *data.dev)[0]}",
            "one of them",
            "name every file with --corpus or --dev-corpus",
        )
    if data.dev_corpora and not data.corpora:
        raise ModelError("data.dev_corpora without data.corpora", "both")
    if data.corpora and not config.tokenizer.joint:
        raise ModelError(
            "tokenizer.joint = false for several languages", "true: one vocabulary for all"
        )
    check_joint(config.tokenizer)
    kinds = {config.tokenizer.kind, config.tokenizer.target_kind or config.tokenizer.kind}
    if train.subword_sampling and kinds not in ({"unigram"}, {"bpe"}):
        raise ModelError(
            f"train.subword_sampling with tokens of kind {' and '.join(sorted(kinds))}",
            "subwords of one kind: tokenizer.kind=unigram or bpe",
        )
    varied = data.noise or train.subword_sampling
    guided = any(corpus.alignments for corpus in data.corpora)
    if (data.alignments and (varied or data.concatenate)) or (guided and varied):
        others = "data.noise, data.concatenate" if data.alignments else "data.noise"
        raise ModelError(
            f"alignments with {others} or train.subword_sampling, which change the tokens that "
            "are linked",
            "one of them",
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
    if data.alignments and not data.train:
        raise ModelError("data.alignments without training files", "both")
    if data.dev and not data.train:
        raise ModelError(
            "dev files without training files", "both, or neither to learn the embedded grammar"
        )

"""Texts in training: sentence pairs, and rows of several inputs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attncli.data import grammar
from attncli.data.alignments import read_links
from attncli.data.corpus import read_pairs
from attncli.data.embedded import as_table
from attncli.data.tables import row_pairs
from attncli.training.settings.corpora import check_corpora
from attncli.training.sources import Comparison, Sizes, TrainingSource, fit_limits, preparation
from attncli.translate.settings import RowData, TextData
from models.core.errors import ModelError
from models.core.sources import columns_of
from models.core.use_config import check_joint

if TYPE_CHECKING:
    from attncli.data.alignments import Index
    from attncli.data.batching import Examples
    from attncli.training.interfaces import Data, DevSet, Progress
    from attncli.training.settings.config import RunConfig, TrainConfig
    from models.core.types import VocabularySizes
    from models.core.use_config import SavedSearchConfig, TokenizerConfig


FEW = 5000  # pairs
BLEU = {"bleu": "bleu"}  # what compares translations


class TextTraining(TrainingSource):
    """Sentence pairs: line-aligned files or a table, or the embedded grammar."""

    unit = "sentence pairs"
    length_limits = "data.max_length or model.max_source"
    demo_name = "demo"
    demo_sizes = (8000, 500, 500)
    demo_files = MappingProxyType({"train": "train.tsv", "dev": "dev.tsv"})
    embedded = "the embedded grammar"
    default_preset = "transformer-tiny"
    example_input = "echo {} | attn translate"
    data = TextData
    train = ("subword_sampling", "r_drop")
    comparison = Comparison(
        outputs="translations",
        presets="presets for texts",
        preset="rnnsearch-small",
        demo_preset="rnnsearch-nano",
        variants=(  # Luong et al. 2015, table 4, and what came before and after
            *("none", "location", "dot", "general", "concat", "additive", "cosine", "scaled_dot"),
            *("location_aware", "dot+local_m", "general+local_m", "dot+local_p", "general+local_p"),
            *("hard", "sparsemax", "entmax15", "heads=4"),
        ),
        metrics=BLEU,
        settings=("model.bidirectional=false",),  # dot and cosine need keys of the query's size
        budget=(
            *("train.batch_tokens=2048", "train.steps=1000", "train.evaluate_every=250"),
            "train.patience=0",
        ),
        without_attention="seq2seq",
    )

    def preset_for(self, data: Mapping[str, Any]) -> str:
        """Return the default preset; a recurrent one, which needs less data, for FEW pairs."""
        files = () if data.get("links") else tuple(data.get("train", ()))
        with suppress(ModelError):  # of a file that cannot be read; the run reports it
            if files and self.count(self.data(train=files), FEW) < FEW:
                return "luong-small"
        return self.default_preset

    def texts(self, data: Any) -> Iterator[tuple[str, str]]:
        """Yield the sentence pairs of all files."""
        every = [data.train, *(corpus.files for corpus in data.corpora)]
        for pair in chain.from_iterable(read_pairs(files) for files in every if files):
            yield pair.source, pair.references[0]

    def count(self, data: Any, most: int) -> int:
        """Return the number of sentence pairs of all files, at most `most`."""
        return sum(1 for _ in islice(self.texts(data), most))

    def check(self, data: Any, train: TrainConfig, tokenizer: TokenizerConfig, named: str) -> None:
        """Refuse settings of other kinds, and incomplete sets of files."""
        super().check(data, train, tokenizer, named)
        check_files(data)
        check_corpora(data.corpora, name="data.corpora", most=2)
        check_corpora(data.dev_corpora, name="data.dev_corpora", most=100)
        check_examples(data, train, tokenizer)

    def fingerprints(self, data: Any) -> dict[str, str]:
        """Return a hash of training and dev files, or of the corpora."""
        if not data.corpora:
            return super().fingerprints(data)
        from attncli.translate import corpora

        return corpora.fingerprints(data)

    def load(self, config: RunConfig, folder: Path, progress: Progress) -> Data:
        """Return tokenised sentence pairs and the dev set."""
        from attncli.translate import corpora as text_corpora
        from attncli.translate import data as text_data
        from attncli.translate.data import variation_of

        config = self.with_data(config, folder)
        settings = preparation(config)
        variation = variation_of(settings, config.train.subword_sampling)
        if config.data.corpora:
            return text_corpora.load(settings, variation, folder, progress)
        return text_data.load(settings, variation, folder, progress)

    def demo_contents(self, sizes: Sizes, seed: int) -> Iterator[tuple[str, bytes]]:
        """Yield tables of sentence pairs of the embedded grammar, and files of their links."""
        for part, pairs in grammar.split(*sizes, seed=seed)._asdict().items():
            yield f"{part}.tsv", as_table((pair.source, pair.target) for pair in pairs)
            yield f"{part}.links", "".join(map(as_links, pairs)).encode()

    def tests(self, data: Any, files: Sequence[Path]) -> Sequence[Path]:
        """Return the files of a test set; raise ModelError for one that cannot be used."""
        deque(read_pairs(files) if files else (), 0)
        return files

    def test_set(self, config: RunConfig, files: Sequence[Path], progress: Progress) -> DevSet:
        """Return a test set."""
        from attncli.translate.dev import read_texts

        return read_texts(files)

    def read_gold(self, data: Any, test: Sequence[Path], path: Path, index: Index | None) -> Any:
        """Return gold links of the words of a test set; without one, of the dev set."""
        pairs = read_pairs(test or data.dev)
        lengths = [(len(pair.source.split()), len(pair.references[0].split())) for pair in pairs]
        return read_links(path, lengths, index=index).rows

    def error_rate(self, model: Any, texts: Any, gold: Any) -> float | None:
        """Return the alignment error rate in percent; None for a model without attention."""
        from attncli.translate.dev import alignment_error_rate

        return alignment_error_rate(model, texts, gold)

    def search_settings(self, search: SavedSearchConfig, examples: Examples) -> SavedSearchConfig:
        """Return the search settings with an output length limit that fits the training pairs."""
        return fit_limits(search, *examples.lengths)

    def store_head(self, folder: Path, dev: DevSet, *, device: str) -> None:
        """Store in a bundle which attention head aligns best, by sentence pairs of the dev set."""
        from attncli.translate.dev import DevDirections, store_head

        store_head(folder, dev.parts[0] if isinstance(dev, DevDirections) else dev, device)

    def describe_vocabulary(self, sizes: VocabularySizes) -> str:
        """Return the sizes of both vocabularies, or of the joint one."""
        if sizes.joint:
            return f"{sizes.target:,} joint tokens"
        return f"{sizes.source:,} source and {sizes.target:,} target tokens"


def as_links(pair: grammar.Pair) -> str:
    """Return the true links of a sentence pair as a line in Pharaoh format."""
    return " ".join(f"{i}-{j}" for i, j in pair.links) + "\n"


def check_examples(data: TextData, train: TrainConfig, tokenizer: TokenizerConfig) -> None:
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


def check_files(data: TextData | RowData) -> None:
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


class RowTraining(TrainingSource):
    """Rows of several inputs: a table whose first line names its columns."""

    unit = "rows"
    length_limits = TextTraining.length_limits
    demo_name = "rows"
    embedded = "no data"
    default_preset = "multi-source-small"
    example_input = "attn translate -i TABLE"
    data = RowData
    by_preset = True  # the option that names a table of rows also names sentence pairs
    train = ("r_drop",)
    comparison = Comparison(
        outputs=TextTraining.comparison.outputs,
        presets="presets of several inputs",
        preset="multi-source-small",
        demo_preset="multi-source-small",
        variants=("flat", "hierarchical"),
        metrics=BLEU,
    )

    def count(self, data: Any, most: int) -> int:
        """Return the number of rows, at most `most`."""
        pairs = chain.from_iterable(read_pairs([path]) for path in data.train)
        return sum(1 for _ in islice(pairs, most))

    def check(self, data: Any, train: TrainConfig, tokenizer: TokenizerConfig, named: str) -> None:
        """Refuse settings of texts with one source, and several tables."""
        super().check(data, train, tokenizer, named)
        check_files(data)
        check_joint(tokenizer)
        if (files := len(data.train)) > 1:
            raise ModelError(f"{files} training files for {named}", "one table of rows")

    def search_settings(self, search: SavedSearchConfig, examples: Examples) -> SavedSearchConfig:
        """Return the search settings with an output length limit that fits the training rows."""
        return fit_limits(search, *examples.lengths)

    def tests(self, data: Any, files: Sequence[Path]) -> Sequence[Path]:
        """Return the table of a test set; raise ModelError for one without targets."""
        for path in files:
            next(row_pairs([path], (), data.target))
        return files

    def test_set(self, config: RunConfig, files: Sequence[Path], progress: Progress) -> DevSet:
        """Return a test set, with the stored images of its rows."""
        from attncli.translate import rows

        pairs = row_pairs(files, columns_of(config.model.inputs).names, config.data.target)
        images = rows.row_images(config.model, config.data, config.train, config.start_from)
        return rows.dev_rows(list(pairs), images, progress)

    def describe_vocabulary(self, sizes: VocabularySizes) -> str:
        """Return the sizes of both vocabularies, or of the joint one."""
        return TextTraining().describe_vocabulary(sizes)

    def load(self, config: RunConfig, folder: Path, progress: Progress) -> Data:
        """Return tokenised rows and the dev set."""
        from attncli.translate import rows

        columns = columns_of(config.model.inputs)
        images = rows.row_images(config.model, config.data, config.train, config.start_from)
        return rows.load(preparation(config), columns, images, folder, progress)

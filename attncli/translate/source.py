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
from attncli.training.sources import Comparison, Sizes, TrainingSource, fit_limits
from attncli.translate.settings import RowData, TextData
from models.core.errors import ModelError
from models.core.sources import columns_of
from models.core.use_config import check_joint

if TYPE_CHECKING:
    from attncli.data.alignments import Index
    from attncli.data.examples import Examples
    from attncli.training.dev import Data, DevSet
    from attncli.training.interfaces import Progress
    from models.core.types import VocabularySizes
    from models.core.use_config import SavedSearchConfig

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
    table = TextData
    settings = ("subword_sampling", "r_drop")
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

    @classmethod
    def preset_for(cls, data: Mapping[str, Any]) -> str:
        """Return the default preset; a recurrent one, which needs less data, for FEW pairs."""
        files = () if data.get("links") else tuple(data.get("train", ()))
        with suppress(ModelError):  # of a file that cannot be read; the run reports it
            if files and cls.count(cls.table(train=files), FEW) < FEW:
                return "luong-small"
        return cls.default_preset

    @classmethod
    def texts(cls, data: Any) -> Iterator[tuple[str, str]]:
        """Yield the sentence pairs of all files."""
        every = [data.train, *(corpus.files for corpus in data.corpora)]
        for pair in chain.from_iterable(read_pairs(files) for files in every if files):
            yield pair.source, pair.references[0]

    @classmethod
    def count(cls, data: Any, most: int) -> int:
        """Return the number of sentence pairs of all files, at most `most`."""
        return sum(1 for _ in islice(cls.texts(data), most))

    def check(self) -> None:
        """Refuse settings of other kinds, and incomplete sets of files."""
        super().check()
        check_files(self.data)
        check_corpora(self.data.corpora, name="data.corpora", most=2)
        check_corpora(self.data.dev_corpora, name="data.dev_corpora", most=100)
        self.check_examples()

    def check_examples(self) -> None:
        """Raise ModelError for corpora, or variations of examples, that do not fit the run."""
        data, train, tokenizer = self.data, self.train, self.tokenizer
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
        if data.links and (varied or train.subword_sampling or not data.train):
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

    @classmethod
    def fingerprints(cls, data: Any) -> dict[str, str]:
        """Return a hash of training and dev files, or of the corpora."""
        if not data.corpora:
            return super().fingerprints(data)
        from attncli.translate.data import fingerprints  # imports torch

        return {name: fingerprints(getattr(data, name)) for name in ("corpora", "dev_corpora")}

    def load(self, folder: Path, progress: Progress) -> Data:
        """Return tokenised sentence pairs and the dev set."""
        from attncli.translate.data import load  # imports torch

        return load(self, folder, progress)

    @classmethod
    def demo_contents(cls, sizes: Sizes, seed: int) -> Iterator[tuple[str, bytes]]:
        """Yield tables of sentence pairs of the embedded grammar, and files of their links."""
        for part, pairs in grammar.split(*sizes, seed=seed)._asdict().items():
            yield f"{part}.tsv", as_table((pair.source, pair.target) for pair in pairs)
            yield f"{part}.links", "".join(map(as_links, pairs)).encode()

    @classmethod
    def tests(cls, data: Any, files: Sequence[Path]) -> Sequence[Path]:
        """Return the files of a test set; raise ModelError for one that cannot be used."""
        deque(read_pairs(files) if files else (), 0)
        return files

    def test_set(self, files: Sequence[Path], progress: Progress) -> DevSet:
        """Return a test set."""
        from attncli.translate.dev import read_texts  # imports torch

        return read_texts(files)

    @classmethod
    def read_gold(cls, data: Any, test: Sequence[Path], path: Path, index: Index | None) -> Any:
        """Return gold links of the words of a test set; without one, of the dev set."""
        pairs = read_pairs(test or data.dev)
        lengths = [(len(pair.source.split()), len(pair.references[0].split())) for pair in pairs]
        return read_links(path, lengths, index=index).rows

    @classmethod
    def search_settings(cls, search: SavedSearchConfig, examples: Examples) -> SavedSearchConfig:
        """Return the search settings with an output length limit that fits the training pairs."""
        return fit_limits(search, *examples.lengths)

    @classmethod
    def describe_vocabulary(cls, sizes: VocabularySizes) -> str:
        """Return the sizes of both vocabularies, or of the joint one."""
        if sizes.joint:
            return f"{sizes.target:,} joint tokens"
        return f"{sizes.source:,} source and {sizes.target:,} target tokens"


def as_links(pair: grammar.Pair) -> str:
    """Return the true links of a sentence pair as a line in Pharaoh format."""
    return " ".join(f"{i}-{j}" for i, j in pair.links) + "\n"


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
    table = RowData
    by_preset = True  # the option that names a table of rows also names sentence pairs
    settings = ("r_drop",)
    comparison = Comparison(
        outputs=TextTraining.comparison.outputs,
        presets="presets of several inputs",
        preset="multi-source-small",
        demo_preset="multi-source-small",
        variants=("flat", "hierarchical"),
        metrics=BLEU,
    )
    search_settings = TextTraining.search_settings
    describe_vocabulary = TextTraining.describe_vocabulary

    @classmethod
    def count(cls, data: Any, most: int) -> int:
        """Return the number of rows, at most `most`."""
        pairs = chain.from_iterable(read_pairs([path]) for path in data.train)
        return sum(1 for _ in islice(pairs, most))

    def check(self) -> None:
        """Refuse settings of texts with one source, and several tables."""
        super().check()
        check_files(self.data)
        check_joint(self.tokenizer)
        if (files := len(self.data.train)) > 1:
            raise ModelError(f"{files} training files for {self.named}", "one table of rows")

    @classmethod
    def tests(cls, data: Any, files: Sequence[Path]) -> Sequence[Path]:
        """Return the table of a test set; raise ModelError for one without targets."""
        for path in files:
            next(row_pairs([path], (), data.target))
        return files

    def test_set(self, files: Sequence[Path], progress: Progress) -> DevSet:
        """Return a test set, with the stored images of its rows."""
        from attncli.translate import rows  # imports torch

        pairs = row_pairs(files, columns_of(self.model.inputs).names, self.data.target)
        return rows.dev_rows(pairs, rows.row_images(self), progress)

    def load(self, folder: Path, progress: Progress) -> Data:
        """Return tokenised rows and the dev set."""
        from attncli.translate.rows import load  # imports torch

        return load(self, folder, progress)

"""Settings of texts in training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from attncli.data.corpus import CorpusPair, read_pairs
from attncli.training.config import DataConfig
from attncli.translate.corpora import CorpusConfig, with_absolute_paths
from models.core.settings import option
from models.core.use_config import CORPORA


@dataclass(frozen=True)
class TextData(DataConfig):
    """Sentence pairs: one corpus, or several of several languages."""

    train: tuple[str, ...] = option(
        (), "two line-aligned files, or one TSV; none: the embedded grammar"
    )
    dev: tuple[str, ...] = option((), "files for evaluation during training, as for train")
    corpora: tuple[CorpusConfig, ...] = option(
        (), "multilingual: a table [[data.corpora]] for each corpus, in place of train"
    )
    dev_corpora: tuple[CorpusConfig, ...] = option(
        (), "multilingual: corpora for evaluation during training, as for corpora"
    )
    replay: float = option(
        0.0,
        "multilingual, with an initial model: share of the examples that are of its replay set, so "
        "that it does not forget; --start-from sets a half",
        needs=CORPORA,
        below=1,
    )
    links: str = option(
        "",
        "a file of word links, a Pharaoh line for each training pair as `attn align` writes, to "
        "which attention is drawn (guided alignment; Garg et al. 2019)",
    )
    lexicon: str = option(
        "",
        "a table of words and their translations, which the model reads in the place of words that "
        "the training data hardly have",
    )
    temperature: float = option(
        1.0,
        "multilingual: T in share ~ weight pairs^(1/T) of a direction; above 1 small corpora are "
        "repeated (Arivazhagan et al. 2019)",
        needs=CORPORA,
        least=1,
    )
    concatenate: float = option(
        0.0,
        "share of the examples that consist of 2 to 4 pairs of one direction, so that texts of "
        "several sentences are learned (Kondo et al. 2021)",
        below=1,
    )
    noise: float = option(
        0.0,
        "share of the sources with noise: lower case, capitals, no final punctuation, typing "
        "mistakes",
        at_most=1,
    )

    FOLDERS = ("links", "lexicon")

    @property
    def has_regions(self) -> bool:
        """True if there are word links."""
        return bool(self.links)

    @property
    def files(self) -> tuple[str, ...]:
        """The files to train on."""
        return (*self.train, *(path for corpus in self.corpora for path in corpus.files))

    @property
    def dev_files(self) -> tuple[str, ...]:
        """The files to evaluate on during training."""
        return (*self.dev, *(path for corpus in self.dev_corpora for path in corpus.files))

    def rows(self, files: Sequence[Path | str], part: str = "train") -> Iterable[CorpusPair]:
        """Return the pairs of a corpus."""
        return read_pairs(files)

    def count(self, most: int) -> int:
        """Return the number of sentence pairs of all files, at most `most`."""
        return sum(1 for _ in islice(self.texts(), most))

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield the sentence pairs of all files."""
        every = [self.train, *(corpus.files for corpus in self.corpora)]
        for pair in chain.from_iterable(read_pairs(files) for files in every if files):
            yield pair.source, pair.references[0]

    @property
    def dev_option(self) -> str:
        """The option that names dev pairs; those of corpora have languages."""
        return "--dev-corpus" if self.corpora else "--dev"

    def absolute(self) -> TextData:
        """Return the settings with absolute paths."""
        return replace(
            super().absolute(),
            corpora=with_absolute_paths(self.corpora),
            dev_corpora=with_absolute_paths(self.dev_corpora),
        )

"""Texts in training: sentence pairs."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attncli.data import embedded
from attncli.data.alignments import read_links
from attncli.data.corpus import fingerprint, read_pairs
from attncli.data.embedded import as_table
from attncli.training.config import DataConfig
from attncli.training.sources import Comparison, Sizes, TrainingSource
from attncli.translate._settings import TextData
from attncli.translate.corpora import CorpusConfig, check_corpora
from models.core.errors import ModelError
from models.core.use_config import SavedSearchConfig, check_joint

if TYPE_CHECKING:
    import numpy as np

    from attncli.data.alignments import Index, PairLinks
    from attncli.training.examples import Examples

FEW = 5000  # pairs
BLEU = {"bleu": "bleu", "chrf": "chrf"}  # what compares translations
SHARE = 0.999  # of the training pairs that fit the limit before the margin is added
MARGIN = 1.2  # factor on the lengths observed


class TextTraining(TrainingSource):
    """Sentence pairs: line-aligned files or a table, or the embedded grammar."""

    data: TextData

    module = "attncli.translate.data"
    unit, dev_unit = "sentence pairs", "sources"
    vocabulary = "{source:,} source and {target:,} target tokens", "{target:,} joint tokens"
    length_limits = "data.max_length or model.max_source"
    demo_sizes = (8000, 500, 500)
    demo_files = MappingProxyType({"train": "train.tsv", "dev": "dev.tsv"})
    embedded = "the embedded grammar"
    default_preset = "transformer-tiny"
    example_input = "echo {} | attn translate"
    table = TextData
    settings = ("subword_sampling", "r_drop")
    comparison = Comparison(
        outputs="translations",
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
            if files and TextData(train=files).count(FEW) < FEW:
                return "luong-small"
        return cls.default_preset

    def check(self) -> None:
        """Refuse settings of other kinds, and incomplete sets of files."""
        super().check()
        check_files(self.data.train, self.data.dev)
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
        if data.lexicon and (data.links or not data.files):
            raise ModelError(
                "a lexicon with word links, or no pairs",
                "pairs",
                "give two files, one TSV, or --corpus",
            )
        check_joint(tokenizer)
        kinds = {tokenizer.kind, tokenizer.target_kind or tokenizer.kind}
        if train.subword_sampling and kinds not in ({"unigram"}, {"bpe"}):
            raise ModelError(
                f"train.subword_sampling with tokens of kind {' and '.join(sorted(kinds))}",
                "subwords of one kind: tokenizer.kind=unigram or bpe",
            )

    @classmethod
    def fingerprints(cls, data: DataConfig) -> dict[str, str]:
        """Return a hash of training and dev files, or of the corpora."""
        lexicon = isinstance(data, TextData) and data.lexicon
        own = {"lexicon": fingerprint([lexicon])} if lexicon else {}
        if not (isinstance(data, TextData) and data.corpora):
            return {**super().fingerprints(data), **own}
        names = ("corpora", "dev_corpora")
        return {name: content_of(getattr(data, name)) for name in names} | own

    @classmethod
    def demo_contents(cls, sizes: Sizes, seed: int) -> Iterator[tuple[str, bytes]]:
        """Yield tables of sentence pairs of the embedded grammar, and files of their links."""
        for part, pairs in embedded.split(*sizes, seed=seed)._asdict().items():
            yield f"{part}.tsv", as_table((pair.source, pair.target) for pair in pairs)
            yield f"{part}.links", "".join(map(as_links, pairs)).encode()

    def read_gold(
        self, test: Sequence[Path], path: Path, index: Index | None
    ) -> Sequence[PairLinks]:
        """Return gold links of the words of a test set; without one, of the dev set."""
        pairs = read_pairs(test or self.data.dev)
        lengths = [(len(pair.source.split()), len(pair.references[0].split())) for pair in pairs]
        return read_links(path, lengths, index=index).rows

    @classmethod
    def search_settings(cls, search: SavedSearchConfig, examples: Examples) -> SavedSearchConfig:
        """Return the search settings with an output length limit that fits the training pairs."""
        return fit_limits(search, *examples.lengths)


def content_of(corpora: Iterable[CorpusConfig]) -> str:
    """Return a hash of corpora: languages, direction, tag and content; "" for none."""
    parts = [(one.languages, one.both, one.tagged, fingerprint(one.files)) for one in corpora]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest() if parts else ""


def as_links(pair: embedded.Pair) -> str:
    """Return the true links of a sentence pair as a line in Pharaoh format."""
    return " ".join(f"{i}-{j}" for i, j in pair.links) + "\n"


def check_files(train: Sequence[str], dev: Sequence[str]) -> None:
    """Raise ModelError if the named files do not belong together."""
    if len(train) > 2:
        names = " ".join(Path(path).name for path in train)
        raise ModelError(
            f"{len(train)} training files ({names})",
            "two, source and target, or one TSV",
            "name dev files after --dev; give several tables as one pattern, quoted: 'data/*.tsv'",
        )
    if dev and not train:
        raise ModelError(
            "dev files without training files", "both, or neither to learn the embedded grammar"
        )


def fit_limits(
    search: SavedSearchConfig, sources: np.ndarray, targets: np.ndarray
) -> SavedSearchConfig:
    """Return search settings whose limits fit the training pairs: on outputs and on whole texts.

        limit(S) = max_ratio S + max_extra        S source tokens, end mark included

    sources, targets (N,): lengths in tokens. The limits are never below the default ones. Settings
    that differ from their defaults were set by the user, and are returned unchanged.
    """
    import numpy as np

    default = SavedSearchConfig()
    if search.split_above == default.split_above < float(np.median(sources)):
        search = replace(search, split_above=int(sources.max()))  # a summariser reads whole texts
    if (search.max_ratio, search.max_extra) != (default.max_ratio, default.max_extra):
        return search
    ratio = float(np.quantile(targets / np.maximum(sources, 1), 0.5)) * MARGIN
    ratio = max(default.max_ratio, math.ceil(10 * ratio) / 10)
    excess = float(np.quantile(MARGIN * targets - ratio * sources, SHARE))
    return replace(search, max_ratio=ratio, max_extra=max(default.max_extra, math.ceil(excess)))

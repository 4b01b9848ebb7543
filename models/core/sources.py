"""Kinds of input: one class each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import ClassVar, NamedTuple

from models.core.errors import ConfigurationError
from models.core.registry import find, source_name
from models.core.types import VocabularySizes

TAB = "\t"
IMAGE = "image"
FORM = "two columns or more, texts first, as in source,draft or source,picture:image"


class Source:
    """One kind of input: its vocabulary, and the class that runs a trained model on it."""

    task: ClassVar[str]  # the command that runs such a model: "translate"
    ability: ClassVar[str]  # for messages: "translates texts"
    runner: ClassVar[str]  # module:Class, built from (bundle, device) or by `read(folder)`
    shared_weights: ClassVar[str] = ""  # prefix of weights that models may share; empty: none
    ensemble: ClassVar[str] = ""  # module:Class, built from several runners; empty: there is none
    reads_tokens: ClassVar[bool] = True  # False: there is no source vocabulary
    has_columns: ClassVar[bool] = False  # True if a line of input is a row of several columns
    unused_settings: ClassVar[tuple[str, ...]] = ()  # of search and tokenizer, without effect

    def vocabulary(self, sizes: VocabularySizes) -> VocabularySizes:
        """Return the vocabulary sizes of a model, given those of its tokenizer."""
        return sizes if self.reads_tokens else VocabularySizes(0, sizes.target, False)


@cache
def find_source(name: str) -> Source:
    """Return the kind of input with a registered name."""
    return find("source", name)()


def source_of(family: str) -> Source:
    """Return the kind of input that a family reads; a ModelError if the family is unknown."""
    return find_source(source_name(family))


def vocabulary_sizes(family: str, source: int, target: int, joint: bool) -> VocabularySizes:
    """Return the vocabulary sizes that a family is built with, given those of its tokenizer."""
    return source_of(family).vocabulary(VocabularySizes(source, target, joint))


def check_source(family: str, wanted: str, name: str = "") -> None:
    """Raise ConfigurationError unless a family reads inputs of the wanted kind.

    name: of the model, for the message.
    """
    found, expected = source_of(family), find_source(wanted)
    if found is not expected:
        raise ConfigurationError(
            f"{name}{' is ' if name else ''}a model of family {family}, which {found.ability}",
            f"a model that {expected.ability}",
            f"use `attn {found.task}`",
        )


class TextSource(Source):
    """Text: a sequence of token ids, one slot per token.

    Source: Sutskever et al. 2014; Bahdanau et al. 2015.
    """

    task = "translate"
    ability = "translates texts"
    runner = "models.engines.translator:Translator"
    ensemble = "models.engines.translator:EnsembleTranslator"
    unused_settings = ("search.max_caption",)


class ImageSource(Source):
    """Image: a grid of features, one slot per cell; there is no source vocabulary.

    Source: Xu et al. 2015.
    """

    task = "caption"
    ability = "captions images"
    reads_tokens = False
    runner = "models.engines.captioner:Captioner"
    shared_weights = "encoder.body."
    unused_settings = (
        *("search.max_ratio", "search.max_extra", "search.split_above"),
        *("tokenizer.joint", "tokenizer.target_kind"),
    )


class LabelledTextSource(Source):
    """Labelled text: a sequence of token ids, one slot per token; the output is one label.

    Source: Zhou et al. 2016.
    """

    task = "classify"
    ability = "classifies texts"
    runner = "models.engines.classifier:Classifier"
    unused_settings = ("search", "tokenizer.joint", "tokenizer.target_kind")

    def vocabulary(self, sizes: VocabularySizes) -> VocabularySizes:
        """Return the number of tokens and of labels, which are never shared."""
        return VocabularySizes(sizes.source, sizes.target, False)


class RowColumns(NamedTuple):
    """Inputs of a row."""

    names: tuple[str, ...]  # texts first
    has_image: bool  # the last one is the path of an image

    @property
    def texts(self) -> int:
        """Number of texts."""
        return len(self.names) - self.has_image


def columns_of(inputs: Sequence[str]) -> RowColumns:
    """Return the columns that `model.inputs` names; raise ConfigurationError for another form."""
    parts = [each.partition(":") for each in inputs]
    names = tuple(name for name, _, _ in parts)
    kinds = [kind for _, _, kind in parts]
    correct = len(names) > 1 and all(names) and len({*names}) == len(names)
    if not correct or any(kinds[:-1]) or kinds[-1] not in ("", IMAGE):
        raise ConfigurationError(f"model.inputs = {','.join(inputs)!r}", FORM)
    return RowColumns(names, bool(kinds[-1]))

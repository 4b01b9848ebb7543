"""Kinds of input: one class each; the settings without effect on a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import ClassVar, NamedTuple

from models.core.config import RECURRENT_SCORE, TRANSFORMER_SCORE, ModelConfig
from models.core.errors import ConfigurationError
from models.core.registry import find, names, settings_of, source_name
from models.core.settings import fields_of
from models.core.types import VocabularySizes

TAB = "\t"
IMAGE = "image"
FORM = "two columns or more, texts first, as in source,draft or source,picture:image"
SHARED = ("family", "embedding", "vectors", "hidden", "decoder_layers", "dropout", "tied")  # by all
PARTS = ("score", "window", "normalise", "read")  # of the attention
EVERY = ("heads", "kv_heads", "null_slot")  # with any parts


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
    unused_settings = (
        *("search", "tokenizer.joint", "tokenizer.target_kind"),
        *("model.decoder_layers", "model.tied"),
    )

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


def settings_read_by(family: str) -> frozenset[str]:
    """Return the fields of ModelConfig that a family states; empty if it states none."""
    stated = {*settings_of("family", family)}
    groups = {name: each.metadata["group"] for name, each in fields_of(ModelConfig).items()}
    return frozenset(n for n, group in groups.items() if not stated.isdisjoint((n, *group.split())))


def unused_settings(config: ModelConfig) -> frozenset[str]:
    """Return the settings and tables without effect, as "model.copy" or "search.max_caption".

    Nothing of a model whose family states no settings is left out.
    """
    read = settings_read_by(config.family)
    if not read:
        return frozenset()
    unused = {f"model.{name}" for name in fields_of(ModelConfig) if name not in (*SHARED, *read)}
    pools = "pooling" in read
    for table in {"attention", "self_attention"} & read:
        own = getattr(config, table)
        at_once = table == "self_attention" or ("heads" in read and not pools)
        named = replace(own, score=own.score or (TRANSFORMER_SCORE if at_once else RECURRENT_SCORE))
        parts = [(part, getattr(named, part)) for part in PARTS if hasattr(named, part)]
        parts += [("pooling", config.pooling)] if pools else []
        used = {*PARTS, *EVERY, *(name for part in parts for name in settings_of(*part))}
        unused |= {f"model.{table}.{name}" for name in fields_of(type(own)) if name not in used}
    return frozenset(unused | set(source_of(config.family).unused_settings))


def without_effect(setting: str, config: ModelConfig) -> str:
    """Return why a setting such as model.position has no effect on a model; "" if it has one."""
    parts = setting.split(".")
    tables = {".".join(parts[: end + 1]) for end in range(len(parts))}
    if not tables & unused_settings(config):
        return ""
    if parts[0] != "model":
        return f"{setting} has no effect on family {config.family}"
    read_by = [family for family in names("family") if parts[1] in settings_read_by(family)]
    if config.family in read_by:  # one of its parts has that option
        return f"{setting} has no effect without the part that reads it (`attn models show NAME`)"
    return f"{setting} has no effect on family {config.family}; it is read by {', '.join(read_by)}"

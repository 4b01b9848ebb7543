"""The settings of a model, its tokenizer and its search. The field docs are the manual.

A default is written once, here, with its doc; the command line, TOML files and README take both
from these dataclasses. Nothing here imports torch.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from models.errors import ModelError, unknown_name

C = TypeVar("C")


def option(default: Any, doc: str) -> Any:
    """A dataclass field with a default and the sentence that documents it."""
    if isinstance(default, type):
        return field(default_factory=default, metadata={"doc": doc})
    return field(default=default, metadata={"doc": doc})


@dataclass(frozen=True)
class AttentionConfig:
    """How the decoder reads the memory: Score x Window x Normalise x Read, and heads."""

    score: str = option("additive", "score function: `attn models` lists them")
    window: str = option("global", "which slots are in view")
    normalise: str = option("softmax", "what turns scores into weights")
    read: str = option("soft", "how the values are read with the weights")
    heads: int = option(1, "heads, each with parts of its own over its share of the features")
    size: int = option(
        0, "additive, concat, location_aware, ffn: hidden units of a head (0: its query's size)"
    )
    depth: int = option(2, "ffn: hidden layers")
    positions: int = option(512, "location: longest source, in slots")
    filters: int = option(10, "location_aware: features of the previous weights")
    filter_width: int = option(15, "location_aware: slots that a feature sees; an odd number")
    window_size: int = option(10, "local_m, local_p: slots in view on either side of the centre")
    read_decode: str = option(
        "argmax", "hard: what is read when not training: argmax, sample or expected"
    )
    read_seed: int = option(1, "hard: seed of the samples when not training")
    read_soft: float = option(
        0.5, "hard: share of readings while training that are the expectation (Xu et al. 2015)"
    )
    read_mix: str = option(
        "sentence", "hard: what that share is of: sentence (or picture), step or batch"
    )
    read_temperature: float = option(
        1.0, "hard: of the weights: below 1 sharper, above 1 flatter, before anything is drawn"
    )
    coverage: bool = option(
        False, "additive, concat, location_aware: the score sees the sum of earlier weights"
    )


@dataclass(frozen=True)
class AttentionLossConfig:
    """What the loss adds for the attention's sake."""

    coverage: str = option(
        "none",
        "penalty on the sum of weights: none, see (looking again) or doubly_stochastic (not at 1)",
    )
    coverage_weight: float = option(1.0, "weight of that penalty")
    reinforce: float = option(1.0, "hard: weight of REINFORCE, lambda_r of Xu et al. 2015")
    entropy: float = option(0.01, "hard: weight of the entropy of the draws, lambda_e of the same")
    guide: float = option(
        0.05, "weight of the loss that guides a head by data.alignments (Garg et al. 2019)"
    )
    guide_layer: int = option(
        0, "decoder layer of that head, from 1 (0: the last but one of three or more)"
    )
    guide_head: int = option(1, "number of that head, from 1")
    baseline_decay: float = option(0.9, "hard: decay of the moving mean that rewards are held to")


@dataclass(frozen=True)
class ImageConfig:
    """How a captioner sees: what a picture becomes before the attention reads it."""

    encoder: str = option(
        "mobilenet-edgetpu", "image network: `attn models` lists them; torchvision's by their names"
    )
    weights: str = option(
        "DEFAULT", "its weights: DEFAULT (torchvision's), none (trained from scratch), or a path"
    )
    grid: str = option("", "layer whose output are the cells (empty: the last grid)")
    size: int = option(224, "side of the square that a picture is brought to, in pixels")
    fit: str = option("crop", "how: crop (the middle) or squash")
    layer_norm: bool = option(False, "whether the features of a cell are normalised, and learn to")
    dropout: float = option(
        0.0, "while training: share of a picture's features that are left out, alike in every cell"
    )


@dataclass(frozen=True)
class ModelConfig:
    """The sizes of an encoder-decoder. A preset is a name for one of these."""

    family: str = option("transformer", "composition of encoder, attention and decoder")
    embedding: int = option(128, "size of a token's embedding; the Transformer's model size")
    hidden: int = option(
        256, "units of a recurrent layer, per direction; the Transformer's ff size"
    )
    encoder_layers: int = option(
        4, "layers of the encoder; captioner-transformer: over the cells, 0 for none"
    )
    decoder_layers: int = option(4, "layers of the decoder")
    heads: int = option(4, "heads of the Transformer's attention")
    cell: str = option("gru", "recurrent cell: gru or lstm")
    readout: int = option(0, "size of the recurrent deep output (0: the embedding's)")
    bidirectional: bool = option(True, "whether the recurrent encoder reads in both directions")
    encoder_attention: str = option(
        "none", "self-attention inside the recurrent encoder: none or intra (Cheng et al. 2016)"
    )
    input_feeding: bool = option(True, "Luong 3.3: the attentional vector enters the next step")
    dropout: float = option(0.1, "dropout of residual branches, embeddings and the output")
    attention_dropout: float = option(0.0, "dropout of the Transformer's attention weights")
    tied: bool = option(True, "one matrix for target embedding and output (source too, if joint)")
    max_source: int = option(512, "longest source in pieces, end mark included")
    gate: bool = option(True, "captioner: the scalar beta on what was read (Xu et al. 2015, 4.2.1)")
    attention: AttentionConfig = option(AttentionConfig, "attention of the recurrent decoder")
    image: ImageConfig = option(ImageConfig, "captioners: how they see")


@dataclass(frozen=True)
class TokenizerConfig:
    """The SentencePiece model or models, trained from the training text."""

    kind: str = option("unigram", "subword model: unigram or bpe")
    joint: bool = option(True, "one vocabulary for both languages")
    size: int = option(0, "pieces per vocabulary (0: chosen from the data)")
    coverage: float = option(0.9999, "share of characters that get a piece; the rest go by bytes")
    sample: int = option(300_000, "pairs it learns from, drawn evenly from the corpus, at most")
    languages: tuple[str, ...] = option(
        (), "multilingual: language codes; the source begins with the token <2code> of the target"
    )
    directions: tuple[str, ...] = option(
        (), "multilingual: directions of the training data, such as en-de; others are zero-shot"
    )


@dataclass(frozen=True)
class SearchConfig:
    """How an output is chosen: greedy, beam or sampling."""

    method: str = option("beam", "beam, greedy or sample")
    beam: int = option(5, "hypotheses kept at each step")
    length_penalty: float = option(1.0, "alpha of Wu et al. 2016, eq. 14; 0 for none")
    nbest: int = option(1, "outputs per input")
    temperature: float = option(1.0, "sampling: below 1 sharper, above 1 flatter")
    top_k: int = option(0, "sampling: from the k likeliest pieces only (0: all)")
    top_p: float = option(1.0, "sampling: from the smallest set with this probability (1: all)")
    seed: int = option(1, "sampling: random seed")
    max_ratio: float = option(
        2.0, "longest output in pieces: this times the source, plus max_extra"
    )
    max_extra: int = option(20, "longest output in pieces: max_ratio times the source, plus this")
    max_caption: int = option(60, "longest caption in pieces, end mark included")


@dataclass(frozen=True)
class AlignConfig:
    """How attention is read as an alignment. Stored in a bundle once it is tuned."""

    units: str = option("word", "what is linked: word (between spaces), piece or char")
    layer: int = option(
        0, "decoder layer whose weights are read, from 1 (0: the last but one of three or more)"
    )
    head: int = option(0, "head whose weights are read, from 1 (0: the mean of all)")
    shift: int = option(0, "0: weights of the step that says a piece; 1: of the one that reads it")
    marks: bool = option(False, "whether punctuation glued to a word counts with the word")
    extract: str = option("transport", "weights to links: argmax, threshold, mutual or transport")
    threshold: float = option(0.3, "threshold, transport: least weight, or share, of a link")
    null_threshold: float = option(
        1.0, "a target unit with more weight than this on no source unit has no link"
    )
    symmetrise: str = option(
        "grow-diag",
        "reverse model: intersection, union, grow-diag, grow-diag-final or grow-diag-final-and",
    )
    flavour: str = option("moses", "how links grow: moses, fast_align, or both-free as in NLTK")


def fields_of(config_class: type) -> dict[str, dataclasses.Field[Any]]:
    """The fields of a configuration class by name."""
    return {f.name: f for f in dataclasses.fields(config_class)}


@cache
def types_of(config_class: type) -> dict[str, Any]:
    """The resolved type of each field."""
    return typing.get_type_hints(config_class)


def to_dict(config: Any) -> dict[str, Any]:
    """A configuration as plain dictionaries, for TOML and JSON."""
    return dataclasses.asdict(config)


def from_dict(config_class: type[C], values: Mapping[str, Any], *, where: str = "") -> C:
    """A configuration from plain dictionaries; what is absent keeps its default."""
    return merged(config_class(), values, where=where)


def merged(config: C, values: Mapping[str, Any], *, where: str = "") -> C:
    """The configuration with some of its values replaced; unknown names are a ModelError."""
    changes, kinds = {}, types_of(type(config))  # type: ignore[arg-type]
    for name, value in values.items():
        if name not in fields_of(type(config)):
            kind = f"setting in [{where}]" if where else "setting"
            raise unknown_name(kind, name, fields_of(type(config)))
        place = f"{where}.{name}" if where else name
        current = getattr(config, name)
        if dataclasses.is_dataclass(current):
            if not isinstance(value, Mapping):
                raise ModelError(f"{place} = {value!r}", f"a table, as in {place}.name=value")
            changes[name] = merged(current, value, where=place)
        else:
            changes[name] = converted(value, kinds[name], place)
    return typing.cast(C, dataclasses.replace(typing.cast(Any, config), **changes))


def overridden(config: C, assignments: Iterable[str]) -> C:
    """The configuration after ``section.key=value`` strings, as ``-s`` gives them."""
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals:
            raise ModelError(f"setting '{assignment}'", "the form section.key=value")
        nested: Any = text
        for name in reversed(path.strip().split(".")):
            nested = {name: nested}
        config = merged(config, nested)
    return config


def converted(value: Any, kind: Any, place: str) -> Any:
    """A value as the field's type, whether it came from text, TOML or JSON."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        raise TypeError(f"{place}: a setting has one type")
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    try:
        return _as_texts(value) if origin is tuple else _as_scalar(value, kind)
    except (KeyError, TypeError, ValueError, OverflowError):
        expected = names.get(kind, "texts, with commas between")
        raise ModelError(f"{place} = {value!r}", expected) from None


def _as_texts(value: Any) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)):
        raise TypeError(value)
    return tuple(str(item) for item in items if str(item))


def _as_scalar(value: Any, kind: type) -> Any:
    if kind is bool:
        if isinstance(value, bool):
            return value
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[
            str(value).strip().lower()
        ]
    if value is None or isinstance(value, (bool, Mapping, list)):
        raise TypeError(value)
    if kind is int and isinstance(value, float) and value != int(value):
        raise ValueError(value)
    if kind is int and isinstance(value, str):
        return int(value.replace("_", ""))
    return kind(value)

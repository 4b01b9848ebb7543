"""The settings of a training run: model, tokenizer, data, training and search in one.

Written whole into the run folder as config.toml, and read back from there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from attncli.scoring.translations import Tokenizer
from models.config import (
    AttentionLossConfig,
    ModelConfig,
    SearchConfig,
    TokenizerConfig,
    fields_of,
    merged,
    option,
    overridden,
    to_dict,
)
from models.errors import ModelError
from models.registry import source_name
from models.zoo import preset as find_preset


@dataclass(frozen=True)
class DataConfig:
    """Where the sentence pairs, or the pictures and their captions, come from."""

    train: tuple[str, ...] = option(
        (), "two line-aligned files, or one TSV, from the current folder; none: the grammar"
    )
    dev: tuple[str, ...] = option((), "the same, for evaluation while training")
    alignments: str = option(
        "", "links of the training pairs, one Pharaoh line each, that guide an attention head"
    )
    images: str = option("", "captioners: a folder of pictures, or a TAR file of them")
    captions: str = option(
        "", "captioners: rows of picture, tab, caption; or a Flickr8k, Karpathy or COCO file"
    )
    dev_captions: str = option("", "the same, for evaluation while training")
    caption_style: str = option(
        "words", "captions as words (lower case, no punctuation, as the papers) or plain"
    )
    features: str = option(
        "",
        "folder where features of a frozen encoder are kept for later runs (empty: user's cache)",
    )
    max_length: int = option(256, "pairs with a longer side, in pieces, are left out")
    demo_pairs: int = option(8000, "pairs drawn from the embedded grammar if no files are given")
    demo_scenes: int = option(2000, "scenes drawn for a captioner if no pictures are given")
    demo_source: str = option("en", "source language of the embedded grammar: en, de or fr")
    demo_target: str = option("de", "target language of the embedded grammar: en, de or fr")

    @property
    def is_given(self) -> bool:
        """Whether there are files to train on."""
        return bool(self.train or self.images or self.captions)

    @property
    def has_dev(self) -> bool:
        """Whether there are files for evaluation."""
        return bool(self.dev or self.dev_captions)


@dataclass(frozen=True)
class TrainConfig:
    """How the model is trained."""

    steps: int = option(0, "updates at most (0: no limit)")
    epochs: int = option(100, "passes over the data at most (0: no limit)")
    batch_tokens: int = option(4096, "positions of a batch, padding included, on its longer side")
    accumulate: int = option(1, "batches whose gradients make one update")
    optimiser: str = option("adam", "adam, adamw or rmsprop")
    lr: float = option(0.001, "peak learning rate")
    beta1: float = option(0.9, "Adam's first decay")
    beta2: float = option(0.98, "Adam's second decay; RMSProp's")
    weight_decay: float = option(0.0, "weight decay")
    schedule: str = option("inverse_sqrt", "inverse_sqrt, plateau or constant, after the warm-up")
    warmup: int = option(1000, "updates of linear warm-up")
    plateau_factor: float = option(0.5, "plateau: the rate is multiplied by this")
    plateau_patience: int = option(2, "plateau: after so many evaluations without gain")
    clip: float = option(1.0, "largest norm of the gradient (0: no clipping)")
    label_smoothing: float = option(0.1, "share of the target spread over the vocabulary")
    precision: str = option("auto", "auto, fp32 or bf16; auto takes bf16 where it is faster")
    seed: int = option(1, "random seed of weights, order and dropout")
    evaluate_every: int = option(0, "updates between evaluations (0: one an epoch)")
    metric: str = option(
        "bleu", "what early stopping watches: bleu or cider (captions), by real decoding, or loss"
    )
    bleu_tokenizer: str = option("13a", "sacreBLEU's tokenizer; none for tokenised text")
    patience: int = option(10, "evaluations without gain before stopping (0: never stop early)")
    average: int = option(5, "the weights of so many last evaluations are averaged (0: none)")
    ema: float = option(0.0, "decay of the moving average that is evaluated and kept (0: none)")
    encoder_from: int = option(
        0, "captioners: the epoch with which a pretrained encoder learns too (0: it stays frozen)"
    )
    encoder_lr: float = option(0.00005, "peak learning rate of a pretrained encoder that learns")
    flip: float = option(0.5, "while it learns: share of the pictures that are mirrored")
    crop: float = option(0.8, "while it learns: smallest share of a picture that is shown (1: all)")
    self_critical_from: int = option(
        0, "captioners: the epoch with which CIDEr-D of sampled captions is learned from (0: never)"
    )
    self_critical_lr: float = option(0.00005, "peak learning rate from then on")
    self_critical_samples: int = option(
        5, "captions sampled of a picture, held to each other; as many as it has (1: to the greedy)"
    )
    self_critical_bleu: float = option(
        0.0, "weight of BLEU-4 (0 to 1) in the reward beside CIDEr-D"
    )
    checkpoint_minutes: float = option(5.0, "minutes between checkpoints; every evaluation too")
    log_every: int = option(50, "updates between lines of log.jsonl")
    tensorboard: bool = option(False, "write for TensorBoard too (extra package tensorboard)")
    attention: AttentionLossConfig = option(AttentionLossConfig, "what the attention adds")


@dataclass(frozen=True)
class RunConfig:
    """Everything a run depends on."""

    preset: str = option("transformer-tiny", "the preset that the settings below start from")
    start_from: str = option("", "a trained model, whose weights and pieces the run begins with")
    data: DataConfig = option(DataConfig, "data")
    model: ModelConfig = option(ModelConfig, "model")
    tokenizer: TokenizerConfig = option(TokenizerConfig, "tokenizer")
    train: TrainConfig = option(TrainConfig, "training")
    search: SearchConfig = option(SearchConfig, "search, here and as the model's default")

    @property
    def sees_pictures(self) -> bool:
        """Whether the model is a captioner, and learns from pictures and captions."""
        return source_name(self.model.family) == "image"


def run_config(
    preset: str, values: Mapping[str, Any] | None = None, assignments: Iterable[str] = ()
) -> RunConfig:
    """A preset, then the tables of a TOML file, then `section.key=value` strings."""
    chosen = find_preset(preset)
    config = merged(RunConfig(preset=preset), {"model": chosen.model, "train": chosen.train})
    config = overridden(merged(config, values or {}), assignments)
    check(config)
    return config


CHOICES = {
    "train.optimiser": ("adam", "adamw", "rmsprop"),
    "train.schedule": ("inverse_sqrt", "plateau", "constant"),
    "train.precision": ("auto", "fp32", "bf16"),
    "train.metric": ("bleu", "cider", "loss"),
    "train.bleu_tokenizer": get_args(Tokenizer),
    "data.caption_style": ("words", "plain"),
    "tokenizer.kind": ("unigram", "bpe"),
    "search.method": ("beam", "greedy", "sample"),
    "model.cell": ("gru", "lstm"),
    "model.image.fit": ("crop", "squash"),
}
ABOVE_0 = (
    *("train.lr", "train.batch_tokens", "train.accumulate", "train.log_every"),
    *("train.plateau_factor", "train.plateau_patience", "train.crop"),
    *("train.encoder_lr", "train.self_critical_lr", "train.self_critical_samples"),
    *("data.max_length", "data.demo_pairs", "data.demo_scenes"),
    *("tokenizer.coverage", "tokenizer.sample", "search.beam", "search.nbest"),
    *("model.embedding", "model.hidden", "model.max_source", "model.heads"),
    *("model.decoder_layers", "model.attention.heads", "model.image.size"),
)
BELOW_1 = (
    *("model.dropout", "model.attention_dropout", "model.image.dropout"),
    *("train.label_smoothing", "train.ema"),
    *("train.beta1", "train.beta2"),
)
SHARES = ("train.flip", "train.crop")


def check(config: RunConfig) -> None:
    """Refuse settings that name no choice, lie out of range, or make no sense together."""
    from models.registry import location

    location("family", config.model.family)
    for kind in ("score", "window", "normalise", "read"):
        location(kind, getattr(config.model.attention, kind))
    for place, value in _flat(to_dict(config)).items():
        _check_setting(place, value)
    if not config.model.encoder_layers and not config.sees_pictures:
        raise ModelError("model.encoder_layers = 0", "more than 0, to read a text")
    _check_kind(config)
    _check_data(config.data)
    train, data = config.train, config.data
    stops_early = train.patience and (data.has_dev or not data.is_given)
    if not (train.steps or train.epochs or stops_early):
        seen = "train.steps and train.epochs are 0, and no patience with a dev set ends the run"
        raise ModelError(seen, "an end")


def _check_setting(place: str, value: Any) -> None:
    allowed = CHOICES.get(place)
    if allowed and value not in allowed:
        raise ModelError(f"{place} = {value!r}", f"one of {', '.join(allowed)}")
    if isinstance(value, (str, bool, tuple, list)):
        return
    if not math.isfinite(value) or value < 0:
        raise ModelError(f"{place} = {value}", "no less than 0")
    if place in ABOVE_0 and value == 0:
        raise ModelError(f"{place} = {value}", "more than 0")
    if place in SHARES and value > 1:
        raise ModelError(f"{place} = {value}", "from 0 to 1")
    if place in BELOW_1 and value >= 1:
        raise ModelError(f"{place} = {value}", "at least 0 and below 1")


def _check_kind(config: RunConfig) -> None:
    """Refuse texts for a captioner, and pictures for a model of texts."""
    data, named = config.data, f"preset {config.preset} (family {config.model.family})"
    if config.sees_pictures and (data.train or data.dev):
        name = Path((*data.train, *data.dev)[0]).name
        raise ModelError(
            f"sentence pairs ({name}) for {named}",
            "pictures and captions",
            "give --images and --captions, or choose a preset for texts",
        )
    if not config.sees_pictures and (data.images or data.captions or data.dev_captions):
        raise ModelError(
            f"pictures or captions for {named}",
            "a preset that captions",
            "--preset show-attend-tell-soft-small",
        )
    for name in ("encoder_from", "self_critical_from"):
        if getattr(config.train, name) and not config.sees_pictures:
            raise ModelError(f"train.{name} = {getattr(config.train, name)} for {named}", "0")
    if config.train.metric == "cider" and not config.sees_pictures:
        raise ModelError(f"train.metric = 'cider' for {named}", "bleu or loss")


def _check_data(data: DataConfig) -> None:
    if bool(data.images) != bool(data.captions):
        seen, missing = ("images", "captions") if data.images else ("captions", "images")
        raise ModelError(f"data.{seen} without data.{missing}", "both", f"give --{missing} too")
    if data.dev_captions and not data.captions:
        raise ModelError("data.dev_captions without data.captions", "both")
    if len(data.train) > 2:
        names = " ".join(Path(path).name for path in data.train)
        raise ModelError(
            f"{len(data.train)} training files ({names})",
            "two, source and target, or one TSV",
            "name dev files after --dev",
        )
    if data.alignments and not data.train:
        raise ModelError("data.alignments without training files", "both")
    if data.dev and not data.train:
        raise ModelError(
            "dev files without training files", "both, or neither to learn the embedded grammar"
        )


PATHS = ("train", "dev", "alignments", "images", "captions", "dev_captions", "features")  # of data
UNCHECKED = {
    "preset",
    "start_from",
    *(f"data.{name}" for name in PATHS),
}  # what is there is compared instead


def differences(new: RunConfig, old: RunConfig) -> list[str]:
    """Settings of two runs that differ, but for the data's paths: `section.key: old, now new`."""
    before = _flat(to_dict(old))
    return [
        f"{place} was {before[place]!r}, now {value!r}"
        for place, value in _flat(to_dict(new)).items()
        if value != before[place] and place not in UNCHECKED
    ]


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        place = f"{prefix}{name}"
        flat.update(_flat(value, f"{place}.") if isinstance(value, Mapping) else {place: value})
    return flat


def to_toml(config: Any) -> str:
    """The configuration as TOML, each setting under the sentence that documents it."""
    return "\n".join(_toml_lines(config, ""))


def _toml_lines(config: Any, section: str) -> Iterable[str]:
    import tomli_w

    tables = []
    if section:
        yield f"\n[{section}]"
    for name, field in fields_of(type(config)).items():
        value = getattr(config, name)
        if hasattr(value, "__dataclass_fields__"):
            tables.append((f"{section}.{name}" if section else name, value))
            continue
        yield f"# {field.metadata['doc']}"
        plain = list(value) if isinstance(value, tuple) else value
        yield tomli_w.dumps({name: plain}).strip()
    for place, table in tables:
        yield from _toml_lines(table, place)


def from_toml(text: str, name: str) -> dict[str, Any]:
    """The tables of a TOML file; a ModelError with the line if it does not parse."""
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ModelError(f"{name} is not TOML ({error})", "key = value lines in tables") from None

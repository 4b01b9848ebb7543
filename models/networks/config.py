"""Settings of the families: each is composed of groups of settings. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from models.core.config import (
    AttendingConfig,
    BlocksConfig,
    CopyConfig,
    ImageConfig,
    ImageModelConfig,
    PoolingConfig,
    ReadoutConfig,
    RecurrentDecoderConfig,
    RecurrentEncoderConfig,
    TextConfig,
    TransformerDecoderConfig,
    named,
)
from models.core.settings import MAX_LAYERS, MAX_SIZE, option, with_default


@dataclass(frozen=True, eq=False, repr=False)
class Seq2SeqConfig(ReadoutConfig, TextConfig, RecurrentEncoderConfig):
    """Sequence to sequence."""

    builds: ClassVar[str] = "models.networks.text_families:Seq2Seq"

    family: str = named("seq2seq")


@dataclass(frozen=True, eq=False, repr=False)
class RnnSearchConfig(
    AttendingConfig, CopyConfig, ReadoutConfig, TextConfig, RecurrentEncoderConfig
):
    """RNNsearch."""

    builds: ClassVar[str] = "models.networks.text_families:RnnSearch"

    family: str = named("rnnsearch")


@dataclass(frozen=True, eq=False, repr=False)
class LuongConfig(AttendingConfig, CopyConfig, ReadoutConfig, TextConfig, RecurrentEncoderConfig):
    """Luong."""

    builds: ClassVar[str] = "models.networks.text_families:Luong"

    family: str = named("luong")


@dataclass(frozen=True, eq=False, repr=False)
class TransformerConfig(CopyConfig, TransformerDecoderConfig):
    """Transformer."""

    builds: ClassVar[str] = "models.networks.text_families:Transformer"

    alignment_layer: bool = option(
        False,
        "Transformer: attention that only aligns and changes no output; `attn align train` adds it",
    )


@dataclass(frozen=True, eq=False, repr=False)
class ClassifierConfig(PoolingConfig, TextConfig, RecurrentEncoderConfig):
    """Classifier with a recurrent encoder."""

    builds: ClassVar[str] = "models.networks.text_families:RecurrentClassifier"
    source: ClassVar[str] = "labelled_text"

    family: str = named("classifier")


@dataclass(frozen=True, eq=False, repr=False)
class TransformerClassifierConfig(PoolingConfig, BlocksConfig):
    """Classifier with a Transformer's encoder."""

    builds: ClassVar[str] = "models.networks.text_families:TransformerClassifier"
    source: ClassVar[str] = "labelled_text"

    family: str = named("classifier-transformer")


@dataclass(frozen=True, eq=False, repr=False)
class CaptionerConfig(ImageModelConfig, AttendingConfig, ReadoutConfig):
    """Show, Attend and Tell."""

    builds: ClassVar[str] = "models.networks.captioner:ShowAttendTell"
    source: ClassVar[str] = "image"

    family: str = named("captioner")


@dataclass(frozen=True, eq=False, repr=False)
class AdaptiveConfig(ImageModelConfig, AttendingConfig, RecurrentDecoderConfig):
    """Captions by adaptive attention."""

    builds: ClassVar[str] = "models.networks.captioner:CaptionerAdaptive"
    source: ClassVar[str] = "image"

    family: str = named("captioner-adaptive")


@dataclass(frozen=True, eq=False, repr=False)
class TopDownConfig(ImageModelConfig, AttendingConfig, RecurrentDecoderConfig):
    """Captions by top-down attention."""

    builds: ClassVar[str] = "models.networks.captioner:CaptionerTopDown"
    source: ClassVar[str] = "image"

    family: str = named("captioner-top-down")


@dataclass(frozen=True, eq=False, repr=False)
class CaptionerTransformerConfig(ImageModelConfig, TransformerDecoderConfig):
    """Captions by a Transformer."""

    builds: ClassVar[str] = "models.networks.captioner:CaptionerTransformer"
    source: ClassVar[str] = "image"

    family: str = named("captioner-transformer")


@dataclass(frozen=True, eq=False, repr=False)
class SmallCnnConfig(ImageConfig):
    """Three convolutions, trained from scratch."""

    builds: ClassVar[str] = "models.networks.image_encoder:SmallCnn"

    encoder: str = with_default(ImageConfig, "encoder", "small-cnn")
    weights: str = with_default(ImageConfig, "weights", "none")
    size: int = with_default(ImageConfig, "size", 64)


@dataclass(frozen=True, eq=False, repr=False)
class VisionTransformerConfig(ImageConfig):
    """Vision Transformer."""

    builds: ClassVar[str] = "models.networks.transformer:VisionTransformer"

    encoder: str = with_default(ImageConfig, "encoder", "vit")
    weights: str = with_default(ImageConfig, "weights", "none")
    size: int = with_default(ImageConfig, "size", 64)
    width: int = option(64, "vit: features of a slot", least=1, at_most=MAX_SIZE)
    layers: int = option(2, "vit: number of layers", least=1, at_most=MAX_LAYERS)
    heads: int = option(4, "vit: number of heads", least=1, at_most=MAX_SIZE)
    class_tokens: int = option(
        1,
        "vit: learned slots before those of the patches (2: with the distillation token of "
        "Touvron et al. 2021)",
        at_most=16,
    )
    norm_epsilon: float = option(
        1e-5, "vit: number that its layer normalisation adds to the variance", above=0, at_most=1
    )

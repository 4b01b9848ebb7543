"""Settings of a model: those of every family, and groups of settings that several families have.

The Config class of a family is composed of these groups and of its own settings; its row in the
registry names it. A default, doc, list of choices or range is written once, where the setting is
declared. The docs are the manual. Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, make_dataclass, replace
from typing import Any, ClassVar, Literal

from models.core.attention_config import (
    AttentionConfig,
    SelfAttentionConfig,
    TransformerAttentionConfig,
    all_parts,
    part_config,
)
from models.core.errors import ConfigurationError
from models.core.registry import DEFAULT_SOURCE, SETTINGS, config_of, is_name, names
from models.core.settings import (
    MAX_LAYERS,
    MAX_SIZE,
    MAX_SLOTS,
    Need,
    Settings,
    fields_of,
    merged,
    option,
    short,
    to_dict,
    types_of,
)

MAX_BATCH_TOKENS = 4096  # positions computed at a time when a model is used, padding included
BATCH_IMAGES = 32  # images computed at a time when a captioner is used

HOP = 10  # ms from one frame of sound to the next

NO_COPY = "none"
PLAIN_POOLINGS = ("mean", "max")  # without attention

FormOfAddress = Literal["formal", "informal"]
# families of 2.0: their present names
RENAMED = {name.replace("-", "_"): name for name in ("listen-attend-spell", "speech-transformer")}
REMOVED = {  # settings of 2.0 and later, with their defaults
    **{"encoder_attention": "none", "input_feeding": "true", "attention_dropout": "0.0"},
}

OF_ANNEXES = ("audio", "inputs", "combination")  # in files of version 2, whatever the family

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "swish")  # see models/attention/layers.py
FAMILY = "composition of encoder, attention and decoder"


@dataclass(frozen=True, eq=False, repr=False)
class ImageConfig(Settings):
    """Image encoder of a captioner."""

    encoder: str = option(
        "mobilenet-edgetpu", "image network: a name from `attn models`, or a name of torchvision"
    )
    weights: str = option(
        "DEFAULT",
        "weights of the image network: DEFAULT (torchvision's; of mobilenet-edgetpu those in the "
        "shipped model photos), none (trained from scratch), or a path",
    )
    grid: str = option("", "layer whose output cells become slots (empty: the last grid)")
    size: int = option(224, "side of the square input image, in pixels", least=1, at_most=4096)
    fit: str = option(
        "crop",
        "how an image becomes square: crop (its centre) or squash",
        choices=("crop", "squash"),
    )
    resample: str = option(
        "bilinear", "interpolation of pixels: bilinear or bicubic", choices=("bilinear", "bicubic")
    )
    project: bool = option(
        True,
        "captioner-transformer: map the features of cells to the size of the decoder, with learned "
        "positions; false: attention reads the features, with vit those of class tokens, too",
        needs=Need("model.family=captioner-transformer"),
    )
    layer_norm: bool = option(False, "apply layer normalisation to the features of a cell")
    dropout: float = option(
        0.0, "dropout of image features; one mask for all cells of an image", below=1
    )
    labels: int = option(
        0,
        "number of nouns, the most probable of the image network's labels, that the decoder reads "
        "and can copy; mobilenet-edgetpu with its last grid (0: none)",
        at_most=100,
    )

    builds: ClassVar[str] = ""  # of the Config of an image network: its class, as module:Class

    def chosen(self, values: Mapping[str, object]) -> ImageConfig:
        """Return the settings in the class of the image network that values name.

        Grid, size and weights belong to their own network, so another one brings its usual ones.
        """
        name = values.get("encoder", self.encoder)
        kind = network_config(name)
        own = {one: value for one, value in vars(self).items() if one in fields_of(kind)}
        if name != self.encoder:
            usual = kind()
            own |= {"grid": usual.grid, "size": usual.size, "weights": usual.weights}
        elif type(self) is kind:
            return self
        return kind(**own)

    def elsewhere(self, name: str) -> tuple[str, str]:
        """Return why a setting of another image network has no effect, and those that have it."""
        kind = "image_encoder"
        found = [one for one in names(kind) if name in fields_of(network_config(one))]
        reason = f"has no effect on the image network {self.encoder}" if found else ""
        return reason, f"{SETTINGS[kind]}={', '.join(found)}"


def network_config(name: object) -> type[ImageConfig]:
    """Return the Config class of an image network."""
    known = isinstance(name, str) and is_name("image_encoder", name)
    return (config_of("image_encoder", str(name)) if known else None) or ImageConfig


def named(family: str) -> Any:
    """Declare the name of a family in its Config class."""
    return option(family, FAMILY, registry="family")


@dataclass(frozen=True, eq=False, repr=False)
class ModelConfig(Settings):
    """Settings of every family. A preset is a name for those of one family.

    The Config class of a family inherits from this one; `from_dict(ModelConfig, values)` chooses it
    by the family that the values name.
    """

    family: str = named("transformer")
    embedding: int = option(
        128, "size of a token's embedding; of the Transformer's model", least=1, at_most=MAX_SIZE
    )
    vectors: tuple[str, ...] = option(
        (),
        "training: files of word vectors as first embeddings (word2vec, GloVe, fastText; text or "
        "binary), one for both sides, or one of the source and one of the target; of as many "
        "numbers as model.embedding",
    )
    hidden: int = option(
        256,
        "units of a recurrent layer, per direction; of the Transformer's feed-forward layer",
        least=1,
        at_most=MAX_SIZE,
    )
    dropout: float = option(0.1, "dropout of residual branches, embeddings and the output", below=1)

    builds: ClassVar[str] = ""  # class of the family, as module:Class
    source: ClassVar[str] = DEFAULT_SOURCE  # kind of input

    def chosen(self, values: Mapping[str, object]) -> ModelConfig:
        """Return the settings in the class of the family that values name."""
        family = values.get("family", self.family)
        if not isinstance(family, str) or not is_name("family", family):
            return self  # refused where the value is read
        kind = family_config(family)
        if type(self) is kind:
            return self
        return merged(kind(), {**to_dict(self), "family": family}, stored=True).chosen(values)

    def elsewhere(self, name: str) -> tuple[str, str]:
        """Return why a setting of another family has no effect, and what is expected."""
        found = [one for one in names("family") if name in fields_of(family_config(one))]
        read_by = f"; it is read by {', '.join(found)}" if found else ""
        known = found or name in OF_ANNEXES
        reason = f"has no effect on family {self.family}{read_by}" if known else ""
        return reason, "settings that the run reads"

    @staticmethod
    def upgraded(values: Mapping[str, object]) -> Mapping[str, object]:
        """Return settings of version 2.0 as those of the present one.

        Raises ConfigurationError for a removed setting unless it has its default.
        """
        for name in REMOVED.keys() & values.keys():
            if str(values[name]).lower() != REMOVED[name]:
                raise ConfigurationError(
                    f"model.{name} = {short(values[name])}, a setting that an earlier version had",
                    f"no such setting: here it is always {REMOVED[name]}",
                )
        found = {name: value for name, value in values.items() if name not in REMOVED}
        family = str(values.get("family", ""))
        return {**found, "family": RENAMED[family]} if family in RENAMED else found


def family_config(family: str) -> type[ModelConfig]:
    """Return the Config class of a family."""
    return config_of("family", family) or ModelConfig


@dataclass(frozen=True, eq=False, repr=False)
class TextConfig(ModelConfig):
    """A model whose longest source is limited."""

    max_source: int = option(
        512, "longest source in tokens, end token included", least=1, at_most=MAX_SLOTS
    )


@dataclass(frozen=True, eq=False, repr=False)
class EncoderConfig(ModelConfig):
    """A model with layers of an encoder."""

    encoder_layers: int = option(
        4,
        "number of encoder layers; captioner-transformer: over the cells, 0 for none",
        at_most=MAX_LAYERS,
    )


@dataclass(frozen=True, eq=False, repr=False)
class DecoderConfig(ModelConfig):
    """A model with a decoder of tokens."""

    decoder_layers: int = option(4, "number of decoder layers", least=1, at_most=MAX_LAYERS)
    tied: bool = option(
        True, "share one matrix between target embedding and output (and source, if joint)"
    )


@dataclass(frozen=True, eq=False, repr=False)
class CellConfig(ModelConfig):
    """A recurrent model."""

    cell: str = option("gru", "recurrent cell: gru or lstm", choices=("gru", "lstm"))


@dataclass(frozen=True, eq=False, repr=False)
class RecurrentEncoderConfig(EncoderConfig, CellConfig):
    """A recurrent encoder."""

    bidirectional: bool = option(True, "make the recurrent encoder bidirectional")


@dataclass(frozen=True, eq=False, repr=False)
class RecurrentDecoderConfig(DecoderConfig, CellConfig):
    """A recurrent decoder."""


@dataclass(frozen=True, eq=False, repr=False)
class ReadoutConfig(RecurrentDecoderConfig):
    """A recurrent decoder with a deep output."""

    readout: int = option(
        0, "size of the recurrent deep output (0: the embedding's size)", at_most=MAX_SIZE
    )


@dataclass(frozen=True, eq=False, repr=False)
class BlocksConfig(TextConfig, EncoderConfig):
    """Blocks of a Transformer."""

    heads: int = option(
        4, "number of heads of the Transformer's attention", least=1, at_most=MAX_SIZE
    )
    position: str = option(
        "sinusoidal",
        "positions of tokens in a Transformer; `attn models` lists them",
        registry="position",
    )
    position_offset: int = option(
        0,
        "sinusoidal, sinusoidal_2017: position of the first token",
        needs=Need("model.position=sinusoidal,sinusoidal_2017", "sinusoidal positions"),
        at_most=MAX_SLOTS,
    )
    norm: str = option(
        "pre",
        "layer normalisation of a Transformer: pre, before each block (Xiong et al. 2020), or "
        "post, after its residual connection (Vaswani et al. 2017)",
        choices=("pre", "post"),
    )
    norm_epsilon: float = option(
        1e-5,
        "number that a Transformer's layer normalisation adds to the variance",
        above=0,
        at_most=1,
    )
    embedding_norm: bool = option(
        False, "Transformer: normalise embeddings with their positions (Devlin et al. 2019)"
    )
    embedding_scale: bool = option(
        True,
        "Transformer: multiply embeddings by the root of their size (Vaswani et al. 2017, 3.4)",
    )
    activation: str = option(
        "relu",
        "activation of a Transformer's feed-forward layers: relu, gelu (Hendrycks and Gimpel "
        "2016), gelu_tanh (its approximation) or swish (Ramachandran et al. 2017)",
        choices=ACTIVATIONS,
    )
    mixing: str = option(
        "attention",
        "how tokens of a Transformer's encoder and decoder read each other; `attn models` lists it",
        registry="mixing",
    )
    self_attention: SelfAttentionConfig = option(
        SelfAttentionConfig, "self-attention of a Transformer's encoder and decoder"
    )


@dataclass(frozen=True, eq=False, repr=False)
class AttendingConfig(ModelConfig):
    """A model with one attention to the memory."""

    attention: AttentionConfig = option(
        AttentionConfig.of, "attention of the decoder to the memory, or of a classifier's pooling"
    )

    @property
    def attends(self) -> bool:
        """True if the settings of the attention have an effect."""
        return True

    @property
    def attends_softly(self) -> bool:
        """True if the weights of the attention have a gradient."""
        return self.attends and self.attention.read != "hard"


@dataclass(frozen=True, eq=False, repr=False)
class TransformerDecoderConfig(AttendingConfig, DecoderConfig, BlocksConfig):
    """A Transformer's decoder."""

    output_transform: bool = option(
        False,
        "Transformer: a linear layer, the activation and layer normalisation before the output "
        "matrix (Devlin et al. 2019)",
    )
    attention: AttentionConfig = option(
        TransformerAttentionConfig.of, "attention of the decoder to the memory"
    )


@dataclass(frozen=True, eq=False, repr=False)
class CopyConfig(ModelConfig):
    """A model that can copy tokens of its source."""

    copy: str = option(
        NO_COPY,
        "copying of source tokens: none, pointer (See et al. 2017) or copynet (Gu et al. 2016); "
        "needs one vocabulary for source and target, and attention",
        choices=(NO_COPY,),
        registry="copy",
    )


@dataclass(frozen=True, eq=False, repr=False)
class PoolingConfig(AttendingConfig):
    """A classifier: a pooling of the slots, which may attend."""

    pooling: str = option(
        "learned",
        "classifier: pooling of the slots into one vector; `attn models` lists them",
        registry="pooling",
    )
    attention: AttentionConfig = option(
        AttentionConfig.of,
        "attention of a classifier's pooling",
        needs=Need("model.attends", "a pooling with attention (model.pooling)"),
    )

    @property
    def attends(self) -> bool:
        """True if the pooling has attention."""
        return self.pooling not in PLAIN_POOLINGS

    pools_by_attention = attends

    def chosen(self, values: Mapping[str, object]) -> ModelConfig:
        """Return the settings in the class of the family, and those of its pooling's attention."""
        found = super().chosen(values)
        if not isinstance(found, PoolingConfig):
            return found
        pooling = part_config("pooling", values.get("pooling", found.pooling))
        attention = found.attention.chosen({}, pooling or AttentionConfig)
        return found if attention is found.attention else replace(found, attention=attention)


@dataclass(frozen=True, eq=False, repr=False)
class ImageModelConfig(ModelConfig):
    """A model that reads images."""

    image: ImageConfig = option(ImageConfig, "image encoder of a captioner")


def every_setting() -> Any:
    """Return the settings of all families and of all parts of an attention, for lists."""
    parts = (part_config(kind, name) for kind, name in all_parts())
    attention = united(AttentionConfig, *filter(None, parts))()
    image = united(ImageConfig, *map(network_config, names("image_encoder")))()
    found = united(ModelConfig, *map(family_config, names("family")))()
    return replace(found, attention=attention, image=image)


def united(*kinds: type) -> Any:
    """Return a class with the settings of several classes."""
    found = {
        name: (kind, each) for kind in reversed(kinds) for name, each in fields_of(kind).items()
    }
    order = dict.fromkeys(name for kind in kinds for name in fields_of(kind))
    fields = ((name, types_of(found[name][0])[name], copy(found[name][1])) for name in order)
    return make_dataclass("Every", fields, frozen=True, eq=False, repr=False)

"""Settings of a model, its tokenizer, its search and its alignment. The field docs are the manual.

Each default, doc, list of choices and range is written once, here. Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

from models.core.errors import ConfigurationError
from models.core.settings import option, short

MAX_WORDS = 200  # of a side of a sentence pair that a word aligner is trained on
MAX_BATCH_TOKENS = 4096  # positions computed at a time when a model is used, padding included
BATCH_IMAGES = 32  # images computed at a time when a captioner is used

# ceilings, so that a damaged or hostile config.json cannot ask for unbounded work
MAX_SIZE = 2**16  # features of a layer
MAX_LAYERS = 256
MAX_SLOTS = 2**20  # source and target lengths
MAX_SEED = 2**63 - 1

RECURRENT_SCORE = "additive"  # where model.attention.score is empty; also of a pooling
TRANSFORMER_SCORE = "scaled_dot"  # of a Transformer's decoder and self-attention

HOP = 10  # ms from one frame of sound to the next

NO_COPY = "none"

ReadMode = Literal["argmax", "sample", "expected"]  # of hard attention, outside training
FormOfAddress = Literal["formal", "informal"]
# families of 2.0: their present names
RENAMED = {name.replace("-", "_"): name for name in ("listen-attend-spell", "speech-transformer")}
REMOVED = {"encoder_attention": "none", "input_feeding": "true"}  # settings of 2.0: their defaults

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "swish")  # see models/attention/layers.py


@dataclass(frozen=True)
class SelfAttentionConfig:
    """Self-attention of a Transformer: Score x Normalise; its number of heads is model.heads."""

    score: str = option(
        "",
        "score function; `attn models` lists them (empty: additive; in a Transformer scaled_dot)",
        choices=("",),
        registry="score",
    )
    normalise: str = option("softmax", "function from scores to weights", registry="normalise")
    kv_heads: int = option(
        0,
        "number of heads of keys and values, each read by an equal share of the heads (Ainslie et "
        "al. 2023; 1: multi-query, Shazeer 2019; 0: as many as heads)",
        at_most=MAX_SIZE,
    )
    null_slot: bool = option(
        False,
        "add a slot of value 0 and a learned score, so that a step can attend to nothing; the "
        "weights then sum to at most 1",
    )


@dataclass(frozen=True)
class AttentionConfig(SelfAttentionConfig):
    """One attention: Score x Window x Normalise x Read, and heads."""

    window: str = option("global", "window: which slots a query can attend to", registry="window")
    read: str = option("soft", "how the values are combined by the weights", registry="read")
    heads: int = option(
        1,
        "number of heads; each has its own parameters and an equal share of the features; a "
        "Transformer has model.heads",
        least=1,
        at_most=MAX_SIZE,
    )
    size: int = option(
        0,
        "additive, concat, location_aware, ffn: hidden units per head (0: the query's size)",
        at_most=MAX_SIZE,
    )
    window_size: int = option(
        10,
        "local_m, local_p, median: slots on either side of the window's centre",
        least=1,
        at_most=MAX_SLOTS,
    )
    chunk: int = option(
        4, "mocha: slots of a chunk, which ends at the slot of the step", least=1, at_most=MAX_SLOTS
    )
    read_decode: str = option(
        "argmax",
        "hard: read mode outside training: argmax, sample or expected",
        choices=get_args(ReadMode),
    )
    read_gradient: str = option(
        "reinforce",
        "hard: how the score learns from samples: reinforce, or straight_through (the gradient of "
        "the expectation)",
        choices=("reinforce", "straight_through"),
    )
    coverage: bool = option(
        False, "additive, concat, location_aware: give the score the sum of earlier weights"
    )


@dataclass(frozen=True)
class AttentionLossConfig:
    """Loss terms on attention weights."""

    coverage: str = option(
        "none",
        "penalty on the sum of weights per slot: none, see (repeated attention) or "
        "doubly_stochastic (distance from 1)",
        choices=("none", "see", "doubly_stochastic"),
    )
    coverage_weight: float = option(1.0, "weight of the coverage penalty")
    reinforce: float = option(
        1.0, "hard attention: weight of the REINFORCE term, lambda_r of Xu et al. 2015"
    )
    entropy: float = option(
        0.01, "hard attention: weight of the entropy term, lambda_e of Xu et al. 2015"
    )
    peaked: float = option(
        0.0,
        "soft attention: weight of the penalty on the entropy of each step's weights, in nats, "
        "which concentrates attention on few slots (0: none)",
    )
    regions: float = option(
        0.0,
        "weight of the term that draws attention to the cells of data.regions (captioners) or to "
        "the words of data.links (sentence pairs; then 0.05 if it is not given); 0: none",
    )
    redundancy: float = option(
        0.0,
        "classifier: weight of the penalty |A A^T - I|^2 on the weights A of several heads, which "
        "makes them read different slots (Lin et al. 2017)",
    )


@dataclass(frozen=True)
class ImageConfig:
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
    project: bool = option(
        True,
        "captioner-transformer: map the features of cells to the size of the decoder, with learned "
        "positions; false: attention reads the features, with vit those of class tokens, too",
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


@dataclass(frozen=True)
class AudioConfig:
    """Features of sound, and how the encoder divides time into slots."""

    rate: int = option(
        16_000, "samples a second; other recordings are resampled", least=1000, at_most=192_000
    )
    bands: int = option(80, "bands of the spectrum on the mel scale", least=1, at_most=1024)
    center: bool = option(
        False,
        "subtract the logarithm of each band's mean energy over the recording: another loudness or "
        "microphone changes little (after Atal 1974); what is 70 dB below the loudest band, such "
        "as silence of zeros, is raised to that",
    )
    stack: int = option(
        3, "listen-attend-spell: frames side by side in an input", least=1, at_most=64
    )
    halvings: int = option(
        1, "listen-attend-spell: how many of the last encoder layers read pairs", at_most=8
    )
    channels: int = option(
        32, "speech-transformer: channels of the two convolutions", least=1, at_most=MAX_SIZE
    )
    padded: float = option(
        0.0,
        "Whisper: seconds of a window, padded with zeros, that it reads; speech-transformer then "
        "has the features and convolutions of Radford et al. 2022 (0: those of Dong et al. 2018)",
        at_most=600,
    )
    alignment_heads: tuple[str, ...] = option(
        (), "Whisper: heads that give the times of words, as layer.head (empty: the upper layers)"
    )


of_blocks = partial(option, group="blocks")  # of a Transformer
of_recurrence = partial(option, group="recurrence")  # of a recurrent encoder


@dataclass(frozen=True)
class ModelConfig:
    """Family and sizes of an encoder-decoder. A preset is a name for one of these."""

    family: str = option(
        "transformer", "composition of encoder, attention and decoder", registry="family"
    )
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
    encoder_layers: int = option(
        4,
        "number of encoder layers; captioner-transformer: over the cells, 0 for none",
        group="blocks recurrence",
        at_most=MAX_LAYERS,
    )
    decoder_layers: int = option(4, "number of decoder layers", least=1, at_most=MAX_LAYERS)
    heads: int = of_blocks(
        4, "number of heads of the Transformer's attention", least=1, at_most=MAX_SIZE
    )
    position: str = of_blocks(
        "sinusoidal",
        "positions of tokens in a Transformer; `attn models` lists them",
        registry="position",
    )
    position_offset: int = of_blocks(
        0, "sinusoidal, sinusoidal_2017: position of the first token", at_most=MAX_SLOTS
    )
    norm: str = of_blocks(
        "pre",
        "layer normalisation of a Transformer: pre, before each block (Xiong et al. 2020), or "
        "post, after its residual connection (Vaswani et al. 2017)",
        choices=("pre", "post"),
    )
    norm_epsilon: float = of_blocks(
        1e-5,
        "number that a Transformer's layer normalisation adds to the variance",
        above=0,
        at_most=1,
    )
    embedding_norm: bool = of_blocks(
        False, "Transformer: normalise embeddings with their positions (Devlin et al. 2019)"
    )
    embedding_scale: bool = of_blocks(
        True,
        "Transformer: multiply embeddings by the root of their size (Vaswani et al. 2017, 3.4)",
    )
    activation: str = of_blocks(
        "relu",
        "activation of a Transformer's feed-forward layers: relu, gelu (Hendrycks and Gimpel "
        "2016), gelu_tanh (its approximation) or swish (Ramachandran et al. 2017)",
        choices=ACTIVATIONS,
    )
    output_transform: bool = option(
        False,
        "Transformer: a linear layer, the activation and layer normalisation before the output "
        "matrix (Devlin et al. 2019)",
    )
    mixing: str = of_blocks(
        "attention",
        "how tokens of a Transformer's encoder and decoder read each other; `attn models` lists it",
        registry="mixing",
    )
    cell: str = of_recurrence("gru", "recurrent cell: gru or lstm", choices=("gru", "lstm"))
    readout: int = option(
        0, "size of the recurrent deep output (0: the embedding's size)", at_most=MAX_SIZE
    )
    bidirectional: bool = of_recurrence(True, "make the recurrent encoder bidirectional")
    dropout: float = option(0.1, "dropout of residual branches, embeddings and the output", below=1)
    attention_dropout: float = of_blocks(
        0.0, "dropout of the Transformer's attention weights", below=1
    )
    alignment_layer: bool = option(
        False,
        "Transformer: attention that only aligns and changes no output; `attn align train` adds it",
    )
    tied: bool = option(
        True, "share one matrix between target embedding and output (and source, if joint)"
    )
    max_source: int = of_recurrence(
        512, "longest source in tokens, end token included", least=1, at_most=MAX_SLOTS
    )
    copy: str = option(
        NO_COPY,
        "copying of source tokens: none, pointer (See et al. 2017) or copynet (Gu et al. 2016); "
        "needs one vocabulary for source and target, and attention",
        choices=(NO_COPY,),
        registry="copy",
    )
    inputs: tuple[str, ...] = option(
        (),
        "several inputs: columns of a row that the decoder reads, texts first, as in source,draft; "
        "the last may be an image, as in source,picture:image",
    )
    combination: str = option(
        "flat",
        "several inputs: attention to them; `attn models` lists them",
        registry="combination",
    )
    pooling: str = option(
        "learned",
        "classifier: pooling of the slots into one vector; `attn models` lists them",
        registry="pooling",
    )
    attention: AttentionConfig = option(
        AttentionConfig, "attention of the decoder to the memory, or of a classifier's pooling"
    )
    self_attention: SelfAttentionConfig = of_blocks(
        SelfAttentionConfig, "self-attention of a Transformer's encoder and decoder"
    )
    image: ImageConfig = option(ImageConfig, "image encoder of a captioner")
    audio: AudioConfig = option(AudioConfig, "features of sound, of a model that transcribes")

    @staticmethod
    def upgraded(values: Mapping[str, object]) -> Mapping[str, object]:
        """Return settings of version 2.0 as those of the present one.

        Raises ConfigurationError for a removed setting unless it has its default.
        """
        for name in REMOVED.keys() & values.keys():
            if str(values[name]).lower() != REMOVED[name]:
                raise ConfigurationError(
                    f"model.{name} = {short(values[name])}, a setting that version 2.0 had",
                    f"no such setting: here it is always {REMOVED[name]}",
                )
        found = {name: value for name, value in values.items() if name not in REMOVED}
        family = str(values.get("family", ""))
        return {**found, "family": RENAMED[family]} if family in RENAMED else found

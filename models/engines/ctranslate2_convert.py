"""Conversion of a model for CTranslate2, without torch: ctranslate2.specs would import it.

The weights of a bundle (models/storage/weights.py) become model.bin, version 6 of its format:

    version u32, name, revision u32
    count u32, then for each variable: name, rank u8, sizes u32, type u8, bytes u32, data
    count u32, then for each alias: name, name of the variable

A name is its length with the final zero byte, u16, and its bytes. Little-endian.
Source: ModelSpec._serialize in ctranslate2/specs/model_spec.py.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

from models.core.config import HOP, TransformerDecoderConfig
from models.core.errors import DamagedError, intact
from models.core.types import VocabularySizes
from models.text.tokenizer import END, START, UNKNOWN

Array = NDArray[numpy.generic]
Weights = dict[str, NDArray[numpy.float32]]
SCALE = ".scale"  # NAME is int8, NAME.scale its scale; see models/storage/weights.py
STORED = {"F32": "<f4", "F16": "<f2", "I8": "i1", "BF16": "<u2"}  # bfloat16 as its bits
VERSION = 6  # of the format of model.bin
TYPES = ("float32", "int8", "int16", "int32", "float16", "bfloat16")  # a type is its index
NAME, REVISION = "TransformerSpec", 7
LINEAR = (  # name in CTranslate2, name in a bundle; each has weight and bias
    ("self_attention/linear_0", "self_attention.input"),
    ("self_attention/linear_1", "self_attention.output"),
    ("attention/linear_0", "cross_attention.query"),
    ("attention/linear_1", "cross_attention.input"),
    ("attention/linear_2", "cross_attention.output"),
    ("ffn/linear_0", "feed_forward.inner"),
    ("ffn/linear_1", "feed_forward.outer"),
)
NORMS = (
    ("self_attention/layer_norm", "self_norm"),
    ("attention/layer_norm", "cross_norm"),
    ("ffn/layer_norm", "forward_norm"),
)
ALIGNER = "decoder.aligner."  # weights that only align
ENCODER = {"self_attention": "attention", "self_norm": "attention_norm"}  # its names in a bundle
SWITCHES = {  # of encoder and decoder
    "encoder": {"multi_query_attention": False},
    "decoder": {
        "alibi": False,
        "alibi_use_positive_positions": False,
        "scale_alibi": False,
        "start_from_zero_embedding": False,
    },
}

ACTIVATIONS = {"relu": 0, "gelu_tanh": 1, "swish": 2, "gelu": 3}  # their numbers in CTranslate2

Variables = dict[str, Array]


def read_weights(path: Path) -> Weights:
    """Return the weights in a safetensors file by name, restored to fp32 and checked to be finite.

    Raises DamagedError if the file cannot be read.
    """
    with intact(path, "weights written by `attn train`", "", SafetensorError):
        stored = dict(deserialize(path.read_bytes()))  # type: ignore[no-untyped-call]
        arrays = {name: _array(tensor) for name, tensor in stored.items()}
        scales = {name + SCALE for name, array in arrays.items() if array.dtype == numpy.int8}
        weights = {name: _restored(name, arrays) for name in arrays if name not in scales}
    for name, array in weights.items():
        if not numpy.isfinite(array).all():
            raise DamagedError(
                f"{path} has weights that are infinite or not numbers (first at {name})",
                "finite weights",
                "train again with a lower learning rate, or get the model again",
            )
    return weights


def _array(tensor: dict[str, Any]) -> Array:
    """Return a stored tensor as an array; bfloat16 becomes fp32."""
    kind = str(tensor["dtype"])
    array: Array = numpy.frombuffer(tensor["data"], STORED[kind])
    if kind == "BF16":  # the upper half of the bits of fp32
        array = (array.astype(numpy.uint32) << 16).view(numpy.float32)
    return array.reshape(tensor["shape"])


def _restored(name: str, arrays: dict[str, Array]) -> NDArray[numpy.float32]:
    array = arrays[name]
    if array.dtype != numpy.int8:
        return array.astype(numpy.float32)
    scale = arrays[name + SCALE].astype(numpy.float32)
    if scale.shape != array.shape[:1]:
        raise ValueError(f"{name} is int8 without a scale per row")
    return array.astype(numpy.float32) * scale.reshape(-1, *[1] * (array.ndim - 1))


def to_bytes(
    name: str, revision: int, variables: Mapping[str, Array], aliases: Mapping[str, str]
) -> bytes:
    """Return the content of model.bin. aliases: names that stand for the variable of another name.

    name, revision: kind of model, such as TransformerSpec, and version of its variables.
    """
    parts = [struct.pack("<I", VERSION), _text(name), struct.pack("<II", revision, len(variables))]
    for key, array in sorted(variables.items()):
        sizes = struct.pack(f"<B{array.ndim}I", array.ndim, *array.shape)
        kind = struct.pack("<BI", TYPES.index(array.dtype.name), array.nbytes)
        parts += [_text(key), sizes, kind, array.tobytes()]
    parts.append(struct.pack("<I", len(aliases)))
    for alias, key in sorted(aliases.items()):
        parts += [_text(alias), _text(key)]
    return b"".join(parts)


def _text(text: str) -> bytes:
    return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"


def converted(
    weights: Weights,
    config: TransformerDecoderConfig,
    sizes: VocabularySizes,
    *,
    positions: int,
    precision: str = "fp32",
) -> dict[str, bytes]:
    """Return the files of the CTranslate2 model by name.

    positions: longest source or output in tokens. precision: fp32 or int8. Raises DamagedError if
    the weights do not fit the configuration.
    """
    left = {name: array for name, array in weights.items() if not name.startswith(ALIGNER)}
    variables, aliases, shapes = _settings(config), dict[str, str](), _shapes(config)
    for part, count in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        places = f"{part}/position_encodings/encodings"
        if part == "decoder" and config.position != "learned":
            aliases[places] = "encoder/position_encodings/encodings"
        else:
            variables[places] = _positions(left, part, positions, config)
        for theirs, ours, is_used in (
            ("layer_norm", "norm", config.norm == "pre"),
            ("layernorm_embedding", "embedding_norm", config.embedding_norm),
        ):
            if is_used:
                variables |= _norm(left, f"{part}/{theirs}", f"{part}.{ours}", config.embedding)
        for layer in range(count):
            variables |= _layer(left, part, layer, shapes)
    variables |= _vocabulary(left, aliases, config, sizes)
    # weights without a place mean a family or a setting that this conversion does not know
    if left:
        raise _misfit(next(iter(sorted(left))))
    if precision == "int8":
        _quantise(variables, aliases)
    # its tokens are our ids as texts, because our own tokenizer reads and writes the pieces
    tokens = ([*map(str, range(count))] for count in sizes[:2])
    texts = text_files(*tokens, ends_source=False, norm_epsilon=config.norm_epsilon)
    return {"model.bin": to_bytes(NAME, REVISION, variables, aliases), **texts}


def converted_whisper(
    weights: Weights,
    config: Any,
    order: Sequence[int],
    settings: Mapping[str, Any],
    precision: str = "fp32",
) -> dict[str, bytes]:
    """Return the files of the CTranslate2 model of a Whisper model by name.

    order: our id of each published token. settings: more of its config.json.
    """
    left = {name.replace("encoder.encoder.", "encoder."): each for name, each in weights.items()}
    size, shapes, variables = config.embedding, _shapes(config), _settings(config)
    slots = round(config.audio.padded * 500 / HOP)
    for number, inputs in enumerate((config.audio.bands, size)):
        for kind, shape in (("weight", (size, inputs, 3)), ("bias", (size,))):
            array = _take(left, f"encoder.convolutions.{number}.{kind}", shape)
            variables[f"encoder/conv{number + 1}/{kind}"] = array
    tables = (position_table(slots, config), _positions(left, "decoder", config.max_source, config))
    for part, table in zip(("encoder", "decoder"), tables, strict=True):
        variables[f"{part}/position_encodings/encodings"] = table
        variables |= _norm(left, f"{part}/layer_norm", f"{part}.norm", size)
        for layer in range(getattr(config, f"{part}_layers")):
            variables |= _layer(left, part, layer, shapes)
    embedding, bias = left["decoder.embedding.weight"], left["output.bias"]
    variables["decoder/embeddings/weight"] = embedding[list(order)]
    variables["decoder/projection/bias"] = bias[list(order)]
    aliases = {"decoder/projection/weight": "decoder/embeddings/weight"}
    if precision == "int8":
        _quantise(variables, aliases)
    return {
        "model.bin": to_bytes("WhisperSpec", 3, variables, aliases),
        "config.json": json.dumps({**settings, "layer_norm_epsilon": config.norm_epsilon}).encode(),
    }


def _positions(
    left: Weights, part: str, count: int, config: TransformerDecoderConfig
) -> NDArray[numpy.float32]:
    """Return the position of each of `count` tokens: learned ones, or sines and cosines."""
    if config.position != "learned":
        return position_table(count, config)
    table = _take(left, f"{part}.position.embedding", (config.max_source, config.embedding))
    # later positions share the last vector, as in `models.attention.positions.Learned`
    return table[numpy.arange(count).clip(max=len(table) - 1)]


def _settings(config: TransformerDecoderConfig) -> Variables:
    """Return the variables that are numbers and switches."""
    found: Variables = {
        "encoder/embeddings_merge": numpy.asarray(0, "int8"),
        "decoder/alignment_heads": numpy.asarray(1, "int16"),
        "decoder/alignment_layer": numpy.asarray(-1, "int16"),
    }
    for part, switches in SWITCHES.items():
        found[f"{part}/activation"] = numpy.asarray(ACTIVATIONS[config.activation], "int8")
        found[f"{part}/num_heads"] = numpy.asarray(config.heads, "int16")
        pre, scaled = config.norm == "pre", config.embedding_scale
        for name, value in {**switches, "pre_norm": pre, "scale_embeddings": scaled}.items():
            found[f"{part}/{name}"] = numpy.asarray(value, "int8")
    return found


def position_table(count: int, config: TransformerDecoderConfig) -> NDArray[numpy.float32]:
    """Return the table of sinusoidal positions (count, size); see `attention.layers`."""
    size, half = config.embedding, config.embedding // 2
    steps = half if config.position == "sinusoidal_2017" else half - 1
    rates = numpy.exp(
        numpy.arange(half, dtype="f4") * numpy.float32(-math.log(10000.0) / max(1, steps))
    )
    angles = (numpy.arange(count, dtype="f4") + config.position_offset)[:, None] * rates
    table = numpy.zeros((count, size), "f4")
    table[:, :half], table[:, half : 2 * half] = numpy.sin(angles), numpy.cos(angles)
    return table


def _shapes(config: TransformerDecoderConfig) -> dict[str, tuple[int, int]]:
    """Return the shapes of the matrices of a layer, by their names in CTranslate2."""
    size, hidden = config.embedding, config.hidden
    square = (size, size)
    return {
        "self_attention/linear_0": (3 * size, size),
        "self_attention/linear_1": square,
        "attention/linear_0": square,
        "attention/linear_1": (2 * size, size),
        "attention/linear_2": square,
        "ffn/linear_0": (hidden, size),
        "ffn/linear_1": (size, hidden),
    }


def _layer(left: Weights, part: str, layer: int, shapes: dict[str, tuple[int, int]]) -> Variables:
    found: Variables = {}
    place, prefix = f"{part}/layer_{layer}", f"{part}.layers.{layer}"
    for theirs, ours in (*LINEAR, *NORMS):
        if part == "encoder" and theirs.startswith("attention/"):
            continue
        first, _, rest = ours.partition(".")
        if part == "encoder":
            ours = ".".join(filter(None, [ENCODER.get(first, first), rest]))
        if theirs in shapes:
            shape = shapes[theirs]
            found[f"{place}/{theirs}/weight"] = _take(left, f"{prefix}.{ours}.weight", shape)
            found[f"{place}/{theirs}/bias"] = _take(left, f"{prefix}.{ours}.bias", shape[:1])
        else:
            size = shapes["self_attention/linear_1"][0]
            found |= _norm(left, f"{place}/{theirs}", f"{prefix}.{ours}", size)
    return found


def _norm(left: Weights, theirs: str, ours: str, size: int) -> Variables:
    return {
        f"{theirs}/gamma": _take(left, f"{ours}.weight", (size,)),
        f"{theirs}/beta": _take(left, f"{ours}.bias", (size,)),
    }


def _vocabulary(
    left: Weights, aliases: dict[str, str], config: TransformerDecoderConfig, sizes: VocabularySizes
) -> Variables:
    """Return embeddings and output projection; add an alias for each tied matrix."""
    source, target, output = (
        "encoder/embeddings_0/weight",
        "decoder/embeddings/weight",
        "decoder/projection/weight",
    )
    size = config.embedding
    found: Variables = {source: _take(left, "encoder.embedding.weight", (sizes.source, size))}
    # an alias, because a copy would take the memory of the largest matrix again
    if sizes.joint and config.tied:
        aliases[target] = aliases[output] = source
    else:
        found[target] = _take(left, "decoder.embedding.weight", (sizes.target, size))
        if config.tied:
            aliases[output] = target
        else:
            found[output] = _take(left, "output.weight", (sizes.target, size))
    found["decoder/projection/bias"] = _take(left, "output.bias", (sizes.target,))
    return found


def _quantise(variables: Variables, aliases: dict[str, str]) -> None:
    """Replace every matrix of weights by its int8 numbers, and add its scales."""
    for name in [n for n, each in variables.items() if n.endswith("/weight") and each.ndim == 2]:
        # each row has its own scale, so that one large weight does not coarsen the whole matrix
        weight = variables[name].astype("f4")
        largest = numpy.abs(weight).max(1)
        # a row of zeros has the scale 1 instead of an infinite one
        scale = (127 / numpy.where(largest == 0, 127, largest)).astype("f4")
        variables[name] = numpy.rint(weight * scale[:, None]).astype("int8")
        variables[f"{name}_scale"] = scale
    for alias, name in list(aliases.items()):
        if name.endswith("/weight"):
            aliases[f"{alias}_scale"] = f"{name}_scale"


def _take(left: Weights, name: str, shape: tuple[int, ...]) -> NDArray[numpy.float32]:
    array = left.pop(name, None)
    if array is None or array.shape != shape:
        raise _misfit(name)
    return array


def _misfit(name: str) -> DamagedError:
    return DamagedError(
        f"the weights of the model do not fit its config.json (first at {name})",
        "the weights and the configuration of one model",
    )


def text_files(
    source: Sequence[str],
    target: Sequence[str],
    *,
    ends_source: bool,
    norm_epsilon: float = 1e-5,
) -> dict[str, bytes]:
    """Return configuration and vocabularies by file name.

    source, target: text of each token. ends_source: True if CTranslate2 appends the end mark.
    norm_epsilon: model.norm_epsilon.
    """
    settings = {
        "unk_token": target[UNKNOWN],
        "bos_token": target[START],
        "eos_token": target[END],
        "decoder_start_token": target[START],
        "add_source_bos": False,
        "add_source_eos": ends_source,
        "layer_norm_epsilon": norm_epsilon,
        "multi_query_attention": False,
    }
    files: dict[str, Any] = {"config.json": settings, "shared_vocabulary.json": source}
    if source != target:
        del files["shared_vocabulary.json"]
        files |= {"source_vocabulary.json": source, "target_vocabulary.json": target}
    return {name: json.dumps(content).encode() for name, content in files.items()}

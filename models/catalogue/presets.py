"""Presets: names for whole configurations, with the paper's sizes or a laptop's."""

from __future__ import annotations

from typing import Any, NamedTuple

from models.base.errors import ConfigurationError, unknown_name
from models.base.settings import from_dict
from models.config.tables import ModelConfig


class Preset(NamedTuple):
    """A model configuration and the recipe it is trained with."""

    doc: str
    model: dict[str, Any]  # changes to ModelConfig's defaults
    train: dict[str, Any]  # changes to the training defaults


_TRANSFORMER = {"family": "transformer", "tied": True}
_GRU = {"cell": "gru", "encoder_layers": 1, "decoder_layers": 1, "bidirectional": True}
_LSTM = {"cell": "lstm", "encoder_layers": 1, "decoder_layers": 1, "bidirectional": True}
_MULTI_SOURCE = {**_GRU, "family": "multi-source", "inputs": ("source", "draft")}
_SEVERAL = {**_TRANSFORMER, "family": "multi-source-transformer", "inputs": ("source", "draft")}
_WARM = {"schedule": "inverse_sqrt", "label_smoothing": 0.1}
_MUON = {"optimiser": "muon", "lr": 0.005}  # found with benchmarks/time_to_quality.py
_PLATEAU = {"schedule": "plateau", "label_smoothing": 0.1, "lr": 0.001, "warmup": 200}

_NANO = {
    **_TRANSFORMER,
    "embedding": 64,
    "hidden": 128,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "heads": 4,
    "dropout": 0.1,
}

_BILSTM = {**_LSTM, "family": "classifier", "pooling": "final", "attention": {"score": "dot"}}
_LABELS = {**_PLATEAU, "warmup": 50}

_SHOW_ATTEND_TELL = {
    "family": "captioner",
    "cell": "lstm",
    "decoder_layers": 1,
    "embedding": 512,
    "hidden": 1000,
    "tied": False,
    "dropout": 0.5,
    "image": {"grid": "blocks.17.expand"},
}
_SHOW_ATTEND_TELL_SMALL = {
    **_SHOW_ATTEND_TELL,
    "embedding": 256,
    "hidden": 512,
    "tied": True,
    "image": {"grid": "head"},
}
_SHOW_ATTEND_TELL_NANO = {
    **_SHOW_ATTEND_TELL,
    "embedding": 64,
    "hidden": 64,
    "tied": True,
    "dropout": 0.1,
    "image": {"encoder": "small-cnn", "weights": "none", "size": 64},
}
_ADAPTIVE = {"family": "captioner-adaptive"}
_TOP_DOWN = {"family": "captioner-top-down", "decoder_layers": 2}
_CAPTIONER_TRANSFORMER = {
    "family": "captioner-transformer",
    "tied": True,
    "embedding": 512,
    "hidden": 2048,
    "encoder_layers": 0,
    "decoder_layers": 6,
    "heads": 8,
    "dropout": 0.3,
    "image": {"grid": "blocks.17.expand", "layer_norm": True},
}
_HARD: dict[str, Any] = {"attention": {"read": "hard"}}
_DOUBLY = {"attention": {"coverage": "doubly_stochastic"}}
# a dozen words cannot give each of 49 cells a sum of 1: the full penalty flattens the maps
_DOUBLY_SMALL = {"attention": {**_DOUBLY["attention"], "coverage_weight": 0.1}}
# hard attention: the weights of the paper's released program; with the weights in the paper, small
# models hardly learn, from images or from texts
_RELEASED = {"attention": {"reinforce": 0.1, "entropy": 0.002}}

PRESETS: dict[str, Preset] = {
    "demo": Preset(
        "transformer-nano, and a recipe of one minute for the embedded grammar",
        {**_NANO, "dropout": 0.0},
        {
            **_WARM,
            **_MUON,
            "lr": 0.02,
            "schedule": "linear",
            "warmup": 60,
            "batch_tokens": 2048,
            "steps": 600,
            "evaluate_every": 150,
            "patience": 0,
        },
    ),
    "transformer-nano": Preset(
        "2+2 layers of 64: for demonstrations and tests",
        _NANO,
        {**_WARM, "lr": 0.005, "warmup": 400},
    ),
    "transformer-tiny": Preset(
        "4+4 layers of 128, ff 256, 4 heads: tens of thousands of pairs (Wu et al. 2021)",
        {
            **_TRANSFORMER,
            "embedding": 128,
            "hidden": 256,
            "encoder_layers": 4,
            "decoder_layers": 4,
            "heads": 4,
            "dropout": 0.3,
        },
        {**_WARM, **_MUON, "warmup": 500},
    ),
    "transformer-small": Preset(
        "6+6 layers of 256, ff 1024, 4 heads: hundreds of thousands of pairs",
        {
            **_TRANSFORMER,
            "embedding": 256,
            "hidden": 1024,
            "encoder_layers": 6,
            "decoder_layers": 6,
            "heads": 4,
            "dropout": 0.2,
        },
        {**_WARM, **_MUON, "lr": 0.002, "warmup": 1000},
    ),
    "transformer-base": Preset(
        "6+6 layers of 512, ff 2048, 8 heads (Vaswani et al. 2017, base)",
        {
            **_TRANSFORMER,
            "embedding": 512,
            "hidden": 2048,
            "encoder_layers": 6,
            "decoder_layers": 6,
            "heads": 8,
            "dropout": 0.1,
        },
        {**_WARM, "lr": 0.0007, "warmup": 4000},
    ),
    "transformer-big": Preset(
        "6+6 layers of 1024, ff 4096, 16 heads (Vaswani et al. 2017, big)",
        {
            **_TRANSFORMER,
            "embedding": 1024,
            "hidden": 4096,
            "encoder_layers": 6,
            "decoder_layers": 6,
            "heads": 16,
            "dropout": 0.3,
        },
        {**_WARM, "lr": 0.0005, "warmup": 4000},
    ),
    "rnnsearch": Preset(
        "GRU of 1000, embeddings of 620, readout of 500 (Bahdanau et al. 2015)",
        {
            **_GRU,
            "family": "rnnsearch",
            "embedding": 620,
            "hidden": 1000,
            "readout": 500,
            "tied": False,
            "dropout": 0.2,
        },
        {**_PLATEAU},
    ),
    "rnnsearch-small": Preset(
        "GRU of 256, embeddings of 256, tied: tens of thousands of pairs",
        {**_GRU, "family": "rnnsearch", "embedding": 256, "hidden": 256, "dropout": 0.4},
        {**_PLATEAU, **_RELEASED, **_MUON},
    ),
    "rnnsearch-nano": Preset(
        "GRU of 64: for demonstrations and tests",
        {**_GRU, "family": "rnnsearch", "embedding": 64, "hidden": 64, "dropout": 0.1},
        {**_PLATEAU, **_RELEASED, "lr": 0.003},
    ),
    "multi-source-small": Preset(
        "GRU of 256 that attends to two texts, or to a text and an image: thousands of rows",
        {**_MULTI_SOURCE, "embedding": 256, "hidden": 256, "dropout": 0.3},
        {**_PLATEAU, **_MUON},
    ),
    "multi-source-nano": Preset(
        "GRU of 64 that attends to several inputs: for demonstrations and tests",
        {**_MULTI_SOURCE, "embedding": 64, "hidden": 64, "dropout": 0.1},
        {**_PLATEAU, "lr": 0.003},
    ),
    "multi-source-transformer-small": Preset(
        "Transformer, 3+3 layers of 256, that attends to several inputs: thousands of rows",
        {
            **_SEVERAL,
            "embedding": 256,
            "hidden": 512,
            "encoder_layers": 3,
            "decoder_layers": 3,
            "heads": 4,
            "dropout": 0.3,
        },
        {**_WARM, **_MUON, "warmup": 400},
    ),
    "multi-source-transformer-nano": Preset(
        "2 Transformer layers of 64 that attend to several inputs: for demonstrations and tests",
        {**_NANO, **_SEVERAL},
        {**_WARM, "lr": 0.005, "warmup": 400},
    ),
    "luong": Preset(
        "4 LSTM layers of 1000, one direction, input feeding (Luong et al. 2015)",
        {
            "family": "luong",
            "cell": "lstm",
            "embedding": 1000,
            "hidden": 1000,
            "encoder_layers": 4,
            "decoder_layers": 4,
            "bidirectional": False,
            "tied": False,
            "dropout": 0.2,
            "attention": {"score": "general"},
        },
        {**_PLATEAU},
    ),
    "luong-small": Preset(
        "LSTM of 256, both directions, general score, input feeding",
        {
            **_LSTM,
            "family": "luong",
            "embedding": 256,
            "hidden": 256,
            "dropout": 0.4,
            "attention": {"score": "general"},
        },
        {**_PLATEAU, **_RELEASED, **_MUON},
    ),
    "luong-nano": Preset(
        "LSTM of 64: for demonstrations and tests",
        {
            **_LSTM,
            "family": "luong",
            "embedding": 64,
            "hidden": 64,
            "dropout": 0.1,
            "attention": {"score": "general"},
        },
        {**_PLATEAU, **_RELEASED, "lr": 0.003},
    ),
    "seq2seq": Preset(
        "GRU of 1000, no attention: RNNencdec of Bahdanau et al. 2015 (Cho et al. 2014)",
        {
            **_GRU,
            "family": "seq2seq",
            "embedding": 620,
            "hidden": 1000,
            "readout": 500,
            "tied": False,
            "dropout": 0.2,
        },
        {**_PLATEAU},
    ),
    "seq2seq-small": Preset(
        "GRU of 256, no attention: the baseline for rnnsearch-small",
        {**_GRU, "family": "seq2seq", "embedding": 256, "hidden": 256, "dropout": 0.4},
        {**_PLATEAU, **_MUON},
    ),
    "seq2seq-nano": Preset(
        "GRU of 64, no attention: for demonstrations and tests",
        {**_GRU, "family": "seq2seq", "embedding": 64, "hidden": 64, "dropout": 0.1},
        {**_PLATEAU, "lr": 0.003},
    ),
    "show-attend-tell-soft": Preset(
        "captions, LSTM of 1000 over 14 x 14 cells, soft attention (Xu et al. 2015)",
        _SHOW_ATTEND_TELL,
        {**_PLATEAU, **_DOUBLY, "lr": 0.0005, "label_smoothing": 0.0},
    ),
    "show-attend-tell-hard": Preset(
        "captions, LSTM of 1000 over 14 x 14 cells, hard attention (Xu et al. 2015)",
        {**_SHOW_ATTEND_TELL, **_HARD},
        {**_PLATEAU, "lr": 0.0005, "label_smoothing": 0.0},
    ),
    "show-attend-tell-soft-small": Preset(
        "captions, LSTM of 512 over 7 x 7 cells, soft attention: thousands of images",
        _SHOW_ATTEND_TELL_SMALL,
        {**_PLATEAU, **_DOUBLY_SMALL},
    ),
    "show-attend-tell-hard-small": Preset(
        "captions, LSTM of 512 over 7 x 7 cells, hard attention: thousands of images",
        {**_SHOW_ATTEND_TELL_SMALL, **_HARD},
        {**_PLATEAU, **_RELEASED},
    ),
    "show-attend-tell-soft-nano": Preset(
        "captions, LSTM of 64 and an image network of its own: for demonstrations and tests",
        _SHOW_ATTEND_TELL_NANO,
        {**_PLATEAU, "lr": 0.003, "label_smoothing": 0.0},
    ),
    "show-attend-tell-hard-nano": Preset(
        "captions, LSTM of 64, hard attention, own image network: for demonstrations and tests",
        {**_SHOW_ATTEND_TELL_NANO, **_HARD},
        {**_PLATEAU, **_RELEASED, "lr": 0.003, "label_smoothing": 0.0},
    ),
    "adaptive-small": Preset(
        "captions, LSTM of 512 over 7 x 7 cells, visual sentinel: thousands of images",
        {**_SHOW_ATTEND_TELL_SMALL, **_ADAPTIVE},
        {**_PLATEAU},
    ),
    "adaptive-nano": Preset(
        "captions, LSTM of 64, visual sentinel, own image network: for demonstrations and tests",
        {**_SHOW_ATTEND_TELL_NANO, **_ADAPTIVE},
        {**_PLATEAU, "lr": 0.003, "label_smoothing": 0.0},
    ),
    "top-down-small": Preset(
        "captions, 2 LSTMs of 512 over 7 x 7 cells, top-down attention: thousands of images",
        {**_SHOW_ATTEND_TELL_SMALL, **_TOP_DOWN},
        {**_PLATEAU},
    ),
    "top-down-nano": Preset(
        "captions, 2 LSTMs of 64 and an image network of its own: for demonstrations and tests",
        {**_SHOW_ATTEND_TELL_NANO, **_TOP_DOWN},
        {**_PLATEAU, "lr": 0.003, "label_smoothing": 0.0},
    ),
    "captioner-transformer": Preset(
        "captions, 6 layers of 512 over 14 x 14 cells",
        _CAPTIONER_TRANSFORMER,
        {**_WARM, "lr": 0.0007, "warmup": 4000},
    ),
    "captioner-transformer-small": Preset(
        "captions, 1+3 layers of 256 over 7 x 7 cells: thousands of images",
        {
            **_CAPTIONER_TRANSFORMER,
            "embedding": 256,
            "hidden": 512,
            "encoder_layers": 1,
            "decoder_layers": 3,
            "heads": 4,
            "image": {"grid": "head", "layer_norm": True},
        },
        {**_WARM, "lr": 0.002, "warmup": 1000},
    ),
    "captioner-transformer-nano": Preset(
        "captions, 2 layers of 64 and an image network of its own: for demonstrations and tests",
        {
            **_CAPTIONER_TRANSFORMER,
            "embedding": 64,
            "hidden": 128,
            "decoder_layers": 2,
            "heads": 4,
            "dropout": 0.1,
            "image": {"encoder": "small-cnn", "weights": "none", "size": 64},
        },
        {**_WARM, "lr": 0.005, "warmup": 400},
    ),
    "bilstm-attention-small": Preset(
        "labels, Bi-LSTM of 128 with its final state as the query: thousands of texts",
        {**_BILSTM, "embedding": 128, "hidden": 128, "dropout": 0.4},
        {**_LABELS, "lr": 0.002},
    ),
    "bilstm-attention-nano": Preset(
        "labels, Bi-LSTM of 64 with its final state as the query: for demonstrations and tests",
        {**_BILSTM, "embedding": 64, "hidden": 64, "dropout": 0.1},
        {**_LABELS, "lr": 0.003, "epochs": 8},
    ),
    "self-attentive-small": Preset(
        "labels, Bi-LSTM of 128 with 4 learned queries (Lin et al. 2017)",
        {
            **_BILSTM,
            "pooling": "self_attentive",
            "attention": {"score": "dot", "heads": 4},
            "embedding": 128,
            "hidden": 128,
            "dropout": 0.4,
        },
        {**_LABELS, "lr": 0.002, "attention": {"redundancy": 0.1}},
    ),
    "classifier-transformer-small": Preset(
        "labels, 2 Transformer layers of 128 and a learned query: thousands of texts",
        {
            "family": "classifier-transformer",
            "pooling": "learned",
            "embedding": 128,
            "hidden": 256,
            "encoder_layers": 2,
            "heads": 4,
            "dropout": 0.3,
        },
        {**_WARM, "lr": 0.002, "warmup": 400},
    ),
}

USUAL = {  # by family: the preset for data of ordinary size
    "transformer": "transformer-tiny",
    "rnnsearch": "rnnsearch-small",
    "multi-source": "multi-source-small",
    "multi-source-transformer": "multi-source-transformer-small",
    "seq2seq": "seq2seq-small",
    "luong": "luong-small",
    "captioner": "show-attend-tell-soft-small",
    "captioner-adaptive": "adaptive-small",
    "captioner-top-down": "top-down-small",
    "captioner-transformer": "captioner-transformer-small",
    "classifier": "bilstm-attention-small",
    "classifier-transformer": "classifier-transformer-small",
}


def preset(name: str) -> Preset:
    """Return a preset by name; raise UnknownNameError otherwise."""
    if name not in PRESETS:
        raise unknown_name("preset", name, PRESETS)
    return PRESETS[name]


def usual_preset(family: str) -> str:
    """Return the preset whose training recipe suits a model of a family if no preset is named."""
    if family not in USUAL:
        raise ConfigurationError(
            f"family '{family}', for which no preset is usual",
            f"one of {', '.join(USUAL)}",
            'name the preset whose training settings apply in a TOML file: preset = "NAME"',
        )
    return USUAL[family]


def model_config(name: str) -> ModelConfig:
    """Return the model configuration of a preset."""
    return from_dict(ModelConfig, preset(name).model, where="model")

"""Presets: families with the sizes of a paper or of a laptop."""

from __future__ import annotations

from typing import Any, NamedTuple

from models.core.config import ModelConfig
from models.core.errors import unknown_name
from models.core.registry import TABLES
from models.core.settings import from_dict


class Preset(NamedTuple):
    """A model configuration and the recipe it is trained with."""

    doc: str
    model: dict[str, object]  # changes to ModelConfig's defaults
    train: dict[str, Any]  # changes to the training defaults
    usual: bool = False  # True: for data of ordinary size; else the first preset of the family is


def _sizes(embedding: int, hidden: int, dropout: float) -> dict[str, object]:
    return {"embedding": embedding, "hidden": hidden, "dropout": dropout}


def _layers(encoder: int, decoder: int, heads: int) -> dict[str, object]:
    return {"encoder_layers": encoder, "decoder_layers": decoder, "heads": heads}


_TRANSFORMER = {"family": "transformer", "tied": True}
_GRU = {"cell": "gru", "encoder_layers": 1, "decoder_layers": 1, "bidirectional": True}
_BI_LSTM = {"cell": "lstm", "encoder_layers": 1, "bidirectional": True}
_LSTM = {**_BI_LSTM, "decoder_layers": 1}
_RNNSEARCH = {**_GRU, "family": "rnnsearch"}
_SEQ2SEQ = {**_GRU, "family": "seq2seq"}
_LUONG = {**_LSTM, "family": "luong", "attention": {"score": "general"}}
_RNNENCDEC = {**_sizes(620, 1000, 0.2), "readout": 500, "tied": False}  # sizes of Bahdanau et al.
_MULTI_SOURCE = {**_GRU, "family": "multi-source", "inputs": ("source", "draft")}
_SEVERAL = {**_TRANSFORMER, "family": "multi-source-transformer", "inputs": ("source", "draft")}
_WARM = {"schedule": "inverse_sqrt", "label_smoothing": 0.1}
_MUON = {"optimiser": "muon", "lr": 0.005}
_PLATEAU = {"schedule": "plateau", "label_smoothing": 0.1, "lr": 0.001, "warmup": 200}
_UNSMOOTHED = {"label_smoothing": 0.0}

_NANO = {**_TRANSFORMER, **_sizes(64, 128, 0.1), **_layers(2, 2, heads=4)}

_BILSTM = {**_BI_LSTM, "family": "classifier", "pooling": "final", "attention": {"score": "dot"}}
_LABELS = {**_PLATEAU, "warmup": 50}

_OWN_NETWORK = {"image": {"encoder": "small-cnn", "weights": "none", "size": 64}}
_CAPTIONER = {"family": "captioner", "cell": "lstm", "decoder_layers": 1, "tied": True}
_SHOW_ATTEND_TELL = {
    **_CAPTIONER,
    **_sizes(512, 1000, 0.5),
    "tied": False,
    "image": {"grid": "blocks.17.expand"},
}
_SHOW_ATTEND_TELL_SMALL = {**_CAPTIONER, **_sizes(256, 512, 0.5), "image": {"grid": "head"}}
_SHOW_ATTEND_TELL_NANO = {**_CAPTIONER, **_sizes(64, 64, 0.1), **_OWN_NETWORK}
_NANO_CAPTIONS = {**_PLATEAU, **_UNSMOOTHED, "lr": 0.003}
_ADAPTIVE = {"family": "captioner-adaptive"}
_TOP_DOWN = {"family": "captioner-top-down", "decoder_layers": 2}
_CAPTIONER_TRANSFORMER = {"family": "captioner-transformer", "tied": True}
_HARD: dict[str, object] = {"attention": {"read": "hard"}}
_DOUBLY = {"attention": {"coverage": "doubly_stochastic"}}
# a dozen words cannot give each of 49 cells a sum of 1: the full penalty flattens the maps
_DOUBLY_SMALL = {"attention": {**_DOUBLY["attention"], "coverage_weight": 0.1}}
# hard attention: the weights of the paper's released program; with the weights in the paper, small
# models hardly learn, from images or from texts
_RELEASED = {"attention": {"reinforce": 0.1, "entropy": 0.002}}

_LISTEN: dict[str, object] = {
    **_LSTM,
    "family": "listen-attend-spell",
    "tied": False,
    "attention": {"score": "location_aware"},
}
_SPEECH_TRANSFORMER = {"family": "speech-transformer", "tied": True}
_LITTLE_SOUND = {"rate": 8000, "bands": 40}

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
            "steps": 500,
            "evaluate_every": 125,
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
        {**_TRANSFORMER, **_sizes(128, 256, 0.3), **_layers(4, 4, heads=4)},
        {**_WARM, **_MUON, "warmup": 500},
        usual=True,
    ),
    "transformer-small": Preset(
        "6+6 layers of 256, ff 1024, 4 heads: hundreds of thousands of pairs",
        {**_TRANSFORMER, **_sizes(256, 1024, 0.2), **_layers(6, 6, heads=4)},
        {**_WARM, **_MUON, "lr": 0.002, "warmup": 1000},
    ),
    "transformer-base": Preset(
        "6+6 layers of 512, ff 2048, 8 heads (Vaswani et al. 2017, base)",
        {**_TRANSFORMER, **_sizes(512, 2048, 0.1), **_layers(6, 6, heads=8)},
        {**_WARM, "lr": 0.0007, "warmup": 4000},
    ),
    "transformer-big": Preset(
        "6+6 layers of 1024, ff 4096, 16 heads (Vaswani et al. 2017, big)",
        {**_TRANSFORMER, **_sizes(1024, 4096, 0.3), **_layers(6, 6, heads=16)},
        {**_WARM, "lr": 0.0005, "warmup": 4000},
    ),
    "rnnsearch": Preset(
        "GRU of 1000, embeddings of 620, readout of 500 (Bahdanau et al. 2015)",
        {**_RNNSEARCH, **_RNNENCDEC},
        _PLATEAU,
    ),
    "rnnsearch-small": Preset(
        "GRU of 256, embeddings of 256, tied: tens of thousands of pairs",
        {**_RNNSEARCH, **_sizes(256, 256, 0.4)},
        {**_PLATEAU, **_RELEASED, **_MUON},
        usual=True,
    ),
    "rnnsearch-nano": Preset(
        "GRU of 64: for demonstrations and tests",
        {**_RNNSEARCH, **_sizes(64, 64, 0.1)},
        {**_PLATEAU, **_RELEASED, "lr": 0.003},
    ),
    "multi-source-small": Preset(
        "GRU of 256 that attends to two texts, or to a text and an image: thousands of rows",
        {**_MULTI_SOURCE, **_sizes(256, 256, 0.3)},
        {**_PLATEAU, **_MUON},
    ),
    "multi-source-nano": Preset(
        "GRU of 64 that attends to several inputs: for demonstrations and tests",
        {**_MULTI_SOURCE, **_sizes(64, 64, 0.1)},
        {**_PLATEAU, "lr": 0.003},
    ),
    "multi-source-transformer-small": Preset(
        "Transformer, 3+3 layers of 256, that attends to several inputs: thousands of rows",
        {**_SEVERAL, **_sizes(256, 512, 0.3), **_layers(3, 3, heads=4)},
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
            **_LUONG,
            **_sizes(1000, 1000, 0.2),
            "encoder_layers": 4,
            "decoder_layers": 4,
            "bidirectional": False,
            "tied": False,
        },
        _PLATEAU,
    ),
    "luong-small": Preset(
        "LSTM of 256, both directions, general score, input feeding",
        {**_LUONG, **_sizes(256, 256, 0.4)},
        {**_PLATEAU, **_RELEASED, **_MUON},
        usual=True,
    ),
    "luong-nano": Preset(
        "LSTM of 64: for demonstrations and tests",
        {**_LUONG, **_sizes(64, 64, 0.1)},
        {**_PLATEAU, **_RELEASED, "lr": 0.003},
    ),
    "seq2seq": Preset(
        "GRU of 1000, no attention: RNNencdec of Bahdanau et al. 2015 (Cho et al. 2014)",
        {**_SEQ2SEQ, **_RNNENCDEC},
        _PLATEAU,
    ),
    "seq2seq-small": Preset(
        "GRU of 256, no attention: the baseline for rnnsearch-small",
        {**_SEQ2SEQ, **_sizes(256, 256, 0.4)},
        {**_PLATEAU, **_MUON},
        usual=True,
    ),
    "seq2seq-nano": Preset(
        "GRU of 64, no attention: for demonstrations and tests",
        {**_SEQ2SEQ, **_sizes(64, 64, 0.1)},
        {**_PLATEAU, "lr": 0.003},
    ),
    "show-attend-tell-soft": Preset(
        "captions, LSTM of 1000 over 14 x 14 cells, soft attention (Xu et al. 2015)",
        _SHOW_ATTEND_TELL,
        {**_PLATEAU, **_DOUBLY, **_UNSMOOTHED, "lr": 0.0005},
    ),
    "show-attend-tell-hard": Preset(
        "captions, LSTM of 1000 over 14 x 14 cells, hard attention (Xu et al. 2015)",
        {**_SHOW_ATTEND_TELL, **_HARD},
        {**_PLATEAU, **_UNSMOOTHED, "lr": 0.0005},
    ),
    "show-attend-tell-soft-small": Preset(
        "captions, LSTM of 512 over 7 x 7 cells, soft attention: thousands of images",
        _SHOW_ATTEND_TELL_SMALL,
        {**_PLATEAU, **_DOUBLY_SMALL},
        usual=True,
    ),
    "show-attend-tell-hard-small": Preset(
        "captions, LSTM of 512 over 7 x 7 cells, hard attention: thousands of images",
        {**_SHOW_ATTEND_TELL_SMALL, **_HARD},
        {**_PLATEAU, **_RELEASED},
    ),
    "show-attend-tell-soft-nano": Preset(
        "captions, LSTM of 64 and an image network of its own: for demonstrations and tests",
        _SHOW_ATTEND_TELL_NANO,
        _NANO_CAPTIONS,
    ),
    "show-attend-tell-hard-nano": Preset(
        "captions, LSTM of 64, hard attention, own image network: for demonstrations and tests",
        {**_SHOW_ATTEND_TELL_NANO, **_HARD},
        {**_NANO_CAPTIONS, **_RELEASED},
    ),
    "adaptive-small": Preset(
        "captions, LSTM of 512 over 7 x 7 cells, visual sentinel: thousands of images",
        {**_SHOW_ATTEND_TELL_SMALL, **_ADAPTIVE},
        _PLATEAU,
    ),
    "adaptive-nano": Preset(
        "captions, LSTM of 64, visual sentinel, own image network: for demonstrations and tests",
        {**_SHOW_ATTEND_TELL_NANO, **_ADAPTIVE},
        _NANO_CAPTIONS,
    ),
    "top-down-small": Preset(
        "captions, 2 LSTMs of 512 over 7 x 7 cells, top-down attention: thousands of images",
        {**_SHOW_ATTEND_TELL_SMALL, **_TOP_DOWN},
        _PLATEAU,
    ),
    "top-down-nano": Preset(
        "captions, 2 LSTMs of 64 and an image network of its own: for demonstrations and tests",
        {**_SHOW_ATTEND_TELL_NANO, **_TOP_DOWN},
        _NANO_CAPTIONS,
    ),
    "captioner-transformer": Preset(
        "captions, 6 layers of 512 over 14 x 14 cells",
        {
            **_CAPTIONER_TRANSFORMER,
            **_sizes(512, 2048, 0.3),
            **_layers(0, 6, heads=8),
            "image": {"grid": "blocks.17.expand", "layer_norm": True},
        },
        {**_WARM, "lr": 0.0007, "warmup": 4000},
    ),
    "captioner-transformer-small": Preset(
        "captions, 1+3 layers of 256 over 7 x 7 cells: thousands of images",
        {
            **_CAPTIONER_TRANSFORMER,
            **_sizes(256, 512, 0.3),
            **_layers(1, 3, heads=4),
            "image": {"grid": "head", "layer_norm": True},
        },
        {**_WARM, "lr": 0.002, "warmup": 1000},
        usual=True,
    ),
    "captioner-transformer-nano": Preset(
        "captions, 2 layers of 64 and an image network of its own: for demonstrations and tests",
        {
            **_CAPTIONER_TRANSFORMER,
            **_sizes(64, 128, 0.1),
            **_layers(0, 2, heads=4),
            **_OWN_NETWORK,
        },
        {**_WARM, "lr": 0.005, "warmup": 400},
    ),
    "listen-attend-spell-small": Preset(
        "speech, pyramid of 3 Bi-LSTMs of 256, location-aware attention: tens of hours",
        {
            **_LISTEN,
            **_sizes(128, 256, 0.3),
            "encoder_layers": 3,
            "audio": {"stack": 2, "halvings": 2},
        },
        {**_PLATEAU, "lr": 0.001, "warmup": 500},
    ),
    "listen-attend-spell-nano": Preset(
        "speech, pyramid of 2 Bi-LSTMs of 64: spoken digits, demonstrations and tests",
        {**_LISTEN, **_sizes(32, 64, 0.1), "encoder_layers": 2, "audio": _LITTLE_SOUND},
        {**_PLATEAU, "lr": 0.003, "warmup": 50, "batch_tokens": 1024},
    ),
    "speech-transformer-small": Preset(
        "speech, 2 convolutions and 6+3 layers of 256 (Dong et al. 2018): tens of hours",
        {**_SPEECH_TRANSFORMER, **_sizes(256, 1024, 0.2), **_layers(6, 3, heads=4)},
        {**_WARM, "lr": 0.001, "warmup": 2000},
    ),
    "speech-transformer-nano": Preset(
        "speech, 2 convolutions and 2+1 layers of 64: spoken digits, demonstrations and tests",
        {
            **_SPEECH_TRANSFORMER,
            **_sizes(64, 128, 0.1),
            **_layers(2, 1, heads=4),
            "audio": {**_LITTLE_SOUND, "channels": 16},
        },
        {**_WARM, "lr": 0.003, "warmup": 200, "batch_tokens": 1024},
    ),
    "bilstm-attention-small": Preset(
        "labels, Bi-LSTM of 128 with its final state as the query: thousands of texts",
        {**_BILSTM, **_sizes(128, 128, 0.4)},
        {**_LABELS, "lr": 0.002},
    ),
    "bilstm-attention-nano": Preset(
        "labels, Bi-LSTM of 64 with its final state as the query: for demonstrations and tests",
        {**_BILSTM, **_sizes(64, 64, 0.1)},
        {**_LABELS, "lr": 0.003, "epochs": 8},
    ),
    "self-attentive-small": Preset(
        "labels, Bi-LSTM of 128 with 4 learned queries (Lin et al. 2017)",
        {
            **_BILSTM,
            **_sizes(128, 128, 0.4),
            "pooling": "self_attentive",
            "attention": {"score": "dot", "heads": 4},
        },
        {**_LABELS, "lr": 0.002, "attention": {"redundancy": 0.1}},
    ),
    "classifier-transformer-small": Preset(
        "labels, 2 Transformer layers of 128 and a learned query: thousands of texts",
        {
            **_sizes(128, 256, 0.3),
            "family": "classifier-transformer",
            "pooling": "learned",
            "encoder_layers": 2,
            "heads": 4,
        },
        {**_WARM, "lr": 0.002, "warmup": 400},
    ),
}


PRESETS = {name: one for name, one in PRESETS.items() if one.model["family"] in TABLES["family"]}


def preset(name: str) -> Preset:
    """Return a preset by name; raise UnknownNameError otherwise."""
    if name not in PRESETS:
        raise unknown_name("preset", name, PRESETS)
    return PRESETS[name]


def model_config(name: str) -> Any:
    """Return the model configuration of a preset: the Config of its family."""
    return from_dict(ModelConfig, preset(name).model, where="model")

"""ONNX graphs of every family compute in onnxruntime what the model computes in torch."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn

pytest.importorskip("onnxscript", reason="the extra attn[onnx] is not installed")
pytest.importorskip("onnxruntime", reason="the extra attn[onnx] is not installed")

from models.base.errors import ConfigurationError
from models.base.registry import find, names
from models.base.types import VocabularySizes
from models.bundle import build
from models.config import AttentionConfig, ModelConfig
from models.encoders.rnn import CELLS, PaddedRnn
from models.families.encoder_decoder import EncoderDecoder
from models.onnx.export import graphs_of, inputs_of
from models.onnx.graphs import EncoderGraph, Graph, Sizes, StepGraph, WholeGraph
from models.onnx.inputs import GraphInputs
from models.onnx.recurrence import OnnxRecurrence
from models.onnx.trace import traced
from models.sources import source_of
from tests.models.onnx.running import check_label, check_steps, run
from tests.models.small import FIRST_WORD, IMAGES, VOCABULARY, add_noise, small_config, sources

PRESETS = {
    "seq2seq": "seq2seq-small",
    "rnnsearch": "rnnsearch-nano",
    "luong": "luong-small",
    "transformer": "transformer-nano",
    "captioner": "show-attend-tell-hard-nano",
    "captioner-adaptive": "adaptive-nano",
    "captioner-top-down": "top-down-nano",
    "captioner-transformer": "captioner-transformer-nano",
    "classifier": "self-attentive-small",
    "classifier-transformer": "classifier-transformer-small",
}
EXPORTED = [name for name in names("family") if source_of(name).graph_inputs]
SHAPES = ((1, 1), (4, 11))  # sentences and tokens, none of them those of the trace
SCORES = ("additive", "location", "location_aware", "ffn", "cosine", "qk_norm", "general")
PARTS: list[dict[str, Any]] = [
    *({"score": name} for name in SCORES),
    {"score": "additive", "coverage": True},
    {"score": "general", "window": "local_m", "heads": 2},
    {"window": "local_p"},
    {"heads": 2, "kv_heads": 1, "null_slot": True},
    {"normalise": "sparsemax"},
    {"normalise": "entmax15"},
    {"normalise": "monotonic"},
    {"normalise": "mocha", "score": "general", "heads": 2},
]


def check_graphs(config: ModelConfig, *, trace: bool = True) -> None:
    """Compare all graphs of a model with random weights, for several sizes.

    trace: compute them by onnxruntime; else by torch, as the functions that are to be traced.
    """
    model = model_of(config)
    inputs = inputs_of(model)
    graphs: dict[str, Any] = untraced(model, inputs)
    if trace:
        graphs = {name: graph.content for name, graph in graphs_of(model, inputs).items()}
    for sentences, length in SHAPES:
        given: tuple[Tensor, ...] = sources(*[max(1, length - n) for n in range(sentences)])
        if inputs.names == ("pixels",):
            given = (torch.rand(sentences, 3, IMAGES.size, IMAGES.size),)
        if inputs.one_step:
            check_label(model, inputs, graphs["model"], given)
        else:
            tokens = torch.randint(FIRST_WORD, VOCABULARY, (sentences, 4))
            check_steps(model, inputs, graphs, given, tokens)


def untraced(model: EncoderDecoder, inputs: GraphInputs) -> dict[str, Graph]:
    """Return the parts of a model that become graphs."""
    if inputs.one_step:
        return {"model": WholeGraph(model, inputs)}
    step = StepGraph(model, inputs)
    return {"encoder": EncoderGraph(model, inputs, step.inputs[1:]), "decoder_step": step}


def model_of(config: ModelConfig) -> EncoderDecoder:
    model = build(config, VocabularySizes(VOCABULARY, VOCABULARY, config.copy != "none"))
    add_noise(model, 0.2)
    return model.eval()


TRACE = [pytest.param(True, marks=pytest.mark.slow), False]  # test_export.py traces three kinds
traced_or_not = pytest.mark.parametrize("trace", TRACE)


@traced_or_not
@pytest.mark.parametrize("family", EXPORTED)
def test_graphs_of_a_family_equal_torch_for_other_sizes(family: str, trace: bool) -> None:
    check_graphs(small_config(PRESETS[family]), trace=trace)


@traced_or_not
@pytest.mark.parametrize("preset", ["luong-small", "transformer-nano"])
@pytest.mark.parametrize("kind", names("copy"))
def test_graphs_copy_source_tokens(preset: str, trace: bool, kind: str) -> None:
    if find("copy", kind).feeds_back and preset == "transformer-nano":
        pytest.skip("refused: a Transformer computes all steps at once")
    check_graphs(dataclasses.replace(small_config(preset), copy=kind), trace=trace)


@traced_or_not
@pytest.mark.parametrize("mixing", ["linear", "average"])
def test_graphs_keep_sums_of_the_prefix(mixing: str, trace: bool) -> None:
    check_graphs(dataclasses.replace(small_config("transformer-nano"), mixing=mixing), trace=trace)


@traced_or_not
@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_graphs_of_every_attention_equal_torch(parts: dict[str, Any], trace: bool) -> None:
    attention = AttentionConfig(**{"score": "dot", "positions": 200, **parts})
    config = dataclasses.replace(small_config("luong-small"), max_source=200)
    check_graphs(dataclasses.replace(config, attention=attention), trace=trace)


class RecurrenceGraph(Graph):
    """Recurrent layers alone."""

    inputs = ("x", "mask")

    def __init__(self, layers: nn.Module, size: int) -> None:
        nn.Module.__init__(self)
        self.layers, self.size = layers, size

    def example(self, sizes: Sizes) -> tuple[Tensor, ...]:
        mask = torch.ones(sizes.batch, sizes.length, dtype=torch.bool)
        return torch.zeros(sizes.batch, sizes.length, self.size), mask

    def outputs(self, given: tuple[Tensor, ...]) -> dict[str, Tensor]:
        values, final = self.layers(*given)
        return {"values": values, "final": final}


@pytest.mark.parametrize(("cell", "bidirectional"), [*zip(CELLS, (True, False), strict=True)])
def test_recurrent_layers_equal_torch_on_sentences_of_several_lengths(
    cell: str, bidirectional: bool
) -> None:
    layers: PaddedRnn = CELLS[cell](3, 4, 2, batch_first=True, bidirectional=bidirectional)
    content = traced(RecurrenceGraph(OnnxRecurrence(layers), 3)).content
    mask = torch.arange(6) < torch.tensor([[6], [1], [4]])
    x = torch.randn(3, 6, 3)
    found = run(content, {"x": x.numpy(), "mask": mask.numpy()})
    with torch.no_grad():
        values, final = layers(x, mask)
    torch.testing.assert_close(torch.from_numpy(found["values"]), values)
    torch.testing.assert_close(torch.from_numpy(found["final"]), final)


@cache
def unsupported() -> dict[str, ModelConfig]:
    hard = small_config("show-attend-tell-hard-nano")
    sampling = dataclasses.replace(hard.attention, read_decode="sample")
    return {
        "encoder_attention = intra": dataclasses.replace(
            small_config("rnnsearch-nano"), encoder_attention="intra"
        ),
        "that samples": dataclasses.replace(hard, attention=sampling),
    }


@pytest.mark.parametrize("message", unsupported())
def test_a_model_that_has_no_graph_is_refused(message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        inputs_of(model_of(unsupported()[message]))


class LoopGraph(RecurrenceGraph):
    """A loop over the tokens of the example."""

    def __init__(self) -> None:
        super().__init__(nn.Identity(), 2)

    def outputs(self, given: tuple[Tensor, ...]) -> dict[str, Tensor]:
        return {"last": [slot * 2 for slot in given[0].unbind(1)][-1]}


def test_a_graph_of_one_length_only_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigurationError, match="LoopGraph cannot be traced") as caught:
        traced(LoopGraph())
    assert "\n" not in str(caught.value)

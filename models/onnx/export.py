"""A model as a folder of ONNX graphs, with everything that another program needs to run it.

encoder.onnx         inputs -> memory.*, and the first state.*
decoder_step.onnx    tokens, memory.*, state.* -> logits, attention, next.*
model.onnx           in place of both for a classifier: inputs -> logits, attention
config.json          inputs and outputs of each graph, special ids, lengths, how inputs are made
*.model, labels.txt  SentencePiece models, labels of a classifier
example.py           a program that runs the model, with its search in greedy.py
card.md              the model card

A row of a step is an output of one input. A beam needs the rows of memory and state repeated.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from models.base.errors import ConfigurationError
from models.base.files import write_new_folder
from models.bundle import Bundle, read
from models.decoders.readers import TokenReader
from models.encoders.intra import IntraEncoder
from models.families.encoder_decoder import EncoderDecoder
from models.inference.ctranslate2.engines import ComputePrecision
from models.onnx.graphs import MEMORY, NEXT, STATE, EncoderGraph, StepGraph, WholeGraph
from models.onnx.inputs import GraphInputs
from models.onnx.recurrence import with_onnx_recurrence
from models.onnx.trace import Traced, check_packages, traced
from models.sources import source_of
from models.storage.settings import CARD, to_text
from models.storage.settings import NAME as CONFIG
from models.text.tokenizer import END, NEVER_OUTPUT, PAD, START, UNKNOWN

FORMAT = 1


def export(bundle: Path, folder: Path, precision: ComputePrecision = "fp32") -> None:
    """Write the model of a bundle as ONNX graphs into a new folder.

    Raises ModelError if the folder exists, the bundle is damaged, a package is missing, or the
    model cannot be written as graphs.
    """
    check_packages()
    if precision != "fp32":
        raise ConfigurationError(f"precision {precision} of ONNX graphs", "fp32")
    write_new_folder(folder, lambda: _exported(bundle))


def _exported(folder: Path) -> dict[str, bytes]:
    """Return the files of the ONNX folder of a bundle by name; the last program is example.py."""
    bundle, card = read(folder), folder / CARD
    inputs = inputs_of(bundle.model)
    graphs = graphs_of(bundle.model, inputs)
    *others, last = inputs.examples
    programs = {**{name: name for name in others}, last: "example"}
    place = resources.files("models.onnx.examples")
    return {
        **{f"{name}.onnx": graph.content for name, graph in graphs.items()},
        **bundle.tokenizer.files(),
        **{f"{new}.py": (place / f"{name}.py").read_bytes() for name, new in programs.items()},
        CONFIG: to_text(described(bundle, inputs, graphs)).encode(),
        **({CARD: card.read_bytes()} if card.is_file() else {}),
    }


def inputs_of(model: EncoderDecoder) -> GraphInputs:
    """Return the inputs of a model's graphs; ConfigurationError if it cannot be exported."""
    source = source_of(model.config.family)
    if not source.graph_inputs:
        raise ConfigurationError(
            f"a model of family {model.config.family}, which {source.ability}, for ONNX",
            "a kind of input that names its graph inputs",
        )
    if model.read_mode == "hard sample":
        raise ConfigurationError(
            "hard attention that samples (model.attention.read_decode = sample), for ONNX",
            "read_decode argmax or expected, or soft attention",
        )
    if isinstance(model.encoder, IntraEncoder):
        raise ConfigurationError(
            "model.encoder_attention = intra, a loop over the source, for ONNX",
            "model.encoder_attention = none",
        )
    if isinstance(model.reader, TokenReader):
        raise ConfigurationError(
            "a captioner that copies from labels (model.image.labels), for ONNX",
            "model.image.labels = 0",
        )
    return resolve_name(source.graph_inputs)()


def graphs_of(model: EncoderDecoder, inputs: GraphInputs) -> dict[str, Traced]:
    """Return the graphs of a model by name."""
    model = with_onnx_recurrence(model)
    if inputs.one_step:
        return {"model": traced(WholeGraph(model, inputs))}
    step = traced(StepGraph(model, inputs))
    wanted = [port.name for port in step.inputs if port.name != "tokens"]
    return {"encoder": traced(EncoderGraph(model, inputs, wanted)), "decoder_step": step}


def described(bundle: Bundle, inputs: GraphInputs, graphs: dict[str, Traced]) -> dict[str, Any]:
    """Return the content of the config.json."""
    family = bundle.model.config.family
    source, *target = (name for name in bundle.tokenizer.files() if name.endswith(".model"))
    return {
        "format": FORMAT,
        "task": source_of(family).task,
        "family": family,
        "graphs": {
            name: {
                "inputs": [port._asdict() for port in graph.inputs],
                "outputs": [port._asdict() for port in graph.outputs],
            }
            for name, graph in graphs.items()
        },
        **(_of_steps(graphs["decoder_step"]) if "decoder_step" in graphs else {}),
        "tokens": {"pad": PAD, "unknown": UNKNOWN, "start": START, "end": END},
        "never_output": list(NEVER_OUTPUT),
        "tokenizer": {"source": source, "target": target[0] if target else source},
        **inputs.describe(bundle),
    }


def _of_steps(step: Traced) -> dict[str, Any]:
    """Return the names of the memory, and of each state with that of the state after it."""
    names = [port.name for port in step.inputs]
    states = [name for name in names if name.startswith(f"{STATE}.")]
    return {
        "memory": [name for name in names if name.startswith(f"{MEMORY}.")],
        "state": {name: name.replace(STATE, NEXT, 1) for name in states},
    }

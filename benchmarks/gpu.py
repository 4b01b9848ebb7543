"""Equality with the processor, training throughput, MFU and decoding speed on a CUDA device.

The data are generated.

    python benchmarks/gpu.py
    python benchmarks/gpu.py --device cpu --tiny

Training: `fit`, the loop of `attn train`, batching and copies included. Tokens are real target
tokens. MFU is model FLOPs per second over the peak, the rate of a square matrix product of the same
precision in the same run. Model FLOPs of an update, without padding, recomputation, embedding
lookups, biases and element-wise work:

    3 * sum over weight matrices W of 2 |W| n(W)  +  3 * attention

n(W) is the number of positions that W is applied to: source tokens (encoder, keys and values of
cross-attention), sources (bridge), or target tokens. A backward pass costs twice a forward pass.
Attention of a Transformer layer, for lengths T and S: 4 T S D in each (query K^T and weights V);
of a recurrent decoder: 2 T S (V + A), the context and the energy. Source: Kaplan et al. 2020,
section 2.1, and Chowdhery et al. 2022, appendix B, with W split by the sequence it is applied to.

Captioner: features of the frozen image network are given, as `attn train` stores them; the network
is measured in neither table. Decoding: fp32, random weights without an end mark, so every output
has the length limit; by CTranslate2, that of the longest source. The device is synchronised before
each reading of the clock.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import sys
import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from attncli.train._fit import batches_of, fit
from attncli.train._precision import DTYPES, computes_bf16
from attncli.train._state import State
from attncli.train.events import Stepped
from attncli.training.config import TrainConfig
from attncli.training.examples import Examples
from models.core.config import ImageModelConfig, ModelConfig
from models.core.registry import source_name
from models.core.types import Batch, VocabularySizes
from models.core.use_config import SearchConfig
from models.engines.ctranslate2_convert import converted
from models.networks.bundle import build
from models.networks.encoder_decoder import EncoderDecoder
from models.search.batching import pad, pad_pairs
from models.search.beam import search
from models.storage.presets import model_config, preset
from models.storage.weights import weights_of
from models.text.tokenizer import END

PRESETS = ("transformer-tiny", "transformer-base", "rnnsearch-small", "show-attend-tell-soft-small")
TINY_PRESETS = ("transformer-nano", "rnnsearch-nano", "show-attend-tell-soft-nano")


EQUAL = 1e-3  # largest relative difference of a loss in fp32


class Sizes(NamedTuple):
    """Sizes of a measurement."""

    vocabulary: int = 8000
    examples: int = 20_000
    longest: int = 50  # tokens
    batch_tokens: int = 8192
    untimed: int = 10  # updates
    timed: int = 50  # updates
    batches: tuple[int, ...] = (64, 256)  # sentences decoded at once
    matrix: int = 8192  # side of the matrices of the peak


TINY = Sizes(60, 40, 6, 60, 1, 2, (2, 4), 64)


class Generated(Examples):
    """Random examples with lengths from 5 to the longest; those of images have random features."""

    def __init__(self, model: EncoderDecoder, sizes: Sizes) -> None:
        random = np.random.default_rng(1)
        self.images = source_name(model.config.family) == "image"
        sources, targets = random.integers(5, sizes.longest + 1, (2, sizes.examples))
        self.targets = [self._ids(random, n, sizes.vocabulary) for n in targets]
        if self.images:
            self.shape = (int(np.prod(model.encoder.grid)), int(model.encoder.value_size))  # type: ignore[arg-type]
            sources[:] = self.shape[0]
        else:
            self.sources = [self._ids(random, n, sizes.vocabulary) for n in sources]
        self.source_lengths, self.target_lengths = sources, targets

    @staticmethod
    def _ids(random: np.random.Generator, length: int, vocabulary: int) -> list[int]:
        return [*random.integers(END + 1, vocabulary, length - 1).tolist(), END]

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths of sources and targets; 0 for images, which all have one size."""
        return self.source_lengths * (not self.images), self.target_lengths

    def at(self, epoch: int) -> Generated:
        """Return these examples: they are the same in every epoch."""
        return self

    def source(self, numbers: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return padded sources, or features, and their mask."""
        if not self.images:
            return pad([self.sources[n] for n in numbers], torch.device("cpu"))
        features = torch.rand(len(numbers), *self.shape)
        return features, torch.ones(features.shape[:2], dtype=torch.bool)

    def batch(self, numbers: np.ndarray) -> Batch:
        """Return some examples, padded."""
        targets = [self.targets[n] for n in numbers]
        batch = pad_pairs(targets, targets, torch.device("cpu"))
        source, mask = self.source(numbers)
        return batch._replace(source=source, source_mask=mask)


def update_flops(model: EncoderDecoder, sources: np.ndarray, targets: np.ndarray) -> float:
    """Return the model FLOPs of training on pairs of these lengths; see the top of the file."""
    config, forward = model.config, 0.0
    for name, weight in model.named_parameters():
        if weight.dim() < 2 or "embedding" in name or ".body." in name:
            continue
        on_source = name.startswith("encoder.") or "cross_attention.input" in name
        positions = (sources if on_source or "score.key" in name else targets).sum()
        forward += 2 * weight.numel() * (len(sources) if ".bridge." in name else positions)
    output = model.output.weight
    if not any(output is p and "embedding" not in n for n, p in model.named_parameters()):
        forward += 2 * output.numel() * targets.sum()
    squares = (sources**2).sum(), (targets**2).sum(), (targets * sources).sum()
    if config.family == "transformer":
        of_encoder, of_self, of_cross = (4 * config.embedding * n for n in squares)
        forward += config.encoder_layers * of_encoder
        forward += config.decoder_layers * (of_self + of_cross)
    else:
        key = dict(model.named_parameters())["decoder.attention.score.key.weight"]  # (A, V)
        forward += 2 * sum(key.shape) * squares[2]
    return 3 * float(forward)


def clock(device: torch.device) -> float:
    """Return the time in seconds, once all work of the device is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def peak(device: torch.device, dtype: torch.dtype, side: int, repeats: int = 20) -> float:
    """Return the FLOPs per second of square matrix products."""
    a, b = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(2))
    out = a @ b
    started = clock(device)
    for _ in range(repeats):
        torch.mm(a, b, out=out)
    return 2 * side**3 * repeats / (clock(device) - started)


def new_model(config: ModelConfig, sizes: Sizes) -> EncoderDecoder:
    """Return a model with random weights."""
    torch.manual_seed(1)
    images = source_name(config.family) == "image"
    return build(
        config, VocabularySizes(0 if images else sizes.vocabulary, sizes.vocabulary, not images)
    )


def settings_of(name: str, batch_tokens: int) -> TrainConfig:
    """Return the settings of a preset's training at another batch size."""
    changes = {
        k: v for k, v in preset(name).train.items() if k not in ("attention", "batch_tokens")
    }
    return replace(TrainConfig(), **changes, batch_tokens=batch_tokens)


def without_dropout(name: str) -> ModelConfig:
    """Return a preset's model without dropout, whose random numbers differ on a GPU."""
    config: ModelConfig = replace(model_config(name), dropout=0.0)
    if isinstance(config, ImageModelConfig):
        return replace(config, image=replace(config.image, dropout=0.0))
    return config


def equality(name: str, device: torch.device, sizes: Sizes) -> str:
    """Train in fp32 on the processor and the device; return a row of the table.

    It has the largest relative difference between their losses, and if it is below EQUAL.
    """
    start, losses = new_model(without_dropout(name), sizes), []
    config = settings_of(name, min(sizes.batch_tokens, 1024))
    for where in (torch.device("cpu"), device):
        model = copy.deepcopy(start).to(where)
        torch.manual_seed(1)  # of the features of images
        events = fit(State(model, config), Generated(model, sizes), None, config, torch.float32)
        steps = (event for event in events if type(event) is Stepped)
        losses.append([step.loss for step in itertools.islice(steps, sizes.timed)])
    most = max(abs(one - other) / one for one, other in zip(*losses, strict=True))
    return f"| {name} | {len(losses[0])} | {most:.1e} | {'yes' if most < EQUAL else 'NO'} |"


def training(name: str, device: torch.device, precision: str, sizes: Sizes, most: float) -> str:
    """Train for some updates; return a row of the table. most: peak in FLOPs per second."""
    config = settings_of(name, sizes.batch_tokens)
    model = new_model(model_config(name), sizes).to(device)
    data = Generated(model, sizes)
    events = fit(State(model, config), data, None, config, DTYPES[precision])
    steps = (event for event in events if type(event) is Stepped)
    for _ in itertools.islice(steps, sizes.untimed):
        pass
    started = clock(device)
    timed = list(itertools.islice(steps, sizes.timed))
    seconds = clock(device) - started
    tokens = sum(step.tokens for step in timed)
    plans = (batches_of(data, config, epoch) for epoch in itertools.count())
    batches = itertools.islice(
        itertools.chain.from_iterable(plans), sizes.untimed, sizes.untimed + sizes.timed
    )
    numbers = np.concatenate(list(batches))
    assert tokens == data.target_lengths[numbers].sum(), "the timed batches are not those counted"
    flops = update_flops(model, data.source_lengths[numbers], data.target_lengths[numbers])
    rate = flops / seconds
    cells = f"{tokens / seconds:,.0f} | {rate / 1e12:.4g} | {rate / most:.2%}"
    return f"| {name} | {precision} | {cells} |"


@torch.inference_mode()
def decoding(name: str, device: torch.device, size: int, sizes: Sizes) -> str:
    """Decode one batch after an untimed one; return a row of the table."""
    model = new_model(model_config(name), sizes).to(device).eval()
    model.output.bias[END] = -1000
    data, seconds, tokens = Generated(model, sizes), 0.0, 0
    numbers = np.arange(size) % sizes.examples
    limits = data.target_lengths[numbers].tolist()
    for _ in range(2):  # the first one is not counted
        source, mask = (part.to(device) for part in data.source(numbers))
        started = clock(device)
        found = search(model, model.encode(source, mask), limits, [""] * size, SearchConfig(beam=5))
        seconds = clock(device) - started
        tokens = sum(len(best[0].ids) + 1 for best in found)
    return f"| {name} | {size} | {size / seconds:,.1f} | {tokens / seconds:,.0f} |"


def by_ctranslate2(name: str, device: torch.device, size: int, sizes: Sizes) -> str:
    """Decode one batch by CTranslate2 after an untimed one; return a row of the table."""
    model = new_model(model_config(name), sizes)
    model.output.bias.data[END] = -1000
    shape = VocabularySizes(sizes.vocabulary, sizes.vocabulary, True)
    weights = {key: tensor.numpy() for key, tensor in weights_of(model).items()}
    files = converted(weights, model.config, shape, positions=sizes.longest + 1)
    kind = "float16" if device.type == "cuda" else "float32"
    library: Any = import_module("ctranslate2")
    label = f"{name}, CTranslate2, {kind}"
    if device.type == "cuda" and not library.get_cuda_device_count():
        return f"| {label} | {size} | skipped: it finds no CUDA device | |"
    data, seconds, tokens = Generated(model, sizes), 0.0, 0
    sources = [[*map(str, data.sources[n % sizes.examples])] for n in range(size)]
    try:
        engine = library.Translator("memory", files=files, device=device.type, compute_type=kind)
        for _ in range(2):  # the first one is not counted; it returns when all work is done
            started = time.perf_counter()
            found = engine.translate_batch(
                sources, beam_size=5, max_decoding_length=sizes.longest, max_batch_size=0
            )
            seconds = time.perf_counter() - started
            tokens = sum(len(one.hypotheses[0]) for one in found)
    except RuntimeError as error:  # a library of CUDA is missing
        return f"| {label} | {size} | skipped: {str(error).splitlines()[0]} | |"
    return f"| {label} | {size} | {size / seconds:,.1f} | {tokens / seconds:,.0f} |"


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument(
        "--tiny", action="store_true", help="tiny models and data: a check, no benchmark"
    )
    given = parser.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        sys.exit("gpu.py: no CUDA device was found; use --device cpu --tiny to check the script")
    device, sizes = torch.device(given.device), TINY if given.tiny else Sizes()
    names = TINY_PRESETS if given.tiny else PRESETS
    print(
        torch.cuda.get_device_name(device) if device.type == "cuda" else "processor",
        torch.__version__,
    )
    precisions = ["fp32", "bf16"] if computes_bf16(device) else ["fp32"]
    peaks = {one: peak(device, DTYPES[one], sizes.matrix) for one in precisions}
    for one, most in peaks.items():
        print(f"matrix product of {sizes.matrix}, {one}: {most / 1e12:.4g} TFLOP/s")
    torch.backends.cuda.matmul.allow_tf32 = False
    print("\n| loss equals the processor's | updates | difference | equal |\n|---|---:|---:|---|")
    for name in names:
        print(equality(name, device, sizes), flush=True)
    print(
        "\n| training | precision | target tokens/s | model TFLOP/s | MFU |"
        "\n|---|---|---:|---:|---:|"
    )
    for name, one in itertools.product(names, precisions):
        print(training(name, device, one, sizes, peaks[one]), flush=True)
    print("\n| decoding, beam 5 | batch | sentences/s | tokens/s |\n|---|---:|---:|---:|")
    for name, size in itertools.product(names, sizes.batches):
        print(decoding(name, device, size, sizes), flush=True)
        if model_config(name).family == "transformer":
            print(by_ctranslate2(name, device, size, sizes), flush=True)


if __name__ == "__main__":
    main()

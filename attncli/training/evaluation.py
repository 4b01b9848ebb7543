"""Scoring a model while it trains: real beam decoding on the dev set, and its loss."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

from attncli.training.config import RunConfig
from attncli.training.events import Scores
from attncli.training.prepare import DevSet
from models.bundle import Bundle
from models.config import ModelConfig
from models.errors import ModelError
from models.loss import LossSum
from models.model import EncoderDecoder
from models.tokenizer import Tokenizer
from models.translator import Translator, forced
from models.types import Batch

BATCH = 64  # sentences whose loss is taken at a time
PORTION = 200  # sentences translated between two looks at whether to stop

Heartbeat = Callable[[float], None]  # told the share that is done; raises Interrupted to stop


def dev_scores(
    model: EncoderDecoder, tokenizer: Tokenizer, dev: DevSet, config: RunConfig, beat: Heartbeat
) -> Scores:
    """Loss per token against the first reference, and BLEU of beam search against all."""
    loss = dev_loss(model, tokenizer, dev, beat)
    if config.train.metric == "loss":
        return Scores(loss, None)
    bundle = Bundle(model, tokenizer, config.tokenizer, config.search)
    outputs = translated(Translator(bundle, str(_device(model))), dev.sources, beat)
    return Scores(loss, bleu(outputs, dev.references, config.train.bleu_tokenizer))


def too_long(text: str, tokenizer: Tokenizer, config: ModelConfig) -> bool:
    """Whether a source is longer than the model takes."""
    return len(tokenizer.encode(text)) > config.max_source


def translated(translator: Translator, sources: list[str], beat: Heartbeat) -> list[str]:
    """Translations in order; an empty one for a source that is too long for the model."""
    outputs = [""] * len(sources)
    tokenizer, config = translator.tokenizer, translator.config
    fitting = [i for i, text in enumerate(sources) if not too_long(text, tokenizer, config)]
    order = sorted(fitting, key=lambda i: len(sources[i]))
    for start in range(0, len(order), PORTION):
        beat(start / len(order))
        part = order[start : start + PORTION]
        results = translator.translate([sources[i] for i in part])
        for index, result in zip(part, results, strict=True):
            outputs[index] = result.text
    return outputs


def bleu(outputs: list[str], references: list[list[str]], tokenizer: str) -> float:
    """Corpus BLEU by sacreBLEU, 0 to 100."""
    import sacrebleu

    score = sacrebleu.corpus_bleu(outputs, references, tokenize=tokenizer, force=True)
    return float(score.score)


@torch.inference_mode()
def dev_loss(
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    dev: DevSet,
    beat: Heartbeat = lambda share: None,
) -> float:
    """Negative log-likelihood per target token, in nats, without smoothing.

    Sources that are empty or too long for the model, which training leaves out too, do not count.
    """
    model, loss = model.eval(), LossSum(0.0)
    total, tokens = 0.0, 0
    texts = sorted(zip(dev.sources, dev.references[0], strict=True), key=lambda p: len(p[1]))
    for start in range(0, len(texts), BATCH):
        beat(0.0)
        batch = _batch(texts[start : start + BATCH], tokenizer, model)
        if batch is None:
            continue
        real = model.force(batch).features[batch.target_mask]  # (N, D)
        wanted = batch.target_out[batch.target_mask]  # (N,)
        _, nll = loss(real, wanted, model.output.weight, model.output.bias)
        total, tokens = total + float(nll), tokens + len(wanted)
    return total / max(1, tokens)


def _batch(
    texts: list[tuple[str, str]], tokenizer: Tokenizer, model: EncoderDecoder
) -> Batch | None:
    encoded = [(tokenizer.encode(s), tokenizer.encode_target(t)) for s, t in texts if s.strip()]
    usable = [pair for pair in encoded if len(pair[0]) <= model.config.max_source]
    if not usable:
        return None
    return forced([ids for ids, _ in usable], [ids for _, ids in usable], _device(model))


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


@contextlib.contextmanager
def using(model: nn.Module, weights: dict[str, Tensor]) -> Iterator[None]:
    """Lend a model other weights; its own come back afterwards."""
    parameters = dict(model.named_parameters())
    lent = [name for name in parameters if weights[name].data_ptr() != parameters[name].data_ptr()]
    own = {name: parameters[name].detach().clone() for name in lent}
    try:
        _fill(parameters, {name: weights[name] for name in lent})
        yield
    finally:
        _fill(parameters, own)


@torch.no_grad()
def _fill(parameters: dict[str, nn.Parameter], weights: dict[str, Tensor]) -> None:
    for name, tensor in weights.items():
        parameters[name].copy_(tensor)


def averaged(paths: list[Path]) -> dict[str, Tensor]:
    """The mean of several snapshots' weights."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    total: dict[str, Tensor] = {}
    for path in paths:
        try:
            snapshot = load_file(path)
        except (OSError, SafetensorError) as error:
            raise ModelError(
                f"snapshot {path} is missing or damaged ({error})",
                "weights written by `attn train`",
                "remove checkpoint.safetensors beside it to train again from the start",
            ) from None
        for name, tensor in snapshot.items():
            total[name] = total[name] + tensor if name in total else tensor
    return {name: tensor / len(paths) for name, tensor in total.items()}

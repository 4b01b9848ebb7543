"""Scoring a model while it trains: real beam decoding on the dev set, and its loss."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attncli.training.config import RunConfig, TrainConfig
from attncli.training.loop import Scores
from attncli.training.prepare import DevSet
from attncli.training.state import State
from models.bundle import Bundle
from models.loss import LossSum
from models.tokenizer import START, Tokenizer
from models.translator import Translator, padded
from models.types import Batch

BATCH = 64  # sentences scored at a time


def dev_scores(state: State, tokenizer: Tokenizer, dev: DevSet, config: RunConfig) -> Scores:
    """Loss per token against the first reference, and BLEU of beam search against all."""
    with using(state.model, state.weights()):
        loss = dev_loss(state, tokenizer, dev)
        if config.train.metric == "loss":
            return Scores(loss, None)
        bundle = Bundle(state.model, tokenizer, config.tokenizer, config.search)
        device = next(state.model.parameters()).device
        fits = Translator(bundle, str(device))
        limit = config.model.max_source
        known = [s if fits.source_length(s) <= limit else "" for s in dev.sources]
        outputs = [result.text for result in fits.translate(known)]
    return Scores(loss, bleu(outputs, dev.references, config.train.bleu_tokenizer))


def bleu(outputs: list[str], references: list[list[str]], tokenizer: str) -> float:
    """Corpus BLEU by sacreBLEU, 0 to 100."""
    import sacrebleu

    score = sacrebleu.corpus_bleu(outputs, references, tokenize=tokenizer, force=True)
    return float(score.score)


@torch.inference_mode()
def dev_loss(state: State, tokenizer: Tokenizer, dev: DevSet) -> float:
    """Negative log-likelihood per target token, in nats, without smoothing."""
    state.model.eval()
    device = next(state.model.parameters()).device
    loss, output = LossSum(0.0), state.model.output
    texts = sorted(zip(dev.sources, dev.references[0], strict=True), key=lambda p: len(p[1]))
    total, tokens = 0.0, 0
    for start in range(0, len(texts), BATCH):
        part = [p for p in texts[start : start + BATCH] if p[0].strip()]
        sources = [tokenizer.encode(source)[: state.model.config.max_source] for source, _ in part]
        targets = [tokenizer.encode_target(target) for _, target in part]
        if not part:
            continue
        source, source_mask = padded(sources, device)
        target, mask = padded(targets, device)
        target_in = torch.cat([torch.full_like(target[:, :1], START), target[:, :-1]], 1)
        features = state.model.force(Batch(source, source_mask, target_in, target, mask)).features
        _, nll = loss(features[mask], target[mask], output.weight, output.bias)
        total, tokens = total + float(nll), tokens + int(mask.sum())
    return total / max(1, tokens)


@contextlib.contextmanager
def using(model: nn.Module, weights: dict[str, Tensor]) -> Iterator[None]:
    """Lend a model other weights; its own come back afterwards."""
    parameters = dict(model.named_parameters())
    own = {}
    with torch.no_grad():
        for name, parameter in parameters.items():
            if weights[name].data_ptr() != parameter.data_ptr():
                own[name] = parameter.detach().clone()
                parameter.copy_(weights[name])
    try:
        yield
    finally:
        with torch.no_grad():
            for name, kept in own.items():
                parameters[name].copy_(kept)


def averaged(paths: list[Path]) -> dict[str, Tensor]:
    """The mean of several snapshots' weights."""
    from safetensors.torch import load_file

    total: dict[str, Tensor] = {}
    for path in paths:
        for name, tensor in load_file(path).items():
            total[name] = total[name] + tensor if name in total else tensor
    return {name: tensor / len(paths) for name, tensor in total.items()}


def step_bytes(state: State, batch: Batch, config: TrainConfig) -> int:
    """Memory of one update: weights, gradients, Adam's moments, and what backward keeps.

    The last is counted on a small part of the batch and scaled up.
    """
    fixed = sum(p.numel() * p.element_size() for p in state.model.parameters()) * 4
    rows = max(1, len(batch.source) // 16)
    part = Batch(*(tensor[:rows] for tensor in batch))
    kept: dict[int, int] = {}

    def count(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    own = {p.untyped_storage().data_ptr() for p in state.model.parameters()}
    state.model.train()
    held: list[Any] = []
    with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
        held.append(state.model.force(part).features)
    activations = sum(size for place, size in kept.items() if place not in own)
    return fixed + activations * len(batch.source) // rows

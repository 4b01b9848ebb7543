"""The alignment layer of a translator: its training, and the bundle of `attn align train`."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from attncli.align_train._run import AlignerRun, LayerResult, texts_of
from attncli.align_train._threshold import best_threshold
from attncli.data.alignments import WordLinks, read_word_links, token_links
from attncli.terminal.messages import counted
from attncli.training.examples import target_weights
from attncli.training.interfaces import Progress
from models.align_train.tables import StatisticalTables, read_statistical
from models.alignment.align import align
from models.alignment.weights import Encoded, as_batch, encode
from models.core.errors import ModelError
from models.core.files import write_text
from models.core.types import Batch
from models.core.use_config import AlignConfig
from models.engines.translator import Translator
from models.networks.bundle import Bundle, build, read, save, sizes_of
from models.networks.transformer import AlignmentLayer, TransformerDecoder
from models.search.batching import length_batches
from models.storage.archive import read_about, read_card
from models.storage.digests import weights_hash
from models.storage.settings import read_settings
from models.text.languages import parse_direction
from models.text.tokenizer import END

if TYPE_CHECKING:
    from torch import Tensor

SAMPLE = 8_000  # sentence pairs to learn from, at most
HELD_OUT = 20  # one of this number of sentence pairs is held out, at most MAX_HELD_OUT
MAX_HELD_OUT = 400
TOGETHER = (1, 1, 1, 2, 3, 4)  # sentence pairs of an example, one of these numbers each
BATCH_TOKENS = 800  # of a batch, padding included
# the inputs of all examples are kept in memory, so that the model runs once and not in every epoch
MAX_TOKENS = 200_000  # of all examples; bounds the memory of the inputs
EPOCHS = 5  # or more, until MIN_UPDATES
MIN_UPDATES = 200
RATE, WARM_UP = 2e-3, 30  # peak learning rate, updates until it is reached
STATISTICAL_SHARE = 0.5  # both kinds of probabilities count alike
HEADING = "## Word alignment"
THRESHOLD_PAIRS = 500
SMALLEST = 1e-9  # lower bound of a weight before the logarithm


class LinkedPair(NamedTuple):
    """A sentence pair and its word links."""

    source: str
    target: str
    links: WordLinks

    def turned(self) -> LinkedPair:
        """Return the pair from target to source."""
        return LinkedPair(self.target, self.source, tuple((j, i) for i, j in self.links))


class Inputs(NamedTuple):
    """Inputs of the layer for a batch, and its target weights."""

    tokens: Tensor  # (B, T, D)
    states: Tensor  # (B, T, D)
    memory: Tensor  # (B, S, D)
    mask: Tensor  # (B, S)
    targets: Tensor  # (B, T, S) weights that the layer is trained towards


def train_layer(
    ways: Sequence[Translator], pairs: Sequence[LinkedPair], seed: int, report: Progress
) -> float:
    """Train the alignment layer of a model; return its loss on held-out pairs, in nats per token.

    ways: the model in each direction to align, the first from source to target of `pairs`.
    """
    rng = random.Random(seed)
    chosen = rng.sample(list(pairs), min(SAMPLE, len(pairs)))
    held = min(MAX_HELD_OUT, len(chosen) // HELD_OUT)
    held_out = inputs_of(ways, chosen[:held] or chosen, report, "held-out inputs of the layer")
    pairs_to_learn = list(examples(chosen[held:], rng))
    batches = inputs_of(ways, pairs_to_learn, report, "inputs of the alignment layer")
    if not batches:
        raise ModelError(
            f"{counted(len(pairs), 'sentence pair')} with links, each too long for the translator",
            "sentence pairs that it can read",
            "split them into sentences",
        )
    layer = layer_of(ways[0])
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        reset(layer)
    return fit(layer, batches, held_out or batches, rng, report)


def layer_of(translator: Translator) -> AlignmentLayer:
    """Return the alignment layer of a model."""
    decoder = translator.model.decoder
    assert isinstance(decoder, TransformerDecoder) and decoder.aligner is not None
    return decoder.aligner


def reset(layer: AlignmentLayer) -> None:
    """Give a layer its random initial weights."""
    for matrix in (layer.query, layer.key):
        nn.init.xavier_uniform_(matrix.weight)
        nn.init.zeros_(matrix.bias)
    for norm in (layer.token_norm, layer.state_norm, layer.memory_norm):
        norm.reset_parameters()


def examples(pairs: Sequence[LinkedPair], rng: random.Random) -> Iterator[LinkedPair]:
    """Yield single sentence pairs and several joined to one."""
    start = 0
    while start < len(pairs):
        count = rng.choice(TOGETHER)
        yield joined(pairs[start : start + count])
        start += count


def joined(pairs: Sequence[LinkedPair]) -> LinkedPair:
    """Return sentence pairs as one, with the links of all."""
    links: list[tuple[int, int]] = []
    words = (0, 0)
    for pair in pairs:
        links += [(i + words[0], j + words[1]) for i, j in pair.links]
        words = words[0] + len(pair.source.split()), words[1] + len(pair.target.split())
    source, target = (" ".join(texts) for texts in zip(*(p[:2] for p in pairs), strict=True))
    return LinkedPair(source, target, tuple(links))


def inputs_of(
    ways: Sequence[Translator], pairs: Sequence[LinkedPair], report: Progress, stage: str
) -> list[Inputs]:
    """Compute the inputs of the layer for sentence pairs in every direction."""
    found: list[Inputs] = []
    for number, translator in enumerate(ways):
        turned = [pair.turned() for pair in pairs] if number else pairs
        encoded = [encode(translator, pair.source, pair.target) for pair in turned]
        batches = list(
            length_batches(lengths_of(translator, encoded, len(ways)), max_tokens=BATCH_TOKENS)
        )
        for done, batch in enumerate(batches, number * len(batches)):
            report(stage, done, len(ways) * len(batches))
            found.append(
                captured(translator, [encoded[n] for n in batch], [turned[n].links for n in batch])
            )
    return found


def lengths_of(translator: Translator, encoded: Sequence[Encoded], ways: int) -> list[int]:
    """Return the length of each pair in tokens; 0 for a pair that is left out.

    A pair is left out if its source is too long for the model, or if the pairs up to it have more
    tokens than the share of one way: MAX_TOKENS divided by the number of ways.
    """
    lengths, total = [], 0
    for pair in encoded:
        length = max(len(pair.source), len(pair.target))
        total += length
        fits = len(pair.source) <= translator.max_source_length and total <= MAX_TOKENS // ways
        lengths.append(length if fits else 0)
    return lengths


@torch.no_grad()
def captured(
    translator: Translator, encoded: Sequence[Encoded], links: Sequence[WordLinks]
) -> Inputs:
    """Return what the model gives its alignment layer for a batch, in fp16."""
    batch = as_batch(translator, encoded)
    seen: list[tuple[Tensor, ...]] = []
    hook = layer_of(translator).register_forward_pre_hook(lambda module, given: seen.append(given))
    with hook:
        layer = translator.model.decoder.attention_shape[0] - 1
        translator.model.teacher_force(batch, want_heads=(layer,))
    tokens, states, memory, mask = seen[0]
    linked = [
        token_links(own, one.source, one.target, translator.tokenizer)
        for own, one in zip(links, encoded, strict=True)
    ]
    table = target_weights(linked, (batch.target_in.shape[1], batch.source.shape[1]))
    targets = with_end_mark(torch.from_numpy(table).to(translator.device), batch)
    # step t + 1 reads token t
    parts = tokens[:, 1:].half(), states[:, 1:].half(), memory.half()
    return Inputs(*parts, mask, targets[:, :-1])


def fit(
    layer: AlignmentLayer,
    batches: list[Inputs],
    held_out: list[Inputs],
    rng: random.Random,
    report: Progress,
) -> float:
    """Train a layer; leave it with the weights of the best epoch, and return their loss."""
    optimizer = torch.optim.Adam(layer.parameters(), RATE, betas=(0.9, 0.98))
    epochs = max(EPOCHS, math.ceil(MIN_UPDATES / len(batches)))
    total = epochs * len(batches)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda done: min((done + 1) / WARM_UP, 1 - done / total)
    )
    best, kept = float("inf"), {}
    for epoch in range(epochs):
        rng.shuffle(batches)
        for number, batch in enumerate(batches):
            report("training of the alignment layer", epoch * len(batches) + number, total)
            loss, count = loss_of(layer, batch)
            optimizer.zero_grad()
            (loss / count.clamp_min(1)).backward()
            optimizer.step()
            schedule.step()
        if (found := mean_loss(layer, held_out)) < best:
            best = found
            kept = {name: tensor.clone() for name, tensor in layer.state_dict().items()}
    layer.load_state_dict(kept)
    return best


def loss_of(layer: AlignmentLayer, batch: Inputs) -> tuple[Tensor, Tensor]:
    """Return the summed loss of a batch, and the number of its tokens with target weights."""
    inputs = (part.float() for part in (batch.tokens, batch.states, batch.memory))
    weights = layer(*inputs, batch.mask).mean(1)  # (B, T, S)
    return cross_entropy(weights, batch.targets), batch.targets.sum()


def cross_entropy(weights: Tensor, targets: Tensor) -> Tensor:
    """Return the cross-entropy of weights a under targets G, both (B, T, S), summed over a batch.

    -sum_t sum_s G_ts log a_ts                          Garg et al. 2019, section 3.3
    """
    return -(targets * weights.float().clamp_min(SMALLEST).log()).sum()


@torch.no_grad()
def mean_loss(layer: AlignmentLayer, batches: Sequence[Inputs]) -> float:
    """Return the loss of batches, in nats per linked token."""
    losses = [loss_of(layer, batch) for batch in batches]
    return float(sum(loss for loss, _ in losses) / sum(count for _, count in losses))


def with_layer(folder: Path, statistical: StatisticalTables | None) -> Bundle:
    """Return the bundle of a translator with a new alignment layer and a statistical aligner."""
    bundle = read(folder)
    config = replace(bundle.model.config, alignment_layer=True)
    with torch.random.fork_rng([]):
        model = build(config, sizes_of(bundle.tokenizer, config.family))
    model.load_state_dict(bundle.model.state_dict(), strict=False)
    return bundle._replace(model=model.eval(), statistical=statistical)


def ways_of(translator: Translator, languages: str) -> list[Translator]:
    """Return the model in each of its directions, the first from source to target."""
    if not translator.languages:
        return [translator]
    source, target = parse_direction(languages)
    return [translator.for_direction(target, source), translator.for_direction(source, target)]


def alignment_of(
    translator: Translator, languages: str, pairs: Sequence[tuple[str, str]]
) -> tuple[AlignConfig, float]:
    """Return alignment settings, and the expected F score of their links on some pairs.

    The weights are the mean of both directions, and of the layer and the statistical aligner. Only
    the threshold is chosen.
    """
    config = AlignConfig(
        layer=translator.model.decoder.attention_shape[0],
        shift=1,
        extract="threshold",
        statistical=STATISTICAL_SHARE,
        languages=languages if translator.languages else "",
    )
    found = align(translator, pairs, config=config)
    threshold, expected = best_threshold(one.weights for one in found)
    return replace(config, threshold=round(threshold, 3)), expected


def save_aligner(bundle: Bundle, config: AlignConfig, source: Path, folder: Path) -> None:
    """Write the bundle, with weights in the precision of the translator that it was made from."""
    stored = read_settings(source)
    save(
        bundle._replace(model=bundle.model.cpu(), alignment=config),
        folder,
        card=card(source),
        weights=stored.get("weights", "fp32"),
        about=read_about(stored).to_dict(),
    )


def card(source: Path) -> str:
    """Return the card of the translator with a section about the alignment."""
    before = read_card(source).partition(HEADING)[0].rstrip()
    return (
        f"{before}\n\n{HEADING}\n\n"
        "- `attn align train` added an alignment layer and a statistical aligner; the weights\n"
        "  that translate are unchanged\n"
        "- Trained on word links of two hidden Markov models; no links made by people\n"
    )


def finish(run: AlignerRun, device: str, progress: Progress) -> LayerResult:
    """Train the alignment layer, choose the threshold, and write the bundle."""
    pairs = texts_of(run)
    links = read_word_links(run.links, len(pairs))
    linked = [LinkedPair(*texts, own) for texts, own in zip(pairs, links, strict=True) if own]
    tables = read_statistical(run.links.parent)
    bundle = with_layer(run.translator, tables)
    translator = Translator(bundle, device)
    translator.lexicon = None  # the links are those of the words alone
    ways = ways_of(translator, run.languages)
    loss = train_layer(ways, linked, run.seed, progress)
    progress("choice of the threshold", 0, 0)
    sample = random.Random(run.seed).sample(pairs, min(THRESHOLD_PAIRS, len(pairs)))
    config, expected = alignment_of(translator, run.languages, sample)
    result = LayerResult(weights_hash(run.translator), run.seed, loss, config.threshold, expected)
    save_aligner(bundle, config, run.translator, run.path)
    write_text(run.result, json.dumps(result._asdict(), indent=2) + "\n")
    return result


def with_end_mark(weights: Tensor, batch: Batch) -> Tensor:
    """Return target weights (B, T, S) that link tokens without links to the source's end mark.

    The weights of a pair without any link stay 0.
    """
    from torch import nn

    free = batch.target_mask & (batch.target_out != END) & (weights.sum(-1) == 0)  # (B, T)
    free &= weights.flatten(1).any(1)[:, None]
    last = batch.source_mask.sum(1) - 1  # (B,) the end mark
    null = nn.functional.one_hot(last, weights.shape[2])  # (B, S)
    return weights + free[..., None] * null[:, None]

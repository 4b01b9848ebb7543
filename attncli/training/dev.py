"""Data of a run: its examples, and the dev set, which is decoded and scored during training."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from attncli.scoring.sequences import error_rate, exact_match, rouge_l, rouge_words
from attncli.scoring.translations import Scoring, sacrebleu_tokens
from attncli.scoring.translations import metrics as sacrebleu_metrics
from attncli.task.panels import ShownExample, spread
from attncli.training.interfaces import ALONE, METRICS, Scores, World
from models.core.use_config import PrepareConfig
from models.search.batching import length_batches, pad_pairs, windows

if TYPE_CHECKING:
    from torch import Tensor
    from typing_extensions import Self

    from attncli.data.alignments import PairLinks
    from attncli.training.config import TrainConfig
    from attncli.training.examples import Examples
    from attncli.training.interfaces import Report, RewardLoss
    from attncli.training.tokens import Dropped
    from models.core.config import TextConfig
    from models.core.types import Batch
    from models.networks.bundle import Bundle
    from models.networks.encoder_decoder import EncoderDecoder
    from models.text.tokenizer import Tokenizer

# with short targets BLEU is 0 at every evaluation, so the first weights would be kept
SHORT_WORDS, SHORT_LETTERS = 3, 40  # of a short output; BLEU needs four words

Decode = Callable[[list[int]], list[str]]  # numbers of sources to their outputs


@dataclass(frozen=True)
class DevSet:
    """Sources and their references; the methods of this class read sources that are texts."""

    sources: Sequence[Any]
    references: Sequence[Sequence[str]]  # of each source; the loss is that of the first
    to: str = ""  # target language, for a multilingual model

    metric: ClassVar[str] = ""  # for train.metric = auto; "": exact or bleu, by the references
    together: ClassVar[int] = 64  # sources per batch of the loss
    chunk: ClassVar[int] = 100  # sources decoded between two calls of `report`
    side: ClassVar[int] = 1  # by whose length batches are sorted: 0 source, 1 target
    limited: ClassVar[bool] = True  # False: a source of any length is usable

    def __len__(self) -> int:
        return len(self.references)

    @property
    def targets(self) -> Sequence[Sequence[str]]:
        """The references of each source in the form that the model learns."""
        return self.references

    def default_metric(self) -> str:
        """Return the metric for train.metric = auto."""
        return self.metric or metric_for([texts[0] for texts in self.targets])

    def fits(self, text: str, tokenizer: Tokenizer, config: TextConfig) -> bool:
        """Return True if a text is not longer than model.max_source."""
        return len(tokenizer.encode(text, self.to)) <= config.max_source

    def too_long(self, tokenizer: Tokenizer, config: TextConfig) -> int:
        """Return the number of sources that are too long for the model."""
        limited = self.sources if self.limited else ()
        return sum(not self.fits(text, tokenizer, config) for text in limited)

    def usable(self, tokenizer: Tokenizer, config: TextConfig) -> list[int]:
        """Return the numbers of the sources that training would not exclude."""
        if not self.limited:
            return list(range(len(self)))
        pairs = enumerate(zip(self.sources, self.references, strict=True))
        return [
            n
            for n, (source, texts) in pairs
            if source.strip() and texts[0].strip() and self.fits(source, tokenizer, config)
        ]

    def encoded_by(self, model: EncoderDecoder, report: Report) -> Self:
        """Return the set with features of the model's current encoder; call this first.

        Text needs no encoding in advance: the set itself.
        """
        return self

    def some(self, numbers: Sequence[int]) -> Self:
        """Return the set with the sources of these numbers only; they increase."""
        sources = [self.sources[n] for n in numbers]
        return replace(self, sources=sources, references=[self.references[n] for n in numbers])

    def divided(self, directions: Collection[str]) -> list[Self]:
        """Return the part of some directions, and that of the others, unless it is empty."""
        return [self]

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Yield the batches for the loss, on the model's device."""
        device = next(model.parameters()).device
        usable = self.usable(tokenizer, model.config)
        sources = [tokenizer.encode(self.sources[n], self.to) for n in usable]
        targets = [tokenizer.encode_target(self.references[n][0], self.to) for n in usable]
        lengths = [*map(len, (sources, targets)[self.side])]
        for rows in length_batches(lengths, max_count=self.together):
            batch = pad_pairs([sources[n] for n in rows], [targets[n] for n in rows], device)
            yield self.with_images(batch, [usable[n] for n in rows])

    def with_images(self, batch: Batch, numbers: Sequence[int]) -> Batch:
        """Return a batch with the images that the sources of these numbers name: none."""
        return batch

    def outputs(self, bundle: Bundle, device: str, report: Report) -> list[str]:
        """Return the output for each source, found by the bundle's search; "" if it is unusable."""
        found, decode = [""] * len(self), self.decoder(bundle, device)
        usable = self.usable(bundle.tokenizer, bundle.model.config)
        for done, numbers in enumerate(windows(usable, self.chunk)):
            report(done * self.chunk / len(usable))
            for number, text in zip(numbers, decode(numbers), strict=True):
                found[number] = text
        return found

    def decoder(self, bundle: Bundle, device: str) -> Decode:
        """Return the function that decodes the sources of some numbers."""
        raise NotImplementedError

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """Return exact match, the metric of early stopping, and the loss."""
        references = [list(texts) for texts in self.references]
        others = metric_scores(config, outputs, references)
        return Scores(loss, exact=exact_match(outputs, references), **others)

    def samples(self, bundle: Bundle, device: str, count: int) -> list[ShownExample]:
        """Return at most `count` examples, always the same, with the outputs of the model.

        One of them has an attention map, if the model has attention.
        """
        some = self.some(spread(len(self), count))
        outputs = some.outputs(bundle, device, lambda share: None)
        found = zip(some.sources, some.references, outputs, strict=True)
        return [ShownExample(str(source), texts[0], output) for source, texts, output in found]

    def error_rate(self, model: Any, gold: Sequence[PairLinks]) -> float | None:
        """Return the alignment error rate in percent; None for a model without attention."""
        raise NotImplementedError

    def store_head(self, folder: Path, device: str) -> None:
        """Store in a bundle which attention head aligns best; only text can be aligned."""


def metric_for(references: Sequence[str]) -> str:
    """Return exact if most references are short, otherwise bleu.

    Up to three words are short: without a fourth word, BLEU-4 is 0. Languages written without
    spaces are recognised by their letters: a kana or Chinese character counts as a word, and more
    than 40 letters are never short.
    """
    short = [
        len(text) <= SHORT_LETTERS and len(rouge_words(text)) <= SHORT_WORDS for text in references
    ]
    return "exact" if sum(short) > len(short) / 2 else "bleu"


class Data(NamedTuple):
    """Data ready for training, and the dev set."""

    tokenizer: Tokenizer
    examples: Examples
    dropped: Dropped
    dev: DevSet | None = None
    replay: DevSet | None = None  # pairs that measure what the initial model knew
    notes: tuple[str, ...] = ()  # warnings about the data
    reward_loss: RewardLoss | None = None  # for self-critical training
    remarks: tuple[str, ...] = ()  # choices made for the user, to tell when the run starts
    prepare: PrepareConfig = PrepareConfig()  # of the texts that the trained model will read
    buffers: Mapping[str, Tensor] = {}  # of a new model, by name, as the data require
    lexicon: bytes = b""  # packed, of a model that reads one
    pairs: int = 0  # of the run's own files; 0: as many as there are examples


def metric_scores(
    config: TrainConfig, outputs: list[str], references: list[list[str]]
) -> dict[str, Any]:
    """Return the score that is computed only if a run stops by it, by its name in `Scores`.

    references: of each output.
    """
    metric = config.metric
    if metric == "error_rate":
        tokenize = sacrebleu_tokens(config.bleu_tokenizer)
        return {metric: error_rate(outputs, references, tokenize=tokenize)}
    if metric == "rouge_l":
        return {metric: rouge_l(outputs, references)}
    if metric in ("chrf", "ter"):
        _, chrf, ter = sacrebleu_metrics(Scoring(config.bleu_tokenizer))
        columns: Any = [*zip_longest(*references)]
        found = (chrf if metric == "chrf" else ter).corpus_score(outputs, columns)
        return {metric: float(found.score)}
    return {}


def value_of(scores: Scores, metric: str) -> float:
    """Return a metric's value, negated if lower is better; if it is missing, that of the loss."""
    found = getattr(scores, metric)
    if found is None:
        return -scores.loss
    return -float(found) if METRICS[metric].lower_is_better else float(found)


def improves(value: float, loss: float, best: float | None, best_loss: float | None) -> bool:
    """Return True if a value is higher than the best, or equal with a lower loss."""
    if best is None or value > best:
        return True
    # BLEU can stay 0 for many evaluations, in which the loss tells which weights are better
    return value == best and best_loss is not None and loss < best_loss


def described(value: float, metric: str) -> str:
    """Return a value of `value_of` as text, with the metric's name."""
    kind = METRICS[metric]
    return f"{kind.label} {-value if kind.lower_is_better else value:.{kind.digits}f}"


def evaluate(
    bundle: Bundle,
    dev: DevSet,
    config: TrainConfig,
    report: Report = lambda share: None,
    world: World = ALONE,
) -> Scores:
    """Return the scores of the bundle's weights; all processes call this, and share the work."""
    dev = dev.encoded_by(bundle.model, report)
    loss = dev_loss(bundle.model, bundle.tokenizer, dev, report, world)
    if config.metric == "loss":
        return Scores(loss, None)
    outputs, device = [""] * len(dev), str(next(bundle.model.parameters()).device)
    own = list(range(world.number, len(dev), world.size))
    part = dev if world.size == 1 else dev.some(own)
    found = part.outputs(bundle, device, report) if own else []
    for number, content in enumerate(world.gather(json.dumps(found).encode())):
        outputs[number :: world.size] = json.loads(content)
    # process 0 alone scores, so that all stop by the same numbers
    scores = Scores(loss) if world.number else dev.scores(loss, outputs, config)
    return Scores(**json.loads(world.gather(json.dumps(scores._asdict()).encode())[0]))


def dev_loss(
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    dev: DevSet,
    report: Report = lambda share: None,
    world: World = ALONE,
) -> float:
    """Return the negative log-likelihood per target token, in nats, without label smoothing."""
    import torch

    from models.networks.losses import sequence_loss

    total, tokens = 0.0, 0
    batches = islice(dev.batches(tokenizer, model), world.number, None, world.size)
    with torch.inference_mode():
        for batch in batches:
            report(0.0)
            found = sequence_loss(model.eval().teacher_force(batch), batch, model.output)
            total, tokens = total + float(found.nll.sum()), tokens + len(found.nll)
    total, count = world.total([total, tokens])
    return total / max(1.0, count)

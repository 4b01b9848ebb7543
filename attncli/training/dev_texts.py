"""A dev set of sentences: translated by real search, and scored by sacreBLEU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from attncli.training.config import TrainConfig
from attncli.training.events import Scores
from attncli.training.material import Heartbeat
from models.bundle import Bundle
from models.config import ModelConfig
from models.inference.batching import length_batches, pad_pairs
from models.inference.translator import Translator
from models.model import EncoderDecoder
from models.tokenizer import Tokenizer
from models.types import Batch

BATCH = 64  # sentences whose loss is taken at a time


@dataclass(frozen=True)
class DevTexts:
    """Sentences that are translated and scored while training."""

    sources: list[str]
    references: list[list[str]]  # one list per reference, each as long as the sources

    def __len__(self) -> int:
        return len(self.sources)

    def too_long(self, tokenizer: Tokenizer, config: ModelConfig) -> int:
        """How many sources have more pieces than the model takes."""
        return sum(not fits(text, tokenizer, config) for text in self.sources)

    def seen_by(self, model: EncoderDecoder, beat: Heartbeat) -> DevTexts:
        """The same for every model."""
        return self

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Sources with their first references; those that training leaves out are not there."""
        device = next(model.parameters()).device
        pairs = zip(self.sources, self.references[0], strict=True)
        encoded = [(tokenizer.encode(s), tokenizer.encode_target(t)) for s, t in pairs if s.strip()]
        usable = [pair for pair in encoded if len(pair[0]) <= model.config.max_source]
        for batch in length_batches([len(target) for _, target in usable], max_count=BATCH):
            sources, targets = zip(*(usable[i] for i in batch), strict=True)
            yield pad_pairs(sources, targets, device)

    def outputs(self, bundle: Bundle, device: str, beat: Heartbeat) -> list[str]:
        """Translations in order."""
        return translated(Translator(bundle, device), self.sources, beat)

    def shown_to(self, translator: Translator, most: int) -> list[tuple[str, str]]:
        """The first pairs that the model can read, both sides."""
        tokenizer, config = translator.tokenizer, translator.config
        pairs = zip(self.sources, self.references[0], strict=True)
        fitting = (
            pair
            for pair in pairs
            if all(side.strip() and fits(side, tokenizer, config) for side in pair)
        )
        return list(islice(fitting, most))

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """BLEU against all references, beside the loss."""
        return Scores(loss, bleu(outputs, self.references, config.bleu_tokenizer))


def fits(text: str, tokenizer: Tokenizer, config: ModelConfig) -> bool:
    """Whether a source is no longer than the model takes."""
    return len(tokenizer.encode(text)) <= config.max_source


def translated(translator: Translator, sources: list[str], beat: Heartbeat) -> list[str]:
    """Translations in order; an empty one for a source that is too long for the model."""
    outputs = [""] * len(sources)
    tokenizer, config = translator.tokenizer, translator.config
    fitting = [i for i, text in enumerate(sources) if fits(text, tokenizer, config)]
    results = translator.stream(
        [sources[i] for i in fitting],
        window=max(1, len(fitting)),
        on_batch=lambda done: beat(done / len(fitting)),
    )
    for index, result in zip(fitting, results, strict=True):
        outputs[index] = result.text
    return outputs


def bleu(outputs: list[str], references: list[list[str]], tokenizer: str) -> float:
    """Corpus BLEU by sacreBLEU, 0 to 100."""
    import sacrebleu

    score = sacrebleu.corpus_bleu(outputs, references, tokenize=tokenizer, force=True)
    return float(score.score)

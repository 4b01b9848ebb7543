"""Dev sets of sentence pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice, zip_longest
from pathlib import Path

from attncli.data.alignments import PairLinks
from attncli.data.corpus import read_pairs, reference_columns
from attncli.render.training_samples import heat_map
from attncli.scoring.sequences import exact_match, references_by_output, score_alignments
from attncli.task.panels import ShownExample, spread
from attncli.training.interfaces import DevSet, Report, Scores
from attncli.training.metrics import metric_for, metric_scores
from attncli.training.settings.config import TrainConfig
from attncli.translate.runner import TranslateRunner
from models import load_translator
from models.alignment import align, align_translations, choose_head
from models.core.config import ModelConfig
from models.core.types import Batch, Translation
from models.engines.translator import Translator
from models.networks.bundle import Bundle
from models.networks.encoder_decoder import EncoderDecoder
from models.search.batching import length_batches, pad_pairs
from models.storage.settings import write_alignment
from models.text.tokenizer import Tokenizer

HEAD_PAIRS = 200  # pairs on which attention heads are compared
BATCH = 64  # sentence pairs per batch of the loss


@dataclass(frozen=True)
class DevTexts(DevSet):
    """Sentence pairs that are decoded and scored during training."""

    sources: list[str]
    references: list[list[str]]  # a list per reference, as long as the sources; None: missing
    to: str = ""  # target language, for a multilingual model
    name: str = ""  # direction, such as en-de

    def __len__(self) -> int:
        return len(self.sources)

    def default_metric(self) -> str:
        """Return exact if most references are short, otherwise bleu."""
        return metric_for(self.references[0])

    def too_long(self, tokenizer: Tokenizer, config: ModelConfig) -> int:
        """Return the number of sources longer than model.max_source."""
        return sum(not fits(text, tokenizer, config, self.to) for text in self.sources)

    def some(self, numbers: list[int]) -> DevTexts:
        """Return the set with the sources of these numbers only."""
        sources = [self.sources[number] for number in numbers]
        references = [[column[number] for number in numbers] for column in self.references]
        return replace(self, sources=sources, references=references)

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Yield sources with their first references, without pairs that training excludes."""
        device = next(model.parameters()).device
        pairs = zip(self.sources, self.references[0], strict=True)
        encoded = [
            (s, tokenizer.encode(s, self.to), tokenizer.encode_target(t, self.to))
            for s, t in pairs
            if s.strip() and t.strip()
        ]
        usable = [pair for pair in encoded if len(pair[1]) <= model.config.max_source]
        for batch in length_batches([len(target) for *_, target in usable], max_count=BATCH):
            texts, sources, targets = zip(*(usable[i] for i in batch), strict=True)
            yield self.with_images(pad_pairs(sources, targets, device), texts)

    def with_images(self, batch: Batch, sources: Sequence[str]) -> Batch:
        """Return a batch with the images that its sources name: none."""
        return batch

    def outputs(self, bundle: Bundle, device: str, report: Report) -> list[str]:
        """Return the translations in order."""
        return translated(self.translator(bundle, device), self.sources, report, self.to)

    def translator(self, bundle: Bundle, device: str) -> Translator:
        """Return a model in training, ready for use."""
        return Translator(bundle, device)

    def samples(self, bundle: Bundle, device: str, count: int) -> list[ShownExample]:
        """Return evenly spaced sentence pairs with their translations; see `DevSet`."""
        translator = self.translator(bundle, device)
        runner = TranslateRunner(translator.for_direction(self.to) if self.to else translator)
        numbers = [n for n in spread(len(self), count) if self.sources[n].strip()]
        results = runner.results([self.sources[n] for n in numbers])
        shown = [(n, one) for n, one in zip(numbers, results, strict=True) if one.translation]
        samples = [
            ShownExample(self.sources[n], self.references[0][n], one.text) for n, one in shown
        ]
        if translator.model.decoder.attends and samples and shown[0][1].parts:
            attention = alignment_map(translator, shown[0][1].parts[0])
            samples[0] = samples[0]._replace(attention=attention)
        return samples

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """Return BLEU, exact match, the metric of early stopping, and the loss."""
        references = references_by_output(self.references)
        return Scores(
            loss,
            bleu(outputs, self.references, config.bleu_tokenizer),
            exact=exact_match(outputs, references),
            **metric_scores(config, outputs, references),
        )


def read_texts(files: Sequence[Path | str]) -> DevTexts:
    """Return the sentence pairs of some files as a set to evaluate."""
    pairs = list(read_pairs(files))
    return DevTexts([pair.source for pair in pairs], reference_columns(pairs))


def alignment_error_rate(
    translator: Translator, texts: DevTexts, gold: Sequence[PairLinks]
) -> float | None:
    """Return AER in percent under teacher forcing; None for a model without attention.

    Links are the largest attention weights (Luong et al. 2015, section 5.4).
    """
    if not translator.model.decoder.attends:
        return None
    pairs = list(zip(texts.sources, texts.references[0], strict=True))
    plain = replace(translator.alignment, extract="argmax")
    links = [found.links for found in align(translator, pairs, config=plain, scored=False)]
    return 100 * score_alignments("", links, gold).error_rate


def alignment_map(translator: Translator, translation: Translation) -> str:
    """Return the heat map of a translation; "" if it has no words, or too many."""
    [found] = align_translations(translator, [translation])
    if found.note:
        return ""
    return heat_map(found.source, found.target, found.weights.float().cpu().numpy(), found.links)


def store_head(folder: Path, dev: DevSet, device: str) -> None:
    """Store in a bundle which attention head aligns best on the dev set."""
    assert isinstance(dev, DevTexts)
    translator = load_translator(folder, device=device)
    if dev.to:
        translator = translator.for_direction(dev.to)
    tokenizer, config = translator.tokenizer, translator.config
    fitting = (
        pair
        for pair in zip(dev.sources, dev.references[0], strict=True)
        if all(side.strip() and fits(side, tokenizer, config, dev.to) for side in pair)
    )
    if pairs := list(islice(fitting, HEAD_PAIRS)):
        write_alignment(folder, choose_head(translator, pairs))


def fits(text: str, tokenizer: Tokenizer, config: ModelConfig, to: str = "") -> bool:
    """Return True if a source is not longer than model.max_source."""
    return len(tokenizer.encode(text, to)) <= config.max_source


def translated(
    translator: Translator, sources: list[str], report: Report, to: str = ""
) -> list[str]:
    """Return the translations in order, as every command makes them; "" for a refused row."""
    runner = TranslateRunner(translator.for_direction(to) if to else translator)
    found = runner.results(sources, on_batch=lambda done, total: report(done / total))
    return [each.text for each in found]


def bleu(outputs: list[str], references: list[list[str]], tokenizer: str) -> float:
    """Return corpus BLEU by sacreBLEU, from 0 to 100."""
    import sacrebleu

    score = sacrebleu.corpus_bleu(outputs, references, tokenize=tokenizer, force=True)
    return float(score.score)


# A dev set of several directions: each is scored by itself, and the mean of BLEU is the score.


AVERAGED = ("bleu", "exact", "error_rate", "rouge_l", "chrf", "ter")


@dataclass(frozen=True)
class DevDirections(DevSet):
    """Dev sets of one direction each."""

    parts: tuple[DevTexts, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def default_metric(self) -> str:
        """Return exact if most references of all directions are short, otherwise bleu."""
        return metric_for([text for part in self.parts for text in part.references[0]])

    def too_long(self, tokenizer: Tokenizer, config: ModelConfig) -> int:
        """Return the number of sources that are longer than the model takes."""
        return sum(part.too_long(tokenizer, config) for part in self.parts)

    def some(self, numbers: list[int]) -> DevDirections:
        """Return the set with the sources of these numbers only, counted through all directions."""
        starts = [0, *accumulate(map(len, self.parts))]
        found = (
            part.some([n - start for n in numbers if start <= n < start + len(part)])
            for part, start in zip(self.parts, starts, strict=False)
        )
        return DevDirections(tuple(part for part in found if len(part)))

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Yield the batches of every direction."""
        for part in self.parts:
            yield from part.batches(tokenizer, model)

    def outputs(self, bundle: Bundle, device: str, report: Report) -> list[str]:
        """Return the translations of all directions, one after another."""
        found: list[str] = []
        for number, part in enumerate(self.parts):
            found += part.outputs(bundle, device, self._shifted(report, number))
        return found

    def _shifted(self, report: Report, number: int) -> Report:
        """Return a callback that converts progress in one direction into progress in all."""
        return lambda share: report((number + share) / len(self.parts))

    def samples(self, bundle: Bundle, device: str, count: int) -> list[ShownExample]:
        """Return the samples of the directions in turn; see `DevSet`."""
        each = -(-count // len(self.parts))
        found = [part.samples(bundle, device, each) for part in self.parts]
        in_turn = (sample for row in zip_longest(*found) for sample in row if sample)
        return list(islice(in_turn, count))

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """Return the BLEU of every direction, and the mean of each score over the directions."""
        remaining = iter(outputs)
        found = {
            part.name: part.scores(loss, list(islice(remaining, len(part))), config)
            for part in self.parts
        }
        means = {name: _mean([getattr(s, name) for s in found.values()]) for name in AVERAGED}
        directions = {name: score.bleu or 0.0 for name, score in found.items()}
        return Scores(loss, **means, directions=directions)


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None

"""Dev sets of sentence pairs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, islice, zip_longest
from pathlib import Path

from attncli.data.alignments import PairLinks
from attncli.render.page import heat_map
from attncli.scoring.sequences import score_alignments
from attncli.task.panels import ShownExample, spread
from attncli.training.config import TrainConfig
from attncli.training.dev import DevSet
from attncli.training.interfaces import Report, Scores
from attncli.translate.runner import TranslateRunner
from models import load
from models.alignment import align, align_translations, choose_head
from models.core.config import TextConfig
from models.core.types import Batch
from models.engines.translator import Translator
from models.networks.bundle import Bundle
from models.networks.encoder_decoder import EncoderDecoder
from models.storage.settings import write_alignment
from models.text.tokenizer import Tokenizer

HEAD_PAIRS = 200  # pairs on which attention heads are compared
AVERAGED = ("bleu", "exact", "error_rate", "rouge_l", "chrf", "ter")


@dataclass(frozen=True)
class DevTexts(DevSet):
    """Sentence pairs that are translated and scored during training."""

    name: str = ""  # direction, such as en-de

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each source with its first reference."""
        rows = zip(self.sources, self.references, strict=True)
        return [(source, texts[0]) for source, texts in rows]

    def translator(self, bundle: Bundle, device: str) -> Translator:
        """Return a model in training, ready for use in the direction of the set."""
        found = Translator(bundle, device)
        return found.for_direction(self.to) if self.to else found

    def outputs(self, bundle: Bundle, device: str, report: Report) -> list[str]:
        """Return the translations in order, as every command makes them; "" for a refused row."""
        runner = TranslateRunner(self.translator(bundle, device))
        found = runner.results(
            list(self.sources), on_batch=lambda done, total: report(done / total)
        )
        return [each.text for each in found]

    def samples(self, bundle: Bundle, device: str, count: int) -> list[ShownExample]:
        """Return evenly spaced sentence pairs with their translations; see `DevSet`."""
        translator = self.translator(bundle, device)
        some = self.some([n for n in spread(len(self), count) if self.sources[n].strip()])
        results = TranslateRunner(translator).results(list(some.sources))
        shown = [(*row, one) for row, one in zip(some.pairs, results, strict=True)]
        shown = [row for row in shown if row[2].translation]
        samples = [ShownExample(*row[:2], row[2].text) for row in shown]
        if translator.model.decoder.attends and samples and shown[0][2].parts:
            [found] = align_translations(translator, [shown[0][2].parts[0]])
            if not found.note:  # it has words, and not too many
                weights = found.weights.float().cpu().numpy()
                attention = heat_map(found.source, found.target, weights, found.links)
                samples[0] = samples[0]._replace(attention=attention)
        return samples

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """Return BLEU, exact match, the metric of early stopping, and the loss."""
        import sacrebleu

        columns = [list(column) for column in zip_longest(*self.references)]
        bleu = sacrebleu.corpus_bleu(outputs, columns, tokenize=config.bleu_tokenizer, force=True)
        return super().scores(loss, outputs, config)._replace(bleu=float(bleu.score))

    def error_rate(self, model: Translator, gold: Sequence[PairLinks]) -> float | None:
        """Return AER in percent under teacher forcing; None for a model without attention.

        Links are the largest attention weights (Luong et al. 2015, section 5.4).
        """
        if not model.model.decoder.attends:
            return None
        plain = replace(model.alignment, extract="argmax")
        links = [found.links for found in align(model, self.pairs, config=plain, scored=False)]
        return 100 * score_alignments(links, gold).error_rate

    def store_head(self, folder: Path, device: str) -> None:
        """Store in a bundle which attention head aligns best on the set."""
        translator = load(folder, "translate", device=device)
        if self.to:
            translator = translator.for_direction(self.to)
        tokenizer, config = translator.tokenizer, translator.config
        fitting = (
            pair
            for pair in self.pairs
            if all(side.strip() and self.fits(side, tokenizer, config) for side in pair)
        )
        if pairs := list(islice(fitting, HEAD_PAIRS)):
            write_alignment(folder, choose_head(translator, pairs))


@dataclass(frozen=True)
class DevDirections(DevSet):
    """Dev sets of one direction each; the mean of their scores is the score."""

    parts: Sequence[DevTexts] = ()

    @classmethod
    def of(cls, parts: Sequence[DevTexts]) -> DevDirections:
        """Return the sets of some directions as one."""
        sources = [text for part in parts for text in part.sources]
        references = [texts for part in parts for texts in part.references]
        return cls(sources, references, parts=parts)

    def too_long(self, tokenizer: Tokenizer, config: TextConfig) -> int:
        """Return the number of sources that are longer than the model takes."""
        return sum(part.too_long(tokenizer, config) for part in self.parts)

    def some(self, numbers: Sequence[int]) -> DevDirections:
        """Return the set with the sources of these numbers only, counted through all directions."""
        starts = [0, *accumulate(map(len, self.parts))]
        found = (
            part.some([n - start for n in numbers if start <= n < start + len(part)])
            for part, start in zip(self.parts, starts, strict=False)
        )
        return DevDirections.of([part for part in found if len(part)])

    def divided(self, directions: Collection[str]) -> list[DevDirections]:
        """Return the part of some directions, and that of the others, unless it is empty."""
        sides = (
            [part for part in self.parts if (part.name in directions) is own]
            for own in (True, False)
        )
        return [DevDirections.of(parts) for parts in sides if parts]

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Yield the batches of every direction."""
        return chain.from_iterable(part.batches(tokenizer, model) for part in self.parts)

    def outputs(self, bundle: Bundle, device: str, report: Report) -> list[str]:
        """Return the translations of all directions, one after another."""
        found: list[str] = []
        for done, part in enumerate(self.parts):

            def report_all(share: float, done: int = done) -> None:
                report((done + share) / len(self.parts))

            found += part.outputs(bundle, device, report_all)
        return found

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
        means = {}
        for name in AVERAGED:
            known = [value for one in found.values() if (value := getattr(one, name)) is not None]
            means[name] = sum(known) / len(known) if known else None
        directions = {name: score.bleu or 0.0 for name, score in found.items()}
        return Scores(loss, **means, directions=directions)

    def store_head(self, folder: Path, device: str) -> None:
        """Store which attention head aligns best in the first direction."""
        self.parts[0].store_head(folder, device)

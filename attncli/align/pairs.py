"""Align pairs with models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attncli.data.corpus import PairLine, pair_of
from attncli.faithful.result import Line
from attncli.options import loading
from attncli.options.loading import model_names
from attncli.options.settings import Options
from attncli.options.shared import PictureSettings, TextBatches
from attncli.render.alignment import FORMATS, heat_maps, linked, page, pair_record, written
from attncli.task.panels import AlignedPair
from attncli.task.runner import JsonObject, Models, Runner
from attncli.terminal.messages import current_screen
from models.core.config import MAX_BATCH_TOKENS
from models.core.errors import ConfigurationError, ModelError
from models.core.settings import merged, option
from models.core.use_config import AlignConfig
from models.storage.installed import chosen_model
from models.text.alignment import Alignment

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Self

    from models.core.types import Translation
    from models.engines.text_translator import TextTranslator
    from models.engines.translator import Translator

LINKS = "pharaoh"  # format without --format


class Aligner(NamedTuple):
    """A model with its alignment settings."""

    translator: Translator
    config: AlignConfig
    reverse: Translator | None = None
    name: str = ""  # title of its heat maps, if others are drawn beside them
    heads: bool = False  # True adds the weights of every head
    max_batch_tokens: int = MAX_BATCH_TOKENS
    scored: bool = True  # False leaves out the scores of pairs, which take about half of the time
    model: str = ""  # name of the model, in the title of a picture

    @property
    def shown(self) -> str:
        """Return the model and what its weights mean, as a picture states them."""
        from models.alignment.weights import attention_shape, chosen

        decoder = self.translator.model.decoder
        if not decoder.attends:
            return self.model
        layer, head = chosen(decoder, self.config)
        parts, read = [self.model] if self.model else [], self.translator.read_mode
        parts += [f"{read} attention"] if read.startswith("hard") else []
        heads = "all heads" if head is None else f"head {head + 1}"
        heads = f"{heads} of " if attention_shape(decoder)[1] > 1 else ""
        parts.append(f"what the model reads for each word ({heads}layer {layer + 1})")
        parts += ["both directions"] if self.config.languages or self.reverse else []
        parts += ["with word statistics"] if self.config.statistical else []
        return ", ".join(filter(None, parts))


@dataclass(frozen=True)
class LinkSettings:
    """Writing of links."""

    probabilities: bool = option(False, "write the weight of each link: 0-0:0.93")


@dataclass(frozen=True)
class AlignOptions(Options):
    """Options of an alignment. Defaults of the table align are those saved with the model."""

    TABLES = "align links picture attention compute"

    align: AlignConfig = option(AlignConfig, "alignment; the model has its own defaults")
    links: LinkSettings = option(LinkSettings, "links")
    picture: PictureSettings = option(PictureSettings, "--show and --picture")
    compute: TextBatches = option(TextBatches, "computation")
    format: str = LINKS
    reverse_model: Path | str | None = None  # from target to source
    heads: bool = False  # True adds the weights of every head

    @classmethod
    def read(cls, assignments: Iterable[str] | None = None, **options: Any) -> Self:
        """Return the options; refuse a setting that needs a reverse model."""
        found = super().read(assignments, **options)
        if "align.symmetrise" in found.given and not found.reverse_model:
            raise ConfigurationError("align.symmetrise without a reverse model", "--reverse-model")
        return found

    @property
    def scored(self) -> bool:
        """True if the scores of pairs are needed."""
        return self.with_scores or FORMATS[self.format].scores


class AlignRunner(Runner[Line | PairLine, AlignedPair, Sequence[Aligner], AlignOptions]):
    """Models that align pairs. `run` is the only way to alignments of given pairs."""

    task, shipped = "align", "translate"
    doing, unit, into, options_of = "aligning", "pair", "links", AlignOptions
    fields, formats = 2, tuple(name for name, one in FORMATS.items() if not one.document)
    load = staticmethod(partial(loading.load, shipped))

    @classmethod
    def of(cls, model: TextTranslator, options: AlignOptions) -> AlignRunner:
        """Return the runner of a translator."""
        [translator] = loading.configured(model, options).in_torch()
        heads, scored = options.heads, options.scored
        config = merged(translator.alignment, options.of("align"))
        aligner = Aligner(translator, config, heads=heads, scored=scored)
        return cls([aligner], options)

    @classmethod
    def open(cls, models: Models, options: AlignOptions, *, named: bool = False) -> AlignRunner:
        """Open models, or that in the box without any. named: True titles also a single one."""
        given: list[Path | None] = [*loading.as_folders(models)] or [None]
        folders = [chosen_model(model, "translate") for model in given]
        opening = replace(options, mixed=options.mixed or len(folders) > 1)
        titles, reverse = model_names(folders), options.reverse_model
        names = titles if named or len(folders) > 1 else [""]
        aligners = [
            Aligner(
                opened,
                merged(opened.alignment, options.of("align")),
                loading.open_reverse(Path(reverse), options) if reverse else None,
                name=name,
                heads=options.heads,
                max_batch_tokens=options.compute.batch_tokens,
                scored=options.scored,
                model=title,
            )
            for name, title, folder in zip(names, titles, folders, strict=True)
            for opened in [loading.open_aligner(folder, opening)]
        ]
        return cls(aligners, options)

    @staticmethod
    def item(number: int, value: str | tuple[str, str]) -> PairLine:
        """Return a pair of texts, which may be in one text with a tab or bars between them."""
        return pair_of(Line(number, value)) if isinstance(value, str) else PairLine(number, *value)

    def run(
        self, chunks: Iterable[Sequence[Line | PairLine]], *, weights: bool = False
    ) -> Iterator[list[AlignedPair]]:
        """Yield the alignments of each chunk, with a panel for each model.

        weights: True adds the self-attention of every head. Raises ModelError if the models divide
        a text into different units.
        """
        for chunk in chunks:
            pairs = [pair_of(one) if isinstance(one, Line) else one for one in chunk]
            found = [align_pairs(pairs, aligner) for aligner in self.model]
            if weights:
                found = [
                    with_self_heads(pairs, *each) for each in zip(found, self.model, strict=True)
                ]
            yield [
                replace(side_by_side(of_models), by=self) for of_models in zip(*found, strict=True)
            ]

    def rows(self, results: Sequence[AlignedPair]) -> bytes:
        """Return the rows of some pairs."""
        probabilities = self.options.links.probabilities
        return written(results, self.options.format, probabilities=probabilities)

    def record(self, result: AlignedPair) -> JsonObject:
        """Return a pair with its links as written to JSON."""
        return pair_record(result)

    def heat_map(self, result: AlignedPair) -> str:
        """Return the weights of a pair."""
        return heat_maps(result, current_screen())

    def page(self, result: AlignedPair) -> tuple[bytes, int]:
        """Return the heat map that can be pointed at."""
        return page(result)

    def text(self, result: AlignedPair) -> str | None:
        """Return the links."""
        return None if result.note else linked(result.panels[0], 0, probabilities=False)

    def notes(self, result: AlignedPair) -> list[str]:
        """Return why a pair has no links."""
        return [f"pair {result.number} is {result.note}; not aligned"] if result.note else []


def align_pairs(pairs: Sequence[PairLine], aligner: Aligner) -> list[AlignedPair]:
    """Return the alignments of pairs.

    A pair with a fault or an empty side has no units and no links, and the model is not called. A
    pair that is too long for the model has a note and no links.
    """
    from models.alignment import align

    whole = [p for p in pairs if p.source.strip() and p.target.strip() and not p.fault]
    texts = [(pair.source, pair.target) for pair in whole]
    found = align(
        aligner.translator,
        texts,
        config=aligner.config,
        reverse=aligner.reverse,
        max_batch_tokens=aligner.max_batch_tokens,
        scored=aligner.scored,
    )
    heads = every_head(aligner, texts)
    known = {
        pair.number: drawn(pair, alignment, aligner, weights)
        for pair, alignment, weights in zip(whole, found, heads, strict=True)
    }
    return [known[pair.number] if pair.number in known else empty(pair) for pair in pairs]


def side_by_side(pairs: Sequence[AlignedPair]) -> AlignedPair:
    """Return the alignments of a pair by several models as one pair with all panels."""
    first = pairs[0]
    if any((pair.source, pair.target) != (first.source, first.target) for pair in pairs):
        raise ModelError(
            f"pair {first.number} has other units in another model",
            "the same units in all models",
            "choose -s align.units=word",
        )
    panels = tuple(panel for pair in pairs for panel in pair.panels)
    notes = dict.fromkeys(pair.note for pair in pairs if pair.note)
    return replace(first, panels=panels, note="; ".join(notes))


def every_head(
    aligner: Aligner, pairs: Sequence[tuple[str, str] | Translation]
) -> Sequence[np.ndarray | None]:
    """Return the weights (L, H, J, I) of every head for each pair; None if not requested.

    pairs: pairs of texts, or translations, of which the best output is used.
    """
    from models.alignment import head_weights

    if not aligner.heads:
        return [None] * len(pairs)
    size = aligner.max_batch_tokens
    found = head_weights(aligner.translator, pairs, config=aligner.config, max_batch_tokens=size)
    return [None if weights is None else weights.numpy() for weights in found]


def with_self_heads(
    pairs: Sequence[PairLine], aligned: Sequence[AlignedPair], aligner: Aligner
) -> list[AlignedPair]:
    """Return the alignments with the self-attention of every layer and head."""
    from models.explain.methods import self_weights

    texts, drawn = [(pair.source, pair.target) for pair in pairs], []
    found = self_weights(aligner.translator, texts, aligner.config)
    for pair, sides in zip(aligned, found, strict=True):
        source, target = (None if each is None else each.numpy() for each in sides)
        first = pair.panels[0]._replace(source_heads=source, target_heads=target)
        drawn.append(replace(pair, panels=(first, *pair.panels[1:])))
    return drawn


def drawn(
    pair: PairLine, alignment: Alignment, aligner: Aligner, heads: np.ndarray | None
) -> AlignedPair:
    """Return the alignment of a pair by a model, as writers and heat maps use it."""
    whole = alignment._replace(name=aligner.name, shown=aligner.shown, heads=heads)
    return AlignedPair(pair.number, (whole,), alignment.note, pair.ending, pair.target)


def empty(pair: PairLine) -> AlignedPair:
    """Return the result for a pair that has nothing to align."""
    units = Alignment(tuple(pair.source.split()), tuple(pair.target.split()))
    return AlignedPair(pair.number, (units,), pair.fault, pair.ending, pair.target)

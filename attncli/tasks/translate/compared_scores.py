"""Scores of compared translators: BLEU and the alignment error rate."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from attncli.data.alignments import PairLinks
from attncli.data.text.rows import row_pairs
from attncli.jobs.compared import (
    ModelScores,
    Sets,
    Trained,
)
from attncli.scoring.score import MetricScore
from attncli.scoring.sequences import score_alignments
from attncli.tasks.translate.training.dev import DevTexts, bleu, translated
from attncli.tasks.translate.training.rows import DevRows, dev_rows, row_images
from attncli.training.updates.metrics import dev_loss
from models.alignment import align, diagonal
from models.inference.translator import Translator
from models.sources import columns_of

if TYPE_CHECKING:
    pass


def text_scores(trained: Trained, sets: Sets) -> ModelScores:
    """Return BLEU, AER and the dev loss of a translator."""
    translator: Translator = trained.model
    dev, test = cast(DevTexts, sets.dev), cast("DevTexts | None", sets.test)
    aer, aligned_by = alignment(translator, test or dev, sets.gold)
    return ModelScores(
        loss=dev_loss(translator.model, translator.tokenizer, dev, trained.report),
        dev=(MetricScore("bleu", dev_bleu(trained, dev)),),
        test=(MetricScore("bleu", measured_bleu(trained, test)),) if test else (),
        aer=aer,
        aligned_by=aligned_by,
    )


def row_scores(trained: Trained, sets: Sets) -> ModelScores:
    """Return BLEU and the dev loss of a model of several inputs. sets: tables."""
    config = trained.config
    columns, target = columns_of(config.model.inputs), config.data.target
    images = row_images(config.model, config.data, config.train, config.start_from)

    def rows(tables: Sequence[Path | str]) -> DevRows:
        pairs = list(row_pairs(tables, columns.names, target))
        return dev_rows(pairs, images, trained.progress)

    dev, test = rows(sets.dev), rows(sets.test) if sets.test else None
    trained = trained._replace(model=dev.reader(trained.model))
    return text_scores(trained, sets._replace(dev=dev, test=test))


def dev_bleu(trained: Trained, dev: DevTexts) -> float:
    """Return the dev BLEU of the final model: measured by training if BLEU was its metric."""
    kept = trained.kept
    metric = (kept and kept.metric) or trained.config.train.metric
    if kept is not None and kept.score is not None and metric == "bleu":
        return kept.score
    return measured_bleu(trained, dev)


def measured_bleu(trained: Trained, texts: DevTexts) -> float:
    """Translate texts and return their BLEU."""
    outputs = translated(trained.model, texts.sources, trained.report)
    return bleu(outputs, texts.references, trained.config.train.bleu_tokenizer)


def alignment(
    translator: Translator, texts: DevTexts, gold: Sequence[PairLinks] | None
) -> tuple[float | None, str]:
    """Return AER in percent under teacher forcing, and the method that made the links.

    Links are the largest attention weights (Luong et al. 2015, section 5.4); for a model without
    attention they are the diagonal, as a baseline.
    """
    if gold is None:
        return None, ""
    pairs = list(zip(texts.sources, texts.references[0], strict=True))
    attends = translator.model.decoder.attends
    if attends:
        plain = dataclasses.replace(translator.alignment, extract="argmax")
        links = [found.links for found in align(translator, pairs, config=plain, scored=False)]
    else:
        sizes = [(len(source.split()), len(target.split())) for source, target in pairs]
        links = [frozenset(diagonal(*size)) for size in sizes]
    scores = score_alignments("", links, gold)
    return 100 * scores.error_rate, "attention" if attends else "diagonal"

"""Scores of a finished run: a row of a comparison, stored in the run folder."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from attncli.data.links import PairLinks
from attncli.scoring.alignments import score_alignments
from attncli.scoring.comparison import RunScores
from attncli.scoring.labels import score_labels
from attncli.training.config import RunConfig
from attncli.training.data import Report
from attncli.training.evaluation import dev_loss
from attncli.training.events import FinalModel
from attncli.training.finished import read_progress
from attncli.training.folder import RunFolder
from attncli.training.sources.label_dev import DevLabels
from attncli.training.sources.text_dev import DevTexts, bleu, translated
from models import load
from models.alignment import align, diagonal
from models.errors import ModelError
from models.files import write_text
from models.inference.classifier import Classifier
from models.inference.translator import Translator
from models.parsing import parse_json

NAME = "measured.json"


class Sets(NamedTuple):
    """Dev and test set of a comparison, with gold links."""

    dev: DevTexts | DevLabels
    test: DevTexts | DevLabels | None
    gold: tuple[PairLinks, ...] | None  # the links of the test set, or of dev if there is none
    mark: str  # hash of the sets and links


def measured(folder: Path, sets: Sets) -> RunScores | None:
    """Return the stored row of the same sets; None if there is none."""
    path = folder / NAME
    try:
        record = parse_json(path.read_text("utf-8"))
        return run_scores(record["row"]) if record["mark"] == sets.mark else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelError(
            f"{path} is damaged ({error})", "scores of a run", "remove the file to measure again"
        ) from None


def run_scores(row: dict[str, Any]) -> RunScores:
    """Return a stored row; in rows of earlier versions, the variant is named mechanism."""
    if "mechanism" in row:
        row = {**row, "variant": row["mechanism"]}
        del row["mechanism"]
    return RunScores(**row)


def measure(
    variant: str, config: RunConfig, path: Path, sets: Sets, *, device: str, report: Report
) -> RunScores:
    """Return the row of a finished run, and write it to the run folder."""
    progress = read_progress(RunFolder(path))
    assert progress is not None, "a finished run"
    trained: Any = load(path, device=device)
    quality = of_labels if isinstance(trained, Classifier) else of_translations
    row = RunScores(
        variant=variant,
        seed=config.train.seed,
        perplexity=math.exp(dev_loss(trained.model, trained.tokenizer, sets.dev, report)),
        parameters=trained.model.parameter_count(),
        updates=progress.step,
        tokens_per_second=progress.tokens / max(progress.seconds, 1e-9),
        seconds=progress.seconds,
        read=trained.read_mode,
        **quality(trained, progress.kept, config, sets, report),
    )
    write_text(path / NAME, json.dumps({"mark": sets.mark, "row": row._asdict()}, indent=2) + "\n")
    return row


def of_translations(
    translator: Translator,
    kept: FinalModel | None,
    config: RunConfig,
    sets: Sets,
    report: Report,
) -> dict[str, Any]:
    """Return BLEU and AER of a run."""
    dev, test = cast("DevTexts", sets.dev), cast("DevTexts | None", sets.test)
    aer, aligned_by = alignment(translator, test or dev, sets.gold)
    return {
        "dev_bleu": dev_bleu(translator, kept, config, dev, report),
        "test_bleu": test_bleu(translator, config, test, report),
        "aer": aer,
        "aligned_by": aligned_by,
    }


def of_labels(
    classifier: Classifier,
    kept: FinalModel | None,
    config: RunConfig,
    sets: Sets,
    report: Report,
) -> dict[str, Any]:
    """Return the accuracy of a run."""
    found: dict[str, Any] = {"dev_bleu": None, "test_bleu": None, "aer": None, "aligned_by": ""}
    for name, part in (("dev_accuracy", sets.dev), ("test_accuracy", sets.test)):
        if isinstance(part, DevLabels):
            found[name] = score_labels(part.labelled(classifier, report), part.labels).accuracy
    return found


def dev_bleu(
    translator: Translator,
    kept: FinalModel | None,
    config: RunConfig,
    dev: DevTexts,
    report: Report,
) -> float:
    """Return the dev BLEU of the final model: measured by training if BLEU was its metric."""
    metric = (kept and kept.metric) or config.train.metric
    if kept is not None and kept.score is not None and metric == "bleu":
        return kept.score
    outputs = translated(translator, dev.sources, report)
    return bleu(outputs, dev.references, config.train.bleu_tokenizer)


def test_bleu(
    translator: Translator, config: RunConfig, test: DevTexts | None, report: Report
) -> float | None:
    """Return BLEU on the test set; None without a test set."""
    if test is None:
        return None
    outputs = translated(translator, test.sources, report)
    return bleu(outputs, test.references, config.train.bleu_tokenizer)


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
        links = [found.links for found in align(translator, pairs, config=plain)]
    else:
        sizes = [(len(source.split()), len(target.split())) for source, target in pairs]
        links = [frozenset(diagonal(*size)) for size in sizes]
    scores = score_alignments("", links, gold)
    return 100 * scores.error_rate, "attention" if attends else "diagonal"

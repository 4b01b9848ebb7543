"""Scores of translations: BLEU, chrF and TER by sacreBLEU; exact match, error rate and ROUGE.

Every score has a signature (Post 2018). Confidence intervals and comparisons with the first system
are computed for sacreBLEU's scores, by paired bootstrap resampling (Koehn 2004). BLEU is also
computed by source length.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attncli.scoring.score import MetricScore, System
from attncli.scoring.sequences import (
    Tokenize,
    error_rate,
    exact_match,
    references_by_output,
    rouge_l,
    rouge_n,
)
from models.core.errors import ConfigurationError, InputError, ModelError, install_command

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric
    from sacrebleu.metrics.bleu import BLEU


RESAMPLES = 1000  # of the bootstrap, as in sacreBLEU
BLEU_ORDER = 4  # tokens of the longest sequences that BLEU counts
BATCH = 8  # sentences


class EvaluationSet(NamedTuple):
    """References, and sources if they are known."""

    sources: list[str]  # empty if unknown
    references: list[list[str]]  # a list of all sentences for each reference; None is missing


class Scoring(NamedTuple):
    """Settings of the scores."""

    tokenize: str = "13a"  # tokenizer of BLEU and error rate; one of Tokenizer
    lowercase: bool = False
    confidence: bool = False
    comet: Comet | None = None  # scores by its model, too


class Bucket(NamedTuple):
    """BLEU of the sentences in a range of source lengths, in words between spaces."""

    shortest: int
    longest: int
    sentences: int
    bleu: float
    ratio: float  # output length over reference length


def evaluate_systems(
    systems: Sequence[System],
    test_set: EvaluationSet,
    scoring: Scoring,
    step: int = 0,
) -> list[System]:
    """Return the systems with their scores.

    step: also add BLEU by source length, in ranges of so many words; 0: do not.
    """
    found = []
    for system, scores in zip(systems, score(systems, test_set, scoring), strict=True):
        buckets = score_by_length(system, test_set, scoring, step) if step else ()
        facts = {"by_length": [bucket._asdict() for bucket in buckets]} if buckets else {}
        found.append(system._replace(scores=scores, facts=facts))
    return found


def buckets_of(system: System) -> list[Bucket]:
    """Return the scores of a system by source length, if it has them."""
    return [Bucket(**bucket) for bucket in system.facts.get("by_length", ())]


def metrics(scoring: Scoring) -> list[Metric]:
    """Return BLEU, chrF and TER. Raises ModelError if the tokenizer is not installed."""
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    # TER ignores case, as in tercom and in sacreBLEU's own command
    return [_bleu(scoring), CHRF(lowercase=scoring.lowercase), TER()]


def score(
    systems: Sequence[System], test_set: EvaluationSet, scoring: Scoring
) -> list[tuple[MetricScore, ...]]:
    """Return the scores of each system, BLEU first."""
    if scoring.confidence:
        found = _resampled(systems, test_set, scoring)
    else:
        found = [_scored(system, test_set, scoring) for system in systems]
    sources, [references, *_] = test_set.sources, test_set.references
    rows = []
    for system, scores in zip(systems, found, strict=True):
        more = scoring.comet.scores(sources, system.hypotheses, references) if scoring.comet else ()
        rows.append((*scores, *_sequence_scores(system, test_set, scoring), *more))
    return rows


def sacrebleu_tokens(name: str) -> Tokenize:
    """Return a sacreBLEU tokenizer as a function. The error rate counts the same tokens as BLEU.

    Training and `attn evaluate` both use it, so that they report the same error rate.
    Raises ModelError if the tokenizer is not installed.
    """
    tokenizer = _bleu(Scoring(name)).tokenizer
    return lambda text: tokenizer(text).split()


def has_short_references(test_set: EvaluationSet, scoring: Scoring) -> bool:
    """Return True if most references have too few tokens for BLEU's sequences of 4."""
    tokenize = sacrebleu_tokens(scoring.tokenize)
    references = test_set.references[0]
    short = sum(len(tokenize(text)) < BLEU_ORDER for text in references)
    return 2 * short > len(references)


def score_by_length(
    system: System, test_set: EvaluationSet, scoring: Scoring, step: int
) -> tuple[Bucket, ...]:
    """Return BLEU by source length, as in Figure 2 of Bahdanau et al. 2015."""
    words = [len(source.split()) for source in test_set.sources]
    bleu = _bleu(scoring, effective_order=True)  # else, short sentences score 0
    buckets = []
    for span in spans(words, step):
        rows = [row for row, length in enumerate(words) if length in span]
        outputs = [system.hypotheses[row] for row in rows]
        references = [[texts[row] for row in rows] for texts in test_set.references]
        result = bleu._aggregate_and_compute(line_statistics(bleu, outputs, references))
        buckets.append(Bucket(span[0], span[-1], len(rows), result.score, result.ratio))
    return tuple(buckets)


def spans(words: Sequence[int], step: int) -> list[range]:
    """Return ranges of `step` lengths that cover every sentence; none is empty."""
    starts = range(1, max(2, *words) + 1, step)
    found = [range(start, start + step) for start in starts]
    found[0] = range(min(1, *words), step + 1)  # empty sources, too
    return [span for span in found if any(length in span for length in words)]


def _bleu(scoring: Scoring, effective_order: bool = False) -> BLEU:
    from sacrebleu.metrics.bleu import BLEU

    try:
        return BLEU(
            lowercase=scoring.lowercase,
            tokenize=scoring.tokenize,
            effective_order=effective_order,
            force=True,  # `attn evaluate` warns about tokenised text itself
        )
    except (ImportError, OSError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ModelError(f"tokenizer {scoring.tokenize} cannot be used: {reason}") from None


def line_statistics(
    metric: Metric, outputs: Sequence[str], references: Sequence[Sequence[str]]
) -> list[list[Any]]:
    """Return sacreBLEU's counts of each line, and store the number of references in the metric.

    `corpus_score` keeps all n-grams of all references: 50 KiB a line. Here, those of one line live
    at a time.
    """
    counts, rows = set[int](), []
    for output, *texts in zip(outputs, *references, strict=True):
        rows += metric._extract_corpus_statistics([output], [[text] for text in texts])
        counts.add(metric.num_refs)
    metric.num_refs = counts.pop() if len(counts) == 1 else -1
    return rows


def _scored(system: System, test_set: EvaluationSet, scoring: Scoring) -> tuple[MetricScore, ...]:
    scores = []
    for metric in metrics(scoring):
        counts = line_statistics(metric, system.hypotheses, test_set.references)
        result = metric._aggregate_and_compute(counts)
        scores.append(MetricScore(result.name, result.score, str(metric.get_signature())))
    return tuple(scores)


def _sequence_scores(
    system: System, test_set: EvaluationSet, scoring: Scoring
) -> tuple[MetricScore, ...]:
    """Return exact match, error rate, ROUGE-1, ROUGE-2 and ROUGE-L."""
    cased = str.lower if scoring.lowercase else str
    outputs = [cased(text) for text in system.hypotheses]
    rows = references_by_output(test_set.references)
    references = [[cased(text) for text in row] for row in rows]
    errors = error_rate(outputs, references, tokenize=sacrebleu_tokens(scoring.tokenize))
    counts = {len(row) for row in rows}
    number = counts.pop() if len(counts) == 1 else "var"  # as in the signatures of sacreBLEU
    sign = f"nrefs:{number}|case:{'lc' if scoring.lowercase else 'mixed'}"
    words = f"nrefs:{number}|case:lc|tok:words|beta:1"
    return (
        MetricScore("exact", exact_match(outputs, references), f"{sign}|tok:spaces"),
        MetricScore("error rate", errors, f"{sign}|tok:{scoring.tokenize}|edits/reference tokens"),
        MetricScore("ROUGE-1", rouge_n(outputs, references, 1), words),
        MetricScore("ROUGE-2", rouge_n(outputs, references, 2), words),
        MetricScore("ROUGE-L", rouge_l(outputs, references), words),
    )


def _resampled(
    systems: Sequence[System], test_set: EvaluationSet, scoring: Scoring
) -> list[tuple[MetricScore, ...]]:
    """Return scores with confidence intervals, and p-values of differences to the first system.

    sacreBLEU reports a significant difference of systems with equal counts, because no resample
    differs by more than 0. Here, equal scores have p = 1.
    """
    from sacrebleu.significance import PairedTest, Result

    named: Any = [(one.name, one.hypotheses) for one in systems]
    by_name = {type(metric).__name__: metric for metric in metrics(scoring)}
    signatures, found = PairedTest(named, by_name, test_set.references, "bs", RESAMPLES)()
    columns = []
    for name, signature in signatures.items():
        first, *others = (one for one in found[name] if isinstance(one, Result))
        values = [None, *(1.0 if one.score == first.score else one.p_value for one in others)]
        columns.append(
            [
                MetricScore(name, float(one.score), str(signature), float(one.ci or 0), value)
                for one, value in zip((first, *others), values, strict=True)
            ]
        )
    return list(zip(*columns, strict=True))


class Comet(NamedTuple):
    """A model of COMET."""

    name: str
    model: Any

    def scores(
        self, sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]
    ) -> tuple[MetricScore, ...]:
        """Return the mean score of the outputs, in percent. references: the first ones alone."""
        columns = zip(sources, outputs, references, strict=True)
        rows = [{"src": source, "mt": output, "ref": ref or ""} for source, output, ref in columns]
        found = self.model.predict(rows, batch_size=BATCH, gpus=0, progress_bar=False)
        return (MetricScore("COMET", 100 * found.system_score, f"model:{self.name}|nrefs:1"),)


def open_comet(name: str) -> Comet | None:
    """Return the model of a name of Unbabel's, or of a checkpoint; None for "".

    Raises ConfigurationError if the package is not installed, and InputError if the model cannot be
    read.
    """
    if not name:
        return None
    try:
        import comet
    except ImportError:
        raise ConfigurationError(
            "scores.comet without the package unbabel-comet",
            "an installed package",
            install_command("comet"),
        ) from None
    try:
        path = name if Path(name).is_file() else comet.download_model(name)
        return Comet(name, comet.load_from_checkpoint(path))
    except (OSError, KeyError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"no COMET model {name} ({reason})", "Unbabel/wmt22-comet-da") from None

"""Scores of translations: BLEU, chrF and TER by sacreBLEU; exact match, error rate and ROUGE.

Every score has a signature (Post 2018). Confidence intervals and comparisons with the first system
are computed for sacreBLEU's scores, by paired bootstrap resampling (Koehn 2004). BLEU is also
computed by source length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from attncli.scoring.caption_metrics import rouge_l, rouge_n
from attncli.scoring.score import MetricScore
from attncli.scoring.sequences import Tokenize, error_rate, exact_match, references_by_output
from models.base.errors import ModelError

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.significance import Result

BleuTokenizer = Literal[
    "none", "zh", "13a", "intl", "char", "ja-mecab", "ko-mecab", "spm", "flores101", "flores200"
]
RESAMPLES = 1000  # of the bootstrap
BLEU_ORDER = 4  # tokens of the longest sequences that BLEU counts


class EvaluationSet(NamedTuple):
    """References, and sources if they are known."""

    sources: list[str]  # empty if unknown
    references: list[list[str]]  # a list of all sentences for each reference; None is missing


class System(NamedTuple):
    """Outputs of one model or program."""

    name: str
    hypotheses: list[str]
    seconds: float | None = None  # to translate, for a model
    notes: tuple[str, ...] = ()  # messages about some lines
    read: str = ""  # read mode of a model


class Scoring(NamedTuple):
    """Settings of the scores."""

    tokenize: str = "13a"  # tokenizer of BLEU and error rate; one of Tokenizer
    lowercase: bool = False
    confidence: bool = False


class Bucket(NamedTuple):
    """BLEU of the sentences in a range of source lengths, in words between spaces."""

    shortest: int
    longest: int
    sentences: int
    bleu: float
    ratio: float  # output length over reference length


class Evaluation(NamedTuple):
    """A system and its scores."""

    system: System
    scores: tuple[MetricScore, ...]
    buckets: tuple[Bucket, ...] = ()


def evaluate_systems(
    systems: Sequence[System],
    test_set: EvaluationSet,
    scoring: Scoring,
    step: int = 0,
) -> list[Evaluation]:
    """Return the scores of each system.

    step: also return BLEU by source length, in ranges of so many words; 0: do not.
    """
    return [
        Evaluation(system, scores, score_by_length(system, test_set, scoring, step) if step else ())
        for system, scores in zip(systems, score(systems, test_set, scoring), strict=True)
    ]


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
    return [
        (*scores, *_sequence_scores(system, test_set, scoring))
        for system, scores in zip(systems, found, strict=True)
    ]


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
        result = bleu.corpus_score(
            [system.hypotheses[row] for row in rows],
            [[texts[row] for row in rows] for texts in test_set.references],
        )
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


def _scored(system: System, test_set: EvaluationSet, scoring: Scoring) -> tuple[MetricScore, ...]:
    scores = []
    for metric in metrics(scoring):
        result = metric.corpus_score(system.hypotheses, test_set.references)
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
    from sacrebleu.significance import PairedTest

    test = PairedTest(
        [(system.name, system.hypotheses) for system in systems],
        {type(metric).__name__: metric for metric in metrics(scoring)},
        test_set.references,
        test_type="bs",
        n_samples=RESAMPLES,
    )
    signatures, results = test()
    columns = [_compared(str(sign), results[name], name) for name, sign in signatures.items()]
    return list(zip(*columns, strict=True))


def _compared(signature: str, results: Sequence[Result | str], metric: str) -> list[MetricScore]:
    """Return the score of each system by one metric.

    For two systems with equal statistics, sacreBLEU reports a significant difference, because no
    resample differs by more than 0. Here, equal scores have p = 1.
    """
    found = [result for result in results if not isinstance(result, str)]
    scores = []
    for result in found:
        interval = None if result.ci is None else float(result.ci)
        p_value = result.p_value
        if p_value is not None and result.score == found[0].score:
            p_value = 1.0
        scores.append(MetricScore(metric, float(result.score), signature, interval, p_value))
    return scores

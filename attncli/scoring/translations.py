"""Measure translations: BLEU, chrF and TER by sacreBLEU, whole and by source length.

Every number comes from sacreBLEU and carries its signature (Post 2018). The confidence interval
and the comparison with the first system are by paired bootstrap resampling (Koehn 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from models.errors import ModelError

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.significance import Result

Tokenizer = Literal[
    "none", "zh", "13a", "intl", "char", "ja-mecab", "ko-mecab", "spm", "flores101", "flores200"
]
RESAMPLES = 1000  # of the bootstrap


class EvaluationSet(NamedTuple):
    """What systems are measured against."""

    sources: list[str]  # empty where only outputs and references are known
    references: list[list[str]]  # one list of all sentences for each reference


class System(NamedTuple):
    """Outputs, and who made them."""

    name: str
    hypotheses: list[str]
    seconds: float | None = None  # of translating, if that was done here
    notes: tuple[str, ...] = ()  # what the user should know about some lines
    read: str = ""  # how a model read its memory


class Scoring(NamedTuple):
    """How scores are computed."""

    tokenize: Tokenizer = "13a"  # for BLEU
    lowercase: bool = False
    confidence: bool = False


class Score(NamedTuple):
    """One number and how it came about."""

    metric: str
    value: float
    signature: str
    interval: float | None = None  # half the width of the 95 % confidence interval
    p_value: float | None = None  # that the difference from the first system is chance


class Bucket(NamedTuple):
    """The sentences with a source of some lengths, in words between spaces."""

    shortest: int
    longest: int
    sentences: int
    bleu: float
    ratio: float  # output length over reference length


class Lengths(NamedTuple):
    """How source lengths are put into buckets."""

    step: int = 5  # words per bucket
    quantiles: int = 0  # buckets of about equal count instead, so many


class Evaluation(NamedTuple):
    """A system and what was measured."""

    system: System
    scores: tuple[Score, ...]
    buckets: tuple[Bucket, ...] = ()


def evaluate_systems(
    systems: Sequence[System],
    test_set: EvaluationSet,
    scoring: Scoring,
    lengths: Lengths | None = None,
) -> list[Evaluation]:
    """The scores of each system, and those by source length if wanted."""
    return [
        Evaluation(
            system, scores, score_by_length(system, test_set, scoring, lengths) if lengths else ()
        )
        for system, scores in zip(systems, score(systems, test_set, scoring), strict=True)
    ]


def metrics(scoring: Scoring) -> list[Metric]:
    """BLEU, chrF and TER. A tokenizer that is not installed is a ModelError."""
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    # TER has no case unless asked for: as tercom, and as sacreBLEU's own command
    return [_bleu(scoring), CHRF(lowercase=scoring.lowercase), TER()]


def score(
    systems: Sequence[System], test_set: EvaluationSet, scoring: Scoring
) -> list[tuple[Score, ...]]:
    """The scores of each system."""
    if scoring.confidence:
        return _resampled(systems, test_set, scoring)
    return [_scored(system, test_set, scoring) for system in systems]


def score_by_length(
    system: System, test_set: EvaluationSet, scoring: Scoring, lengths: Lengths
) -> tuple[Bucket, ...]:
    """BLEU of each bucket of source lengths, as in Figure 2 of Bahdanau et al. 2015."""
    words = [len(source.split()) for source in test_set.sources]
    bleu = _bleu(scoring, effective_order=True)  # else 0 for sentences of fewer than four words
    buckets = []
    for span in spans(words, lengths):
        rows = [row for row, length in enumerate(words) if length in span]
        result = bleu.corpus_score(
            [system.hypotheses[row] for row in rows],
            [[texts[row] for row in rows] for texts in test_set.references],
        )
        buckets.append(Bucket(span[0], span[-1], len(rows), result.score, result.ratio))
    return tuple(buckets)


def spans(words: Sequence[int], lengths: Lengths) -> list[range]:
    """Ranges of lengths that hold every sentence; none of them is without any."""
    ordered = sorted(words)
    if lengths.quantiles:
        ranks = (len(words) * n // lengths.quantiles for n in range(1, lengths.quantiles + 1))
        ends = sorted({ordered[rank - 1] for rank in ranks if rank})
    else:
        ends = list(range(lengths.step, max(1, ordered[-1]) + lengths.step, lengths.step))
    starts = [min(1, ordered[0]) if not lengths.quantiles else ordered[0], *(e + 1 for e in ends)]
    found = (range(start, end + 1) for start, end in zip(starts, ends, strict=False))
    return [span for span in found if any(length in span for length in words)]


def looks_tokenised(system: System) -> bool:
    """Whether the outputs seem to be tokenised already: many end in a full stop of its own."""
    return sum(text.endswith(" .") for text in system.hypotheses) >= 100


def _bleu(scoring: Scoring, effective_order: bool = False) -> BLEU:
    from sacrebleu.metrics.bleu import BLEU

    try:
        return BLEU(
            lowercase=scoring.lowercase,
            tokenize=scoring.tokenize,
            effective_order=effective_order,
            force=True,  # the warning about tokenised text is ours
        )
    except (ImportError, OSError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ModelError(f"tokenizer {scoring.tokenize} cannot be used: {reason}") from None


def _scored(system: System, test_set: EvaluationSet, scoring: Scoring) -> tuple[Score, ...]:
    scores = []
    for metric in metrics(scoring):
        result = metric.corpus_score(system.hypotheses, test_set.references)
        scores.append(Score(result.name, result.score, str(metric.get_signature())))
    return tuple(scores)


def _resampled(
    systems: Sequence[System], test_set: EvaluationSet, scoring: Scoring
) -> list[tuple[Score, ...]]:
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


def _compared(signature: str, results: Sequence[Result | str], metric: str) -> list[Score]:
    """One metric's score of each system.

    sacreBLEU calls two systems with equal statistics significantly different, since no resample
    differs by more than nothing; here, equal scores have p = 1.
    """
    found = [result for result in results if not isinstance(result, str)]
    scores = []
    for result in found:
        interval = None if result.ci is None else float(result.ci)
        p_value = result.p_value
        if p_value is not None and result.score == found[0].score:
            p_value = 1.0
        scores.append(Score(metric, float(result.score), signature, interval, p_value))
    return scores

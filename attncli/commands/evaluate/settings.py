"""Settings of `attn evaluate` for its option -s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

from attncli.options.tables import HardAttention, TextBatches
from attncli.scoring.translations import BleuTokenizer
from models.base.settings import option
from models.config.tables import SearchConfig


@dataclass(frozen=True)
class ScoreSettings:
    """Computation of the scores."""

    tokenize: str = option(
        "13a",
        "tokens of BLEU and error rate: a tokenizer of sacreBLEU; none: words between spaces",
        choices=get_args(BleuTokenizer),
    )
    lowercase: bool = option(False, "ignore case")


@dataclass(frozen=True)
class LengthSettings:
    """Ranges of source lengths of --by-length and --plot."""

    step: int = option(5, "words of a range", least=1)
    source: str = option("", "file of the source, if there are --hypotheses alone")


@dataclass(frozen=True)
class RowSettings:
    """Table of rows that models of several inputs translate."""

    target: str = option("target", "models of several inputs: column of the references")


@dataclass(frozen=True)
class EvaluateTables:
    """Tables of `attn evaluate`. Defaults of the search are those saved with the model."""

    UNUSED: ClassVar = ("search.max_caption", "search.split_above", "search.nbest")

    search: SearchConfig = option(SearchConfig, "search; the model has its own defaults")
    scores: ScoreSettings = option(ScoreSettings, "scores")
    lengths: LengthSettings = option(LengthSettings, "--by-length and --plot")
    data: RowSettings = option(RowSettings, "rows of several inputs")
    attention: HardAttention = option(HardAttention, "attention")
    compute: TextBatches = option(TextBatches, "computation")

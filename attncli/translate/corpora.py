"""Corpora of a multilingual model: sentence pairs with their languages.

On the command line `--corpus en-de=train.tsv` (both directions) and `--corpus en-to-de=a.en,a.de`
(from English to German only), with a weight as `en-de:3=train.tsv`; in a TOML file one table each:

    [[data.corpora]]
    languages = "en-de"
    files = ["train.en", "train.de"]
    both = true
    weight = 3
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from attncli.terminal.messages import counted
from attncli.training.config import absolute_path
from models.core.errors import ModelError
from models.core.settings import option
from models.text.languages import parse_direction

ONE_WAY = "-to-"
FORM = "LANGUAGES[:WEIGHT]=FILE[,FILE], as in en-de=train.tsv or en-to-de:2=train.en,train.de"


@dataclass(frozen=True)
class CorpusConfig:
    """Sentence pairs of two languages."""

    languages: str = option("", "first and second language, such as en-de")
    files: tuple[str, ...] = option((), "two line-aligned files, or one TSV")
    both: bool = option(True, "both directions; false: only from the first language to the second")
    tagged: bool = option(
        False,
        "the first side is back-translated: in training it begins with the token <bt> (Caswell et "
        "al. 2019), and only the direction to the second language is trained",
    )
    weight: float = option(
        1.0,
        "factor on the corpus's share of an epoch, which always has as many pairs as all corpora",
        above=0,
    )

    @property
    def sides(self) -> tuple[str, str]:
        """The two languages; raise a ModelError for another form."""
        try:
            return parse_direction(self.languages)
        except ValueError:
            raise ModelError(
                f"languages '{self.languages}' of {' '.join(self.files) or 'a corpus'}",
                "two codes of letters and digits, such as en-de",
            ) from None

    @property
    def directions(self) -> tuple[tuple[str, str], ...]:
        """Source and target language of each direction that the corpus trains."""
        first, second = self.sides
        one_way = self.tagged or not self.both
        return ((first, second),) if one_way else ((first, second), (second, first))


def parse_corpus(text: str, *, tagged: bool = False) -> CorpusConfig:
    """Return the corpus that the command line names; raise a ModelError for another form."""
    names, equals, files = text.partition("=")
    languages, colon, number = names.partition(":")
    try:
        weight = float(number) if colon else 1.0
    except ValueError:
        weight = 0.0
    if not equals or not files or not 0 < weight < math.inf:
        raise ModelError(f"corpus '{text}'", FORM)
    paths = (files,) if Path(files).exists() else tuple(filter(None, files.split(",")))
    one_way = ONE_WAY in languages
    config = CorpusConfig(languages.replace(ONE_WAY, "-"), paths, not one_way, tagged, weight)
    config.sides  # noqa: B018  # raises for another form
    return config


def check_corpora(corpora: Iterable[CorpusConfig], *, name: str, most: int) -> None:
    """Raise a ModelError for a corpus without languages, of one language, or of too many files."""
    for corpus in corpora:
        first, second = corpus.sides
        if first == second:
            raise ModelError(f"languages '{corpus.languages}' in {name}", "two languages")
        if not 1 <= len(corpus.files) <= most:
            raise ModelError(
                f"{counted(len(corpus.files), 'file')} for {corpus.languages} in {name}",
                "one TSV, or source and target",
            )


def languages_of(corpora: Iterable[CorpusConfig]) -> tuple[str, ...]:
    """Return the languages of some corpora, sorted."""
    return tuple(sorted({language for corpus in corpora for language in corpus.sides}))


def with_absolute_paths(corpora: Iterable[CorpusConfig]) -> tuple[CorpusConfig, ...]:
    """Return the corpora with absolute paths, so that a run can be resumed from any folder."""
    return tuple(replace(one, files=tuple(map(absolute_path, one.files))) for one in corpora)

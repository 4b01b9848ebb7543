"""The language of each text of a chunk, or of a document: short texts are judged with the others.

A classifier gives p(l | text) for each language l. A short text says little, so its evidence is
raised to a power below 1. The share s(l) of each language in the chunk is then estimated together
with the languages of the texts, by expectation-maximisation:

    r(i, l) = s(l) p(l | i)^e(i) / sum over l         e(i) = min(1, letters of i / SURE)^(1/2)
    s(l) = (ALONE b(l) + sum over i of n(i) r(i, l)) / (ALONE + sum over i of n(i))

n(i) is the number of letters of text i, and b(l) what is expected of a text without others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from attncli.classify.runner import UNKNOWN, ClassifyOptions, ClassifyRunner
from attncli.faithful.pieces import MARKUP
from attncli.faithful.result import Line
from attncli.terminal.messages import counted
from models.core.errors import ConfigurationError
from models.text.normalise import is_untranslatable

if TYPE_CHECKING:
    from models.engines.classifier import Classifier

SURE = 40  # letters of a text that is long enough to be judged alone
ALONE = 30.0  # letters that the expectation counts for
USUAL, MORE = "en", 1.1  # a language that is expected more often than others, and how much
MAX_UNCLEAR_WORDS = 2  # so few words say too little about their language
ROUNDS = 12
MIN_PROBABILITY = 0.005  # of a language; a classifier is never so sure


def judged(texts: Sequence[str], found: Sequence[Mapping[str, float]]) -> list[dict[str, float]]:
    """Return the languages of each text with their shares r(i, l), the judged one first.

    found: the probabilities of a classifier.
    """
    sizes = [sum(map(str.isalpha, text)) for text in texts]
    languages = sorted({language for each in found for language in each})
    expected = {language: MORE if language == USUAL else 1.0 for language in languages}
    scale = sum(expected.values())
    base = {language: weight / scale for language, weight in expected.items()}
    powers = [min(1.0, size / SURE) ** 0.5 for size in sizes]
    evidence = [
        {language: max(each.get(language, 0.0), MIN_PROBABILITY) ** power for language in languages}
        for each, power in zip(found, powers, strict=True)
    ]
    share, shares = base, list[dict[str, float]]()
    for _ in range(ROUNDS):
        totals = {language: ALONE * base[language] for language in languages}
        shares = []
        for each, size in zip(evidence, sizes, strict=True):
            scores = {language: share[language] * each[language] for language in languages}
            whole = sum(scores.values())
            shares.append({language: score / whole for language, score in scores.items()})
            for language, part in shares[-1].items():
                totals[language] += size * part
        share = {language: total / sum(totals.values()) for language, total in totals.items()}
    return [_ranked(*each) for each in zip(shares, found, strict=True)]


def _ranked(shares: Mapping[str, float], found: Mapping[str, float]) -> dict[str, float]:
    """Return the shares of a text, the largest first, without languages that are impossible."""
    best = max(shares, key=shares.__getitem__)
    known = {one: share for one, share in shares.items() if one == best or found.get(one)}
    scale = sum(known.values()) if any(found.values()) else math.inf
    return {one: known[one] / scale for one in sorted(known, key=known.__getitem__, reverse=True)}


class LineLanguages:
    """Recognises the language of texts, and counts those in the target language."""

    def __init__(self, classifier: Classifier, to: str) -> None:
        """Raise ConfigurationError if the classifier cannot recognise the target language."""
        if to not in classifier.labels:
            found = f"--from auto with target language '{to}'" if to else "--from auto without --to"
            raise ConfigurationError(
                found,
                f"a target language that is recognised: {', '.join(classifier.labels)}",
                "leave out --from auto",
            )
        self.classifier, self.to = classifier, to
        self.copied = self.lines = 0
        self.guessed = False  # True if a text was copied that has too few words to be sure

    def __call__(self, chunk: Sequence[Line]) -> list[str]:
        """Return the language of each line of a chunk; "" if it has no letters of a language."""
        texts = [Line(n, MARKUP.sub(" ", line.text)) for n, line in enumerate(chunk)]
        lines = [
            text
            for line, text in zip(chunk, texts, strict=True)
            if not line.fault and not is_untranslatable(text.text)
        ]
        every = ClassifyOptions(nbest=len(self.classifier.labels))
        runner = ClassifyRunner(self.classifier, every)
        [outcomes] = runner.run([lines])
        found = {one.line.number: dict(one.labels) for one in outcomes}
        found = {n: shares for n, shares in found.items() if shares and UNKNOWN not in shares}
        ranked = judged([texts[n].text for n in found], [*found.values()])
        best = {n: next(iter(shares)) for n, shares in zip(found, ranked, strict=True)}
        languages = [best.get(n, "") for n in range(len(chunk))]
        # of so few words, a language is a guess; to copy them does no harm
        if sum(len(text.text.split()) for text in texts) <= MAX_UNCLEAR_WORDS:
            languages = [one if one == self.to else "" for one in languages]
            self.guessed = self.to in languages
        self.lines += len(chunk)
        self.copied += languages.count(self.to)
        return languages

    @property
    def summary(self) -> str:
        """Return how many lines were copied, as a message; "" if there were none."""
        if not self.copied:
            return ""
        told = f"{self.copied:,} of {counted(self.lines, 'line')} copied, already in {self.to}"
        return f"{told}? --from LANGUAGE tells what so few words cannot" if self.guessed else told

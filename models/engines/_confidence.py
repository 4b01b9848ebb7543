"""Confidence: the probability that an output keeps the sense of its source.

    p = sigmoid(bias + sum_i weight_i feature_i)

A logistic regression, whose numbers are fitted for the weights of a model and stored with them. Its
features are what the search has computed and what the lexicon knows of the words of both sides, so
no text is computed twice:

    log_prob   mean log-probability of a token, in nats; of an output that must contain terms of a
               glossary, that of the output without them
    length     natural logarithm of the number of tokens, end mark included
    lost       words of the source none of whose translations stands in the output
    added      words of the output none of whose translations stands in the source
    rarest     how often the training data have the rarest new word of the output, in binary digits;
               -1 for a word that the lexicon does not have
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from models.core.types import Confidence, Hypothesis
from models.core.use_config import ConfidenceConfig
from models.text.languages import Term
from models.text.lexicon import WORD, Lexicon, Stems, stems

FEATURES = ("log_prob", "length", "lost", "added", "rarest")
KNOWN = 11  # binary digits of a count from which a word is too common to be looked for
SHORTEST = 3  # letters of a word that is looked for
COMMON = 15  # `rarest` of an output without new words


class WordDifferences(NamedTuple):
    """The words of an output, compared with those of its source."""

    lost: tuple[str, ...]  # words of the source that no word of the output translates
    added: tuple[str, ...]  # words of the output that translate no word of the source
    unknown: tuple[str, ...]  # words of the output that the lexicon does not have
    rarest: int


def compared(
    source: str,
    output: str,
    direction: str,
    lexicon: Lexicon | None,
    terms: Sequence[Term] = (),
) -> WordDifferences:
    """Return the words that no entry of a direction, or of its reverse, and no term explains."""
    if lexicon is None:
        return WordDifferences((), (), (), COMMON)
    # both directions, because a rare word may have an entry in one of them only
    forward, back = direction, "-".join(reversed(direction.split("-")))
    words, found = (tuple(WORD.findall(text.lower())) for text in (source, output))
    named = Stems(words), Stems(found)
    given = WORD.findall(" ".join(term.source for term in terms).lower())
    known = {*words, *WORD.findall(" ".join(term.target for term in terms).lower())}
    explained, added = set[str](), list[str]()
    for word in found:
        candidates = _candidates(lexicon, back, word)
        fitting = [one for one in candidates if named[0].have(one)]
        explained.update(stem for one in fitting for stem in stems(one))
        if candidates and not fitting and word not in known:
            added.append(word)
    lost = [
        word
        for word in words
        if word not in given
        and (candidates := _candidates(lexicon, forward, word))
        and not any(map(named[1].have, candidates))
        and not any(map(word.startswith, explained))
    ]
    rarities = {word: lexicon.word(back, word).rarity for word in found if word not in known}
    unknown = [word for word, count in rarities.items() if count < 0 and len(word) >= SHORTEST]
    rarest = min(rarities.values(), default=COMMON)
    return WordDifferences(tuple(lost), tuple(added), tuple(unknown), rarest)


def features(output: Hypothesis, words: WordDifferences) -> tuple[float, ...]:
    """Return the numbers FEATURES of an output."""
    tokens = len(output.ids) + 1
    # a term of a glossary lowers the probability, and says nothing about the sense
    mean = output.log_prob / tokens if output.free is None else output.free
    return mean, math.log(tokens), len(words.lost), len(words.added), words.rarest


def confidence(
    config: ConfidenceConfig,
    source: str,
    output: Hypothesis,
    direction: str,
    lexicon: Lexicon | None,
    terms: Sequence[Term] = (),
) -> Confidence | None:
    """Return the confidence of an output; None for a direction without calibration.

    terms: of a glossary, that the output must contain.
    """
    if direction not in config.directions:
        return None
    words = compared(source, output.text, direction, lexicon, terms)
    weights = (getattr(config, name) for name in FEATURES)
    pairs = zip(weights, features(output, words), strict=True)
    logit = config.bias + sum(weight * value for weight, value in pairs)
    # math.exp raises OverflowError beyond 709
    value = 1 / (1 + math.exp(-max(-500.0, min(500.0, logit))))
    return Confidence(value, value < config.threshold, *words[:3])


def of_both(first: Confidence, second: Confidence, config: ConfidenceConfig) -> Confidence:
    """Return the confidence of an output through a third language, from those of its two steps.

    Its words are those that a reader sees: of the first source, and of the last output.
    """
    # both steps must keep the sense
    value = first.value * second.value
    return second._replace(value=value, is_doubtful=value < config.threshold, lost=first.lost)


def _candidates(lexicon: Lexicon, direction: str, word: str) -> Sequence[str]:
    """Return the translations of a word; none of a common or a short one."""
    known = lexicon.word(direction, word)
    return known.candidates if known.rarity < KNOWN and len(word) >= SHORTEST else ()

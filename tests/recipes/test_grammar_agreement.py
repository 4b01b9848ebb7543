"""Agreement in German."""

from __future__ import annotations

import pytest
from grammar import german
from grammar.lexicon import ADJECTIVES, NOUNS
from grammar.meaning import Phrase

AGREEMENT = {
    "the old king": "der alte König, den alten König, dem alten König",
    "the old queen": "die alte Königin, die alte Königin, der alten Königin",
    "the old child": "das alte Kind, das alte Kind, dem alten Kind",
    "the old kings": "die alten Könige, die alten Könige, den alten Königen",
    "a old king": "ein alter König, einen alten König, einem alten König",
    "a old queen": "eine alte Königin, eine alte Königin, einer alten Königin",
    "a old child": "ein altes Kind, ein altes Kind, einem alten Kind",
    "my old kings": "meine alten Könige, meine alten Könige, meinen alten Königen",
    "our old king": "unser alter König, unseren alten König, unserem alten König",
    "this old child": "dieses alte Kind, dieses alte Kind, diesem alten Kind",
    "these old queens": "diese alten Königinnen, diese alten Königinnen, diesen alten Königinnen",
    "bare cold coffee": "kalter Kaffee, kalten Kaffee, kaltem Kaffee",
    "bare cold milk": "kalte Milch, kalte Milch, kalter Milch",
    "bare cold water": "kaltes Wasser, kaltes Wasser, kaltem Wasser",
    "bare old kings": "alte Könige, alte Könige, alten Königen",
    "two old kings": "zwei alte Könige, zwei alte Könige, zwei alten Königen",
    "many old kings": "viele alte Könige, viele alte Könige, vielen alten Königen",
    "the old student": "der alte Student, den alten Studenten, dem alten Studenten",
    "a expensive car": "ein teures Auto, ein teures Auto, einem teuren Auto",
    "the new cars": "die neuen Autos, die neuen Autos, den neuen Autos",
}


@pytest.mark.parametrize("english", AGREEMENT)
def test_german_agreement_by_case(english: str) -> None:
    forms = [german.noun_phrase(countable(english), case, "object") for case in range(3)]
    assert ", ".join(" ".join(text for text, _ in words) for words in forms) == AGREEMENT[english]


def countable(english: str) -> Phrase:
    """Return a phrase from its English words: a determiner, adjectives, a noun."""
    determiner, *words, last = english.split()
    noun = next(one for one in NOUNS if last in one.english)
    adjectives = tuple(next(one for one in ADJECTIVES if one.english == word) for word in words)
    return Phrase(determiner, noun, last == noun.english[1], adjectives)

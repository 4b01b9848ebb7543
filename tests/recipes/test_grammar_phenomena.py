"""Each phenomenon of the grammar, in both languages, with its links."""

from __future__ import annotations

import pytest
from grammar import rows

# English and German; links as "source-target"
EXAMPLES = {
    "do-support in a question; a habit; a separated prefix": (
        "Does a sister leave every day?",
        "Fährt eine Schwester jeden Tag ab?",
        "0-0 0-5 1-1 2-2 3-0 3-5 4-3 5-4",
    ),
    "a fronted time inverts German, a perfect frames it": (
        "Yesterday the woman closed the small green door in our garden.",
        "Gestern hat die Frau die kleine grüne Tür in unserem Garten zugemacht.",
        "0-0 1-2 2-3 3-1 3-11 4-4 5-5 6-6 7-7 8-8 9-9 10-10",
    ),
    "two words of a time": (
        "Last week two famous teachers called my brother.",
        "Letzte Woche haben zwei berühmte Lehrer meinen Bruder angerufen.",
        "0-0 1-1 2-3 3-4 4-5 5-2 5-8 6-6 7-7",
    ),
    "verb last in a subordinate clause": (
        "We hope that she is inviting this girl with the mothers.",
        "Wir hoffen, dass sie dieses Mädchen mit den Müttern einlädt.",
        "0-0 1-1 2-2 3-3 4-9 5-9 6-4 7-5 8-6 9-7 10-8",
    ),
    "kein": (
        "The boy is not writing a letter.",
        "Der Junge schreibt keinen Brief.",
        "0-0 1-1 2-2 3-3 4-2 5-3 6-4",
    ),
    "never, strong endings": (
        "This sister never drinks good fresh water.",
        "Diese Schwester trinkt nie gutes frisches Wasser.",
        "0-0 1-1 2-3 3-2 4-4 5-5 6-6",
    ),
    "no article": (
        "Paul is eating good cheese.",
        "Paul isst guten Käse.",
        "0-0 1-1 2-1 3-2 4-3",
    ),
    "a German dative": (
        "We say that Peter thanked her in the red house.",
        "Wir sagen, dass Peter ihr im roten Haus gedankt hat.",
        "0-0 1-1 2-2 3-3 4-8 4-9 5-4 6-5 7-5 8-6 9-7",
    ),
    "a recipient, a future; a pronoun that agrees with its noun": (
        "This neighbour will give the cup to the small tired man because it is expensive.",
        "Dieser Nachbar wird dem kleinen müden Mann die Tasse geben, weil sie teuer ist.",
        "0-0 1-1 2-2 3-9 4-7 5-8 6-3 7-3 8-4 9-5 10-6 11-10 12-11 13-13 14-12",
    ),
    "a perfect with to be; a particle": (
        "Anna came back with our strong friends.",
        "Anna ist mit unseren starken Freunden zurückgekommen.",
        "0-0 1-1 1-6 2-6 3-2 4-3 5-4 6-5",
    ),
    "a modal with do-support, nicht before the place": (
        "He does not want to work at the beautiful station.",
        "Er will nicht am schönen Bahnhof arbeiten.",
        "0-0 1-1 2-2 3-1 4-6 5-6 6-3 7-3 8-4 9-5",
    ),
    "cannot, kein": (
        "We cannot look for a picture at my station.",
        "Wir können kein Bild an meinem Bahnhof suchen.",
        "0-0 1-1 1-2 2-7 3-7 4-2 5-3 6-4 7-5 8-6",
    ),
    "a verb with a preposition": (
        "The queen will not wait for us next week.",
        "Die Königin wird nächste Woche nicht auf uns warten.",
        "0-0 1-1 2-2 3-5 4-8 5-6 6-7 7-3 8-4",
    ),
    "a goal, contraction": (
        "Today the small sisters are going to the school.",
        "Heute gehen die kleinen Schwestern zur Schule.",
        "0-0 1-2 2-3 3-4 4-1 5-1 6-5 7-5 8-6",
    ),
    "a description, in a report": (
        "Peter hopes that the hotel is not beautiful.",
        "Peter hofft, dass das Hotel nicht schön ist.",
        "0-0 1-1 2-2 3-3 4-4 5-7 6-5 7-6",
    ),
    "an adverb of frequency in two places": (
        "Many strong sisters must often bring the knife.",
        "Viele starke Schwestern müssen das Messer oft mitbringen.",
        "0-0 1-1 2-2 3-3 4-6 5-7 6-4 7-5",
    ),
    "did, an object pronoun": (
        "Did Julia thank us next to the modern school?",
        "Hat Julia uns neben der modernen Schule gedankt?",
        "0-0 0-7 1-1 2-0 2-7 3-2 4-3 5-3 6-4 7-5 8-6",
    ),
}


@pytest.fixture(scope="module")
def pairs() -> dict[str, tuple[str, str]]:
    """Return generated translations and links by their English text."""
    return {source: (target, links) for _, source, target, links in rows(20_000, seed=3)}


@pytest.mark.slow
@pytest.mark.parametrize("phenomenon", EXAMPLES)
def test_a_meaning_has_one_sentence_in_each_language_with_links(
    phenomenon: str, pairs: dict[str, tuple[str, str]]
) -> None:
    english, german, links = EXAMPLES[phenomenon]
    assert pairs[english] == (german, links)

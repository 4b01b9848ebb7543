"""Each phenomenon of the grammar, in three languages, with its links."""

from __future__ import annotations

import pytest

from attncli.embedded.grammar import Pair, generate

# English, German and French; links English-German and English-French, as "source-target"
EXAMPLES = {
    "do-support in a question; a habit; a separated prefix": (
        "Does a sister leave every day?",
        "Fährt eine Schwester jeden Tag ab?",
        "Est-ce qu'une sœur part chaque jour ?",
        "0-0 0-5 1-1 2-2 3-0 3-5 4-3 5-4",
        "0-3 1-1 2-2 3-3 4-4 5-5",
    ),
    "a fronted time inverts German, a perfect frames it; a French adjective on each side": (
        "Yesterday the woman closed the small green door in our garden.",
        "Gestern hat die Frau die kleine grüne Tür in unserem Garten zugemacht.",
        "Hier, la femme a fermé la petite porte verte dans notre jardin.",
        "0-0 1-2 2-3 3-1 3-11 4-4 5-5 6-6 7-7 8-8 9-9 10-10",
        "0-0 1-1 2-2 3-3 3-4 4-5 5-6 6-8 7-7 8-9 9-10 10-11",
    ),
    "two words of a time": (
        "Last week two famous teachers called my brother.",
        "Letzte Woche haben zwei berühmte Lehrer meinen Bruder angerufen.",
        "La semaine dernière, deux professeurs célèbres ont appelé mon frère.",
        "0-0 1-1 2-3 3-4 4-5 5-2 5-8 6-6 7-7",
        "0-2 1-0 1-1 2-3 3-5 4-4 5-6 5-7 6-8 7-9",
    ),
    "verb last in a subordinate clause, elided que": (
        "We hope that she is inviting this girl with the mothers.",
        "Wir hoffen, dass sie dieses Mädchen mit den Müttern einlädt.",
        "Nous espérons qu'elle invite cette fille avec les mères.",
        "0-0 1-1 2-2 3-3 4-9 5-9 6-4 7-5 8-6 9-7 10-8",
        "0-0 1-1 2-2 3-2 4-3 5-3 6-4 7-5 8-6 9-7 10-8",
    ),
    "kein and pas de": (
        "The boy is not writing a letter.",
        "Der Junge schreibt keinen Brief.",
        "Le garçon n'écrit pas de lettre.",
        "0-0 1-1 2-2 3-3 4-2 5-3 6-4",
        "0-0 1-1 2-2 3-2 3-3 4-2 5-4 6-5",
    ),
    "never, strong endings": (
        "This sister never drinks good fresh water.",
        "Diese Schwester trinkt nie gutes frisches Wasser.",
        "Cette sœur ne boit jamais de bonne eau fraîche.",
        "0-0 1-1 2-3 3-2 4-4 5-5 6-6",
        "0-0 1-1 2-2 2-4 3-3 4-6 5-8 6-5 6-7",
    ),
    "a partitive article": (
        "Paul is eating good cheese.",
        "Paul isst guten Käse.",
        "Paul mange du bon fromage.",
        "0-0 1-1 2-1 3-2 4-3",
        "0-0 1-1 2-1 3-3 4-2 4-4",
    ),
    "a clitic before the verb, with which the participle agrees; a German dative": (
        "We say that Peter thanked her in the red house.",
        "Wir sagen, dass Peter ihr im roten Haus gedankt hat.",
        "Nous disons que Peter l'a remerciée dans la maison rouge.",
        "0-0 1-1 2-2 3-3 4-8 4-9 5-4 6-5 7-5 8-6 9-7",
        "0-0 1-1 2-2 3-3 4-4 4-5 5-4 6-6 7-7 8-9 9-8",
    ),
    "a recipient, a future, contraction; a pronoun that agrees with its noun": (
        "This neighbour will give the cup to the small tired man because it is expensive.",
        "Dieser Nachbar wird dem kleinen müden Mann die Tasse geben, weil sie teuer ist.",
        "Ce voisin donnera la tasse au petit homme fatigué parce qu'elle est chère.",
        "0-0 1-1 2-2 3-9 4-7 5-8 6-3 7-3 8-4 9-5 10-6 11-10 12-11 13-13 14-12",
        "0-0 1-1 2-2 3-2 4-3 5-4 6-5 7-5 8-6 9-8 10-7 11-9 11-10 12-10 13-11 14-12",
    ),
    "a perfect with to be, which agrees with the subject; a particle": (
        "Anna came back with our strong friends.",
        "Anna ist mit unseren starken Freunden zurückgekommen.",
        "Anna est revenue avec nos amis forts.",
        "0-0 1-1 1-6 2-6 3-2 4-3 5-4 6-5",
        "0-0 1-1 1-2 2-2 3-3 4-4 5-6 6-5",
    ),
    "a modal with do-support, nicht before the place": (
        "He does not want to work at the beautiful station.",
        "Er will nicht am schönen Bahnhof arbeiten.",
        "Il ne veut pas travailler à la belle gare.",
        "0-0 1-1 2-2 3-1 4-6 5-6 6-3 7-3 8-4 9-5",
        "0-0 1-2 2-1 2-3 3-2 4-4 5-4 6-5 7-6 8-7 9-8",
    ),
    "cannot, kein": (
        "We cannot look for a picture at my station.",
        "Wir können kein Bild an meinem Bahnhof suchen.",
        "Nous ne pouvons pas chercher d'image à ma gare.",
        "0-0 1-1 1-2 2-7 3-7 4-2 5-3 6-4 7-5 8-6",
        "0-0 1-1 1-2 1-3 2-4 3-4 4-5 5-5 6-6 7-7 8-8",
    ),
    "a verb with a preposition": (
        "The queen will not wait for us next week.",
        "Die Königin wird nächste Woche nicht auf uns warten.",
        "La reine ne nous attendra pas la semaine prochaine.",
        "0-0 1-1 2-2 3-5 4-8 5-6 6-7 7-3 8-4",
        "0-0 1-1 2-4 3-2 3-5 4-4 5-4 6-3 7-8 8-6 8-7",
    ),
    "a goal, elision": (
        "Today the small sisters are going to the school.",
        "Heute gehen die kleinen Schwestern zur Schule.",
        "Aujourd'hui, les petites sœurs vont à l'école.",
        "0-0 1-2 2-3 3-4 4-1 5-1 6-5 7-5 8-6",
        "0-0 1-1 2-2 3-3 4-4 5-4 6-5 7-6 8-6",
    ),
    "a description, in a report": (
        "Peter hopes that the hotel is not beautiful.",
        "Peter hofft, dass das Hotel nicht schön ist.",
        "Peter espère que l'hôtel n'est pas beau.",
        "0-0 1-1 2-2 3-3 4-4 5-7 6-5 7-6",
        "0-0 1-1 2-2 3-3 4-3 5-4 6-4 6-5 7-6",
    ),
    "an adverb of frequency in three places; beaucoup": (
        "Many strong sisters must often bring the knife.",
        "Viele starke Schwestern müssen das Messer oft mitbringen.",
        "Beaucoup de sœurs fortes doivent souvent apporter le couteau.",
        "0-0 1-1 2-2 3-3 4-6 5-7 6-4 7-5",
        "0-0 0-1 1-3 2-2 3-4 4-5 5-6 6-7 7-8",
    ),
    "did, an object pronoun in each place": (
        "Did Julia thank us next to the modern school?",
        "Hat Julia uns neben der modernen Schule gedankt?",
        "Est-ce que Julia nous a remerciés à côté de l'école moderne ?",
        "0-0 0-7 1-1 2-0 2-7 3-2 4-3 5-3 6-4 7-5 8-6",
        "0-4 0-5 1-2 2-4 2-5 3-3 4-6 4-7 4-8 5-6 5-7 5-8 6-9 7-10 8-9",
    ),
}


@pytest.fixture(scope="module")
def pairs() -> dict[str, tuple[Pair, Pair, Pair]]:
    """Return generated pairs English-German, English-French and German-French by English text."""
    directions = (("en", "de"), ("en", "fr"), ("de", "fr"))
    found = [generate(20_000, source=a, target=b, seed=3) for a, b in directions]
    return {pairs[0].source: pairs for pairs in zip(*found, strict=True)}


@pytest.mark.parametrize("phenomenon", EXAMPLES)
def test_a_meaning_has_one_sentence_in_each_language_with_links(
    phenomenon: str, pairs: dict[str, tuple[Pair, Pair, Pair]]
) -> None:
    english, german, french, to_german, to_french = EXAMPLES[phenomenon]
    with_german, with_french, _ = pairs[english]
    assert (with_german.target, pharaoh(with_german)) == (german, to_german)
    assert (with_french.target, pharaoh(with_french)) == (french, to_french)


def test_german_and_french_auxiliaries_are_linked(
    pairs: dict[str, tuple[Pair, Pair, Pair]],
) -> None:
    *_, pair = pairs["Last week two famous teachers called my brother."]
    assert pair.source == "Letzte Woche haben zwei berühmte Lehrer meinen Bruder angerufen."
    assert pair.target == "La semaine dernière, deux professeurs célèbres ont appelé mon frère."
    assert pharaoh(pair) == "0-2 1-0 1-1 2-6 3-3 4-5 5-4 6-8 7-9 8-7"


def pharaoh(pair: Pair) -> str:
    return " ".join(f"{i}-{j}" for i, j in pair.links)

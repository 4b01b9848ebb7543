"""Each phenomenon of the grammar, in three languages, with its links."""

from __future__ import annotations

import pytest

from attncli.embedded.grammar import LANGUAGES, say
from attncli.embedded.grammar.lexicon import (
    CAN,
    FREQUENCIES,
    HER,
    HIM,
    ME,
    REPORTS,
    US,
    WANT,
    Pronoun,
)
from attncli.embedded.grammar.meaning import Clause, ReportingClause, Sentence
from attncli.embedded.grammar.words import linked
from tests.attncli.embedded.grammar.meanings import adjective, adjunct, name, phrase, time, verb

IT = Pronoun(("it", "it"), ("sie", "", ""), ("elle", "", ""), HIM.person, True)


# a meaning; English, German and French; links English-German and English-French, as "source-target"
EXAMPLES = {
    "do-support in a question, adjectives on both sides": (
        Sentence(
            Clause(phrase("the old woman"), verb("see"), object=phrase("the red car")),
            question=True,
        ),
        "Does the old woman see the red car?",
        "Sieht die alte Frau das rote Auto?",
        "Est-ce que la vieille femme voit la voiture rouge ?",
        "0-0 1-1 2-2 3-3 4-0 5-4 6-5 7-6",
        "0-5 1-2 2-3 3-4 4-5 5-6 6-8 7-7",
    ),
    "a fronted time inverts German, a perfect frames it": (
        Sentence(
            Clause(
                phrase("the boy"),
                verb("call"),
                tense="past",
                object=phrase("the doctor"),
                time=time("yesterday"),
                fronted=True,
            )
        ),
        "Yesterday the boy called the doctor.",
        "Gestern hat der Junge den Arzt angerufen.",
        "Hier, le garçon a appelé le médecin.",
        "0-0 1-2 2-3 3-1 3-6 4-4 5-5",
        "0-0 1-1 2-2 3-3 3-4 4-5 5-6",
    ),
    "verb last in a subordinate clause, elided que": (
        Sentence(
            Clause(name("Anna"), verb("call"), object=phrase("the teacher")),
            report=ReportingClause(ME, REPORTS[0]),
        ),
        "I think that Anna is calling the teacher.",
        "Ich denke, dass Anna den Lehrer anruft.",
        "Je pense qu'Anna appelle le professeur.",
        "0-0 1-1 2-2 3-3 4-6 5-6 6-4 7-5",
        "0-0 1-1 2-2 3-2 4-3 5-3 6-4 7-5",
    ),
    "a separated prefix": (
        Sentence(Clause(phrase("the girl"), verb("close"), object=phrase("a window"))),
        "The girl is closing a window.",
        "Das Mädchen macht ein Fenster zu.",
        "La fille ferme une fenêtre.",
        "0-0 1-1 2-2 2-5 3-2 3-5 4-3 5-4",
        "0-0 1-1 2-2 3-2 4-3 5-4",
    ),
    "kein and pas de": (
        Sentence(Clause(HER, verb("buy"), polarity="not", object=phrase("a apple"))),
        "She is not buying an apple.",
        "Sie kauft keinen Apfel.",
        "Elle n'achète pas de pomme.",
        "0-0 1-1 2-2 3-1 4-2 5-3",
        "0-0 1-1 2-1 2-2 3-1 4-3 5-4",
    ),
    "never, strong endings, elided de": (
        Sentence(
            Clause(
                phrase("the cat"),
                verb("drink"),
                polarity="never",
                object=phrase("bare cold water"),
            )
        ),
        "The cat never drinks cold water.",
        "Die Katze trinkt nie kaltes Wasser.",
        "Le chat ne boit jamais d'eau froide.",
        "0-0 1-1 2-3 3-2 4-4 5-5",
        "0-0 1-1 2-2 2-4 3-3 4-6 5-5",
    ),
    "a partitive article": (
        Sentence(Clause(ME, verb("eat"), object=phrase("bare fresh bread"))),
        "I am eating fresh bread.",
        "Ich esse frisches Brot.",
        "Je mange du pain frais.",
        "0-0 1-1 2-1 3-2 4-3",
        "0-0 1-1 2-1 3-4 4-2 4-3",
    ),
    "a clitic before the verb, with which the participle agrees; a German dative": (
        Sentence(
            Clause(
                phrase("the man", plural=True),
                verb("thank"),
                tense="past",
                object=HER,
                time=time("yesterday"),
            )
        ),
        "The men thanked her yesterday.",
        "Die Männer haben ihr gestern gedankt.",
        "Les hommes l'ont remerciée hier.",
        "0-0 1-1 2-2 2-5 3-3 4-4",
        "0-0 1-1 2-2 2-3 3-2 4-4",
    ),
    "a recipient, a future, contraction": (
        Sentence(
            Clause(
                phrase("the queen"),
                verb("give"),
                tense="future",
                object=phrase("two flower", plural=True),
                recipient=phrase("the small boy"),
            )
        ),
        "The queen will give two flowers to the small boy.",
        "Die Königin wird dem kleinen Jungen zwei Blumen geben.",
        "La reine donnera deux fleurs au petit garçon.",
        "0-0 1-1 2-2 3-8 4-6 5-7 6-3 7-3 8-4 9-5",
        "0-0 1-1 2-2 3-2 4-3 5-4 6-5 7-5 8-6 9-7",
    ),
    "a perfect with to be, which agrees with the subject; a particle": (
        Sentence(
            Clause(
                phrase("my sister", plural=True),
                verb("come"),
                tense="past",
                time=time("on Monday"),
            )
        ),
        "My sisters came back on Monday.",
        "Meine Schwestern sind am Montag zurückgekommen.",
        "Mes sœurs sont revenues lundi.",
        "0-0 1-1 2-2 2-5 3-5 4-3 5-4",
        "0-0 1-1 2-2 2-3 3-3 4-4 5-4",
    ),
    "a modal with do-support, nicht before the place": (
        Sentence(
            Clause(
                HIM,
                verb("work"),
                tense="modal",
                modal=WANT,
                polarity="not",
                adjunct=adjunct("next to", "the museum"),
            )
        ),
        "He does not want to work next to the museum.",
        "Er will nicht neben dem Museum arbeiten.",
        "Il ne veut pas travailler à côté du musée.",
        "0-0 1-1 2-2 3-1 4-6 5-6 6-3 7-3 8-4 9-5",
        "0-0 1-2 2-1 2-3 3-2 4-4 5-4 6-5 6-6 6-7 7-5 7-6 7-7 8-7 9-8",
    ),
    "a pronoun that agrees with its noun": (
        Sentence(
            Clause(name("Paul"), verb("repair"), object=phrase("the lamp")),
            reason=Clause(IT, predicate=adjective("broken")),
        ),
        "Paul is repairing the lamp because it is broken.",
        "Paul repariert die Lampe, weil sie kaputt ist.",
        "Paul répare la lampe parce qu'elle est cassée.",
        "0-0 1-1 2-1 3-2 4-3 5-4 6-5 7-7 8-6",
        "0-0 1-1 2-1 3-2 4-3 5-4 5-5 6-5 7-6 8-7",
    ),
    "a habit, a goal, elision": (
        Sentence(
            Clause(
                phrase("the child"),
                verb("go"),
                adjunct=adjunct("to", "the school"),
                time=time("every day"),
            ),
            question=True,
        ),
        "Does the child go to the school every day?",
        "Geht das Kind jeden Tag zur Schule?",
        "Est-ce que l'enfant va à l'école chaque jour ?",
        "0-0 1-1 2-2 3-0 4-5 5-5 6-6 7-3 8-4",
        "0-3 1-2 2-2 3-3 4-4 5-5 6-5 7-6 8-7",
    ),
    "a description, an adjective before a vowel": (
        Sentence(
            Clause(
                phrase("this old hotel"),
                predicate=adjective("beautiful"),
                tense="past",
                polarity="not",
            )
        ),
        "This old hotel was not beautiful.",
        "Dieses alte Hotel war nicht schön.",
        "Ce vieil hôtel n'était pas beau.",
        "0-0 1-1 2-2 3-3 4-4 5-5",
        "0-0 1-1 2-2 3-3 4-3 4-4 5-5",
    ),
    "cannot, a verb with a preposition, a weak noun": (
        Sentence(
            Clause(
                US,
                verb("wait"),
                tense="modal",
                modal=CAN,
                polarity="not",
                object=phrase("the student"),
            )
        ),
        "We cannot wait for the student.",
        "Wir können nicht auf den Studenten warten.",
        "Nous ne pouvons pas attendre l'étudiant.",
        "0-0 1-1 1-2 2-6 3-3 4-4 5-5",
        "0-0 1-1 1-2 1-3 2-4 3-4 4-5 5-5",
    ),
    "an adverb of frequency in three places": (
        Sentence(
            Clause(
                phrase("many young woman", plural=True),
                verb("visit"),
                object=phrase("our beautiful modern museum"),
                frequency=FREQUENCIES[0],
            )
        ),
        "Many young women often visit our beautiful modern museum.",
        "Viele junge Frauen besuchen unser schönes modernes Museum oft.",
        "Beaucoup de jeunes femmes visitent souvent notre beau musée moderne.",
        "0-0 1-1 2-2 3-8 4-3 5-4 6-5 7-6 8-7",
        "0-0 0-1 1-2 2-3 3-5 4-4 5-6 6-7 7-9 8-8",
    ),
    "did, an object pronoun in each place": (
        Sentence(
            Clause(name("Maria"), verb("listen"), tense="past", object=US, time=time("today")),
            question=True,
        ),
        "Did Maria listen to us today?",
        "Hat Maria uns heute zugehört?",
        "Est-ce que Maria nous a écoutés aujourd'hui ?",
        "0-0 0-4 1-1 2-0 2-4 3-4 4-2 5-3",
        "0-4 0-5 1-2 2-4 2-5 3-5 4-3 5-6",
    ),
}


@pytest.mark.parametrize("phenomenon", EXAMPLES)
def test_a_meaning_is_said_in_three_languages_with_its_links(phenomenon: str) -> None:
    meaning, english_text, german_text, french_text, to_german, to_french = EXAMPLES[phenomenon]
    said = {language: say(meaning, language) for language in LANGUAGES}
    assert " ".join(said["en"].words) == english_text
    assert " ".join(said["de"].words) == german_text
    assert " ".join(said["fr"].words) == french_text
    assert pharaoh(linked(said["en"].concepts, said["de"].concepts)) == to_german
    assert pharaoh(linked(said["en"].concepts, said["fr"].concepts)) == to_french


def test_german_and_french_auxiliaries_are_linked_to_each_other() -> None:
    meaning = EXAMPLES["a fronted time inverts German, a perfect frames it"][0]
    # Gestern hat der Junge den Arzt angerufen. | Hier, le garçon a appelé le médecin.
    links = linked(say(meaning, "de").concepts, say(meaning, "fr").concepts)
    assert pharaoh(links) == "0-0 1-3 2-1 3-2 4-5 5-6 6-4"


def pharaoh(links: tuple[tuple[int, int], ...]) -> str:
    return " ".join(f"{i}-{j}" for i, j in links)

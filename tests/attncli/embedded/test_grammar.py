"""The demonstration grammar: what it says, that it is a function, and the links it knows."""

from __future__ import annotations

import random
from itertools import islice, pairwise, permutations

import pytest

from attncli.embedded.grammar import LANGUAGES, Pair, french, generate, german, say, split
from attncli.embedded.grammar.draw import draw
from attncli.embedded.grammar.lexicon import (
    ADJECTIVES,
    CAN,
    FREQUENCIES,
    HER,
    HIM,
    ME,
    NAMES,
    NOUNS,
    PREPOSITIONS,
    REPORTS,
    TIMES,
    US,
    VERBS,
    WANT,
    Adjective,
    Name,
    Noun,
    Pronoun,
    Time,
    Verb,
)
from attncli.embedded.grammar.meaning import Adjunct, Clause, Phrase, ReportingClause, Sentence
from attncli.embedded.grammar.words import linked
from models.errors import ModelError

DIRECTIONS = list(permutations(LANGUAGES, 2))


def noun(english: str) -> Noun:
    return next(one for one in NOUNS if one.english[0] == english)


def adjective(english: str) -> Adjective:
    return next(one for one in ADJECTIVES if one.english == english)


def verb(base: str) -> Verb:
    return next(one for one in VERBS if one.base == base)


def time(english: str) -> Time:
    return next(one for one in TIMES if " ".join(word for word, _ in one.english) == english)


def name(text: str) -> Name:
    return next(one for one in NAMES if one.text == text)


def phrase(text: str, *, plural: bool = False) -> Phrase:
    """Return a phrase such as `the old man`, the noun in the singular."""
    determiner, *adjectives, last = text.split()
    return Phrase(determiner, noun(last), plural, tuple(adjective(one) for one in adjectives))


def adjunct(preposition: str, text: str) -> Adjunct:
    return Adjunct(PREPOSITIONS[preposition], phrase(text))


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


def test_tokenised_text_is_lower_case_with_linked_final_punctuation() -> None:
    meaning = EXAMPLES["a habit, a goal, elision"][0]
    said = {language: say(meaning, language, tokenised=True) for language in LANGUAGES}
    assert " ".join(said["de"].words) == "geht das kind jeden tag zur schule ?"
    assert " ".join(said["fr"].words) == "est-ce que l'enfant va à l'école chaque jour ?"
    assert (7, 8) in linked(said["de"].concepts, said["fr"].concepts)
    fronted = EXAMPLES["a fronted time inverts German, a perfect frames it"][0]
    words = say(fronted, "fr", tokenised=True).words
    assert " ".join(words) == "hier , le garçon a appelé le médecin ."


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
    forms = [german.noun_phrase(countable(english), case, 0) for case in range(3)]
    assert ", ".join(" ".join(text for text, _ in words) for words in forms) == AGREEMENT[english]


def test_kein_takes_the_endings_of_ein() -> None:
    words = german.noun_phrase(countable("bare red apples"), german.ACCUSATIVE, 0, denied=True)
    assert [text for text, _ in words] == ["keine", "roten", "Äpfel"]
    words = german.noun_phrase(countable("a red apple"), german.ACCUSATIVE, 0, denied=True)
    assert [text for text, _ in words] == ["keinen", "roten", "Apfel"]


@pytest.mark.parametrize(
    ("english", "expected"),
    [
        ("the beautiful castle", "le beau château"),
        ("the beautiful friend", "le bel ami"),
        ("the beautiful flower", "la belle fleur"),
        ("the beautiful horses", "les beaux chevaux"),
        ("bare beautiful flowers", "de belles fleurs"),
        ("bare red flowers", "des fleurs rouges"),
        ("this old bird", "ce vieil oiseau"),
        ("this student", "cet étudiant"),
        ("this church", "cette église"),
        ("my church", "mon église"),
        ("my new church", "ma nouvelle église"),
        ("our small brothers", "nos petits frères"),
        ("a new hotel", "un nouvel hôtel"),
        ("a happy mother", "une mère heureuse"),
        ("the happy mothers", "les mères heureuses"),
        ("the fresh eggs", "les œufs frais"),
        ("three white cows", "trois vaches blanches"),
        ("the big modern house", "la grande maison moderne"),
    ],
)
def test_french_agreement(english: str, expected: str) -> None:
    assert " ".join(text for text, _ in french.noun_phrase(countable(english), 0)) == expected


def test_lexicon_has_one_word_for_each_concept() -> None:
    for words in (
        [one.english for one in NOUNS],
        [one.german[0][0] for one in NOUNS],
        [one.french[0] for one in NOUNS],
        [one.english for one in ADJECTIVES],
        [one.german for one in ADJECTIVES],
        [one.french[0] for one in ADJECTIVES],
        [one.base for one in VERBS],
        [one.prefix + one.infinitive for one in VERBS],
        [one.french.infinitive for one in VERBS],
    ):
        assert len(set(words)) == len(words)


def test_every_verb_has_four_french_persons() -> None:
    for one in VERBS:
        assert len(one.french.present) == 4, one.base
        assert one.french.future.endswith("r"), one.base


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_equal_sources_have_equal_targets(source: str, target: str) -> None:
    known: dict[str, str] = {}
    for pair in generate(20_000, source=source, target=target, seed=3, tokenised=True):
        assert known.setdefault(pair.source, pair.target) == pair.target
    assert len(known) > 18_000


def test_pronouns_that_can_replace_each_other_differ_in_every_language() -> None:
    random_number = random.Random(13).random
    seen: dict[tuple[Verb | None, bool], dict[Pronoun, Clause]] = {}
    for _ in range(60_000):
        clause = draw(random_number).clause
        if isinstance(clause.object, Pronoun) and isinstance(clause.subject, Phrase):
            seen.setdefault((clause.verb, clause.tense == "past"), {})[clause.object] = clause
    assert len(seen) == 2 * sum(one.persons and "state" not in one.traits for one in VERBS)
    for clauses in seen.values():
        for clause in clauses.values():
            meanings = [Sentence(clause._replace(object=one)) for one in clauses]
            for language in LANGUAGES:
                assert len({" ".join(say(one, language).words) for one in meanings}) == len(clauses)


@pytest.mark.parametrize("tokenised", [False, True])
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_every_content_word_is_linked(source: str, target: str, tokenised: bool) -> None:
    unlinked: set[str] = set()
    for pair in generate(2_000, source=source, target=target, seed=4, tokenised=tokenised):
        words, others = pair.source.split(), pair.target.split()
        assert pair.links and list(pair.links) == sorted(set(pair.links))
        assert all(0 <= i < len(words) and 0 <= j < len(others) for i, j in pair.links)
        unlinked |= {words[i] for i in set(range(len(words))) - {i for i, _ in pair.links}}
    assert unlinked <= {",", "Est-ce", "est-ce", "que", "?"}
    assert not tokenised or "?" not in unlinked


def test_links_of_a_direction_are_those_of_the_other_turned() -> None:
    there = generate(500, source="de", target="fr", seed=5)
    back = generate(500, source="fr", target="de", seed=5)
    for pair, turned in zip(there, back, strict=True):
        assert (pair.source, pair.target) == (turned.target, turned.source)
        assert pair.links == tuple(sorted((i, j) for j, i in turned.links))


def test_a_seed_says_the_same_in_every_language_and_every_time() -> None:
    german_pairs = list(generate(300, seed=6))
    assert german_pairs == list(generate(300, seed=6))
    french_pairs = list(generate(300, target="fr", seed=6))
    assert [pair.source for pair in german_pairs] == [pair.source for pair in french_pairs]
    assert german_pairs != list(generate(300, seed=7))


def test_a_seed_says_the_same_in_every_python() -> None:
    assert [pair.source for pair in generate(3, seed=1)] == FIRST_SENTENCES


def test_sentences_are_short_and_look_like_sentences() -> None:
    for pair in generate(5_000, target="fr", seed=8):
        assert 3 <= len(pair.source.split()) <= 20
        assert pair.source[0].isupper() and pair.target[0].isupper()
        assert pair.source[-1] in ".?" and "  " not in pair.source + pair.target
        assert pair.target.endswith(" ?") == pair.source.endswith("?")


def test_french_elides_and_contracts_everywhere() -> None:
    for pair in generate(20_000, target="fr", seed=9, tokenised=True):
        words = pair.target.split()
        for word, following in pairwise(words):
            elided = word in {"le", "la", "de", "que", "ne", "je", "me"}
            assert not (elided and following[0] in french.VOWELS), pair.target
            assert (word, following) not in {("à", "le"), ("à", "les"), ("de", "le")}, pair.target


def test_splits_share_no_source_sentence() -> None:
    train, dev, test = split(5_000, 300, 200, source="en", target="de", seed=10)
    assert (len(train), len(dev), len(test)) == (5_000, 300, 200)
    held_out = {pair.source for pair in dev + test}
    assert len(held_out) == 500
    assert not held_out & {pair.source for pair in train}


def test_different_seeds_hardly_overlap() -> None:
    first = {pair.source for pair in generate(5_000, seed=11)}
    second = {pair.source for pair in generate(5_000, seed=12)}
    assert len(first & second) < 0.05 * len(first)


def test_generation_is_lazy() -> None:
    assert len(list(islice(generate(10**12), 2))) == 2
    assert isinstance(next(generate(1)), Pair)
    assert list(generate(0)) == []


@pytest.mark.parametrize(("source", "target"), [("en", "en"), ("en", "xx"), ("du", "fr")])
def test_other_languages_are_refused_with_the_choices(source: str, target: str) -> None:
    with pytest.raises(ModelError, match="de.*fr"):
        generate(1, source=source, target=target)
    with pytest.raises(ModelError, match="de.*fr"):
        split(1, 1, 1, source=source, target=target)


def pharaoh(links: tuple[tuple[int, int], ...]) -> str:
    return " ".join(f"{i}-{j}" for i, j in links)


def countable(english: str) -> Phrase:
    """Return a phrase from its English words, the noun singular or plural."""
    head, _, last = english.rpartition(" ")
    found = next(one for one in NOUNS if last in one.english)
    return phrase(f"{head} {found.english[0]}", plural=last == found.english[1])


FIRST_SENTENCES = [
    "An old sister is laughing now.",
    "The man never sleeps.",
    "Our beautiful doctor always closes the car.",
]

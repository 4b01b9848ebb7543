"""German: verb second, verb last, three genders and cases, strong, weak and mixed adjectives.

The middle field runs: pronouns, definite objects (dative first), time, frequency, indefinite
object, "nicht", then the rest of the verb. A negated indefinite object takes "kein".
"""

from __future__ import annotations

from attncli.embedded.grammar.lexicon import Name, Pronoun, Verb
from attncli.embedded.grammar.meaning import Adjunct, Clause, Nominal, Phrase, Sentence
from attncli.embedded.grammar.words import (
    ADJUNCT,
    ARTICLE,
    AUXILIARY,
    CASE,
    CONJUNCTION,
    FINAL,
    FIRST_ADJECTIVE,
    FREQUENCY,
    NEGATION,
    NOUN,
    OBJECT,
    PARTICLE,
    PREDICATE,
    RECIPIENT,
    REPORT,
    REPORTER,
    SUBJECT,
    TIME,
    VERB,
    Word,
    second_clause,
)

SPACED = ""
NOMINATIVE, ACCUSATIVE, DATIVE = range(3)


def realise(sentence: Sentence) -> list[Word]:
    """Return the words of a sentence."""
    clause, question, report, reason = sentence
    if report:
        words = [
            (_subject(report.subject)[0][0], REPORTER),
            (report.verb.german[report.subject.person], REPORT),
            *_COMMA,
            ("dass", CONJUNCTION),
            *_verb_last(clause),
        ]
    else:
        words = _verb_second(clause, question)
    if reason:
        words += [*_COMMA, ("weil", CONJUNCTION), *second_clause(_verb_last(reason))]
    words.append(("?" if question else ".", FINAL))
    return words


def _verb_second(clause: Clause, question: bool) -> list[Word]:
    subject = _subject(clause.subject)
    finite, last = _verbs(clause)
    if question:
        words = finite + subject
    elif clause.fronted:
        words = _time(clause) + finite + subject
    else:
        words = subject + finite
    return words + _middle(clause) + last


def _verb_last(clause: Clause) -> list[Word]:
    finite, last = _verbs(clause)
    words = _subject(clause.subject) + _middle(clause)
    verb = clause.verb
    if verb and verb.prefix and clause.tense == "present":
        return [*words, (verb.prefix + finite[0][0], VERB | PARTICLE)]
    return words + last + finite


def _verbs(clause: Clause) -> tuple[list[Word], list[Word]]:
    """Return the finite verb, and the words at the end of a main clause."""
    person, verb, tense = clause.subject.person, clause.verb, clause.tense
    if verb is None:
        if tense == "future":
            return [(_WERDEN[person], AUXILIARY)], [("sein", VERB)]
        return [((_WAR if tense == "past" else _SEIN)[person], VERB)], []
    whole = VERB if verb.preposition else VERB | PARTICLE
    if tense == "past":
        auxiliary = (_SEIN if verb.sein else _HABEN)[person]
        return [(auxiliary, AUXILIARY)], [(verb.participle, whole)]
    if tense == "present":
        return _present(verb, person, whole)
    auxiliary = clause.modal.german[person] if clause.modal else _WERDEN[person]
    return [(auxiliary, AUXILIARY)], [(verb.prefix + verb.infinitive, whole)]


def _present(verb: Verb, person: int, whole: int) -> tuple[list[Word], list[Word]]:
    if verb.prefix:
        return [(verb.present[person], VERB)], [(verb.prefix, VERB | PARTICLE)]
    return [(verb.present[person], whole)], []


def _middle(clause: Clause) -> list[Word]:
    verb, held = clause.verb, clause.object
    words = _recipient(clause.recipient) if clause.recipient else []
    loose = isinstance(held, Phrase) and held.determiner in _INDEFINITE
    denied = clause.negated and clause.polarity == "not"
    said: list[Word] = []
    if held and verb:
        case = DATIVE if verb.dative else ACCUSATIVE
        said = _nominal(held, case, OBJECT, denied)
        if verb.preposition:
            said.insert(0, (verb.preposition, PARTICLE))
        elif not loose:
            words += said
    if clause.time and not clause.fronted:
        words += _time(clause)
    if clause.frequency:
        words.append((clause.frequency.german[0], FREQUENCY))
    if clause.polarity == "never":
        words.append(("nie", NEGATION))
    if loose and verb and not verb.preposition:
        words += said
    if clause.polarity == "not" and not denied:
        words.append(("nicht", NEGATION))
    if verb and verb.preposition:
        words += said
    if clause.adjunct:
        words += _adjunct(clause.adjunct)
    if clause.predicate:
        words.append((clause.predicate.german, PREDICATE))
    return words


def _time(clause: Clause) -> list[Word]:
    return [(text, TIME * half) for text, half in clause.time.german] if clause.time else []


def _recipient(nominal: Nominal) -> list[Word]:
    words = _nominal(nominal, DATIVE, RECIPIENT)
    text, concepts = words[0]
    words[0] = (text, concepts | CASE << RECIPIENT)
    return words


def _adjunct(adjunct: Adjunct) -> list[Word]:
    preposition, phrase = adjunct
    words = _nominal(phrase, preposition.case, ADJUNCT)
    german = preposition.german or phrase.noun.at
    contracted = _CONTRACTED.get((german, words[0][0]))
    if contracted:
        words[0] = (contracted, (CASE | ARTICLE) << ADJUNCT)
        return words
    return [(german, CASE << ADJUNCT), *words]


def _subject(nominal: Nominal) -> list[Word]:
    return _nominal(nominal, NOMINATIVE, SUBJECT)


def _nominal(nominal: Nominal, case: int, role: int, denied: bool = False) -> list[Word]:
    if isinstance(nominal, Name):
        return [(nominal.text, NOUN << role)]
    if isinstance(nominal, Pronoun):
        return [(nominal.german[case], NOUN << role)]
    return noun_phrase(nominal, case, role, denied)


def noun_phrase(phrase: Phrase, case: int, role: int, denied: bool = False) -> list[Word]:
    """Return a noun with the words that agree with it, in a case; denied: with "kein"."""
    determiner, noun, plural, adjectives = phrase
    column = PLURAL if plural else noun.gender
    article = ARTICLE << role
    if denied:
        article = NEGATION | article if determiner == "a" else NEGATION
        determiner = "no"
    forms, endings = _DETERMINERS[determiner]
    words = [(forms[case][column], article)] if forms else []
    concept = FIRST_ADJECTIVE << role
    for adjective in adjectives:
        words.append((adjective.german_stem + endings[case][column], concept))
        concept <<= 1
    words.append((noun.german[plural][case], NOUN << role))
    return words


def _table(rows: str) -> tuple[tuple[str, ...], ...]:
    """Return endings: a row per case; columns masculine, feminine, neuter, plural; "-" is none."""
    return tuple(tuple(cell.strip("-") for cell in row.split()) for row in rows.split("/"))


def _inflected(stem: str, endings: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(stem + ending for ending in row) for row in endings)


PLURAL = 3
_DEFINITE = _table("der die das die / den die das die / dem der dem den")
_DER = _table("er e es e / en e es e / em er em en")
_EIN = _table("- e - e / en e - e / em er em en")
_WEAK = _table("e e e en / en e e en / en en en en")
_MIXED = _table("er e es en / en e es en / en en en en")
_STRONG = _table("er e es e / en e es e / em er em en")
_UNCHANGED = _table("- - - - / - - - - / - - - -")
_DETERMINERS = {
    "the": (_DEFINITE, _WEAK),
    "this": (_inflected("dies", _DER), _WEAK),
    "these": (_inflected("dies", _DER), _WEAK),
    "a": (_inflected("ein", _EIN), _MIXED),
    "my": (_inflected("mein", _EIN), _MIXED),
    "our": (_inflected("unser", _EIN), _MIXED),
    "no": (_inflected("kein", _EIN), _MIXED),
    "two": (_inflected("zwei", _UNCHANGED), _STRONG),
    "three": (_inflected("drei", _UNCHANGED), _STRONG),
    "many": (_inflected("viel", _DER), _STRONG),
    "bare": ((), _STRONG),
}
_INDEFINITE = frozenset(("a", "two", "three", "many", "bare"))
_CONTRACTED = {
    ("in", "dem"): "im",
    ("an", "dem"): "am",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
}
_COMMA: list[Word] = [(",", 0)]
_SEIN = ("bin", "ist", "sind", "sind")
_WAR = ("war", "war", "waren", "waren")
_HABEN = ("habe", "hat", "haben", "haben")
_WERDEN = ("werde", "wird", "werden", "werden")

"""German: verb second, verb last, three genders and cases, strong, weak and mixed adjectives.

The middle field runs: pronouns, definite objects (dative first), time, frequency, indefinite
object, "nicht", then the rest of the verb. A negated indefinite object takes "kein".
"""

from __future__ import annotations

from grammar.lexicon import Word
from grammar.meaning import (
    Adjunct,
    Clause,
    Nominal,
    Phrase,
    Sentence,
    second_clause,
)

NOMINATIVE, ACCUSATIVE, DATIVE = range(3)


def realise(sentence: Sentence) -> list[Word]:
    """Return the words of a sentence."""
    clause, question, report, reason = sentence
    if report:
        words = [
            (report.subject.german[NOMINATIVE], "reporter"),
            (report.verb.german[report.subject.person], "report"),
            _COMMA,
            ("dass", "conjunction"),
            *_verb_last(clause),
        ]
    else:
        words = _verb_second(clause, question)
    if reason:
        words += [_COMMA, ("weil", "conjunction"), *second_clause(_verb_last(reason))]
    words.append(("?" if question else ".", "final"))
    return words


def _verb_second(clause: Clause, question: bool) -> list[Word]:
    subject = _nominal(clause.subject, NOMINATIVE, "subject")
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
    words = _nominal(clause.subject, NOMINATIVE, "subject") + _middle(clause)
    verb = clause.verb
    if verb and verb.prefix and clause.tense == "present":
        return [*words, (verb.prefix + finite[0][0], "verb particle")]
    return words + last + finite


def _verbs(clause: Clause) -> tuple[list[Word], list[Word]]:
    """Return the finite verb, and the words at the end of a main clause."""
    person, verb, tense = clause.subject.person, clause.verb, clause.tense
    if verb is None:
        if tense == "future":
            return [(_WERDEN[person], "auxiliary")], [("sein", "verb")]
        return [((_WAR if tense == "past" else _SEIN)[person], "verb")], []
    whole = "verb" if verb.preposition else "verb particle"
    if tense == "past":
        auxiliary = (_SEIN if verb.sein else _HABEN)[person]
        return [(auxiliary, "auxiliary")], [(verb.participle, whole)]
    if tense == "present":
        if verb.prefix:
            return [(verb.present[person], "verb")], [(verb.prefix, "verb particle")]
        return [(verb.present[person], whole)], []
    auxiliary = clause.modal.german[person] if clause.modal else _WERDEN[person]
    return [(auxiliary, "auxiliary")], [(verb.prefix + verb.infinitive, whole)]


def _middle(clause: Clause) -> list[Word]:
    verb, held = clause.verb, clause.object
    words = _recipient(clause.recipient) if clause.recipient else []
    loose = isinstance(held, Phrase) and held.determiner in _INDEFINITE
    denied = clause.negated and clause.polarity == "not"
    said: list[Word] = []
    if held and verb:
        said = _nominal(held, DATIVE if verb.dative else ACCUSATIVE, "object", denied)
        if verb.preposition:
            said.insert(0, (verb.preposition, "particle"))
        elif not loose:
            words += said
    if not clause.fronted:
        words += _time(clause)
    if clause.frequency:
        words.append((clause.frequency.german[0], "frequency"))
    if clause.polarity == "never":
        words.append(("nie", "negation"))
    if loose and verb and not verb.preposition:
        words += said
    if clause.polarity == "not" and not denied:
        words.append(("nicht", "negation"))
    if verb and verb.preposition:
        words += said
    if clause.adjunct:
        words += _adjunct(clause.adjunct)
    if clause.predicate:
        words.append((clause.predicate.german, "predicate"))
    return words


def _time(clause: Clause) -> list[Word]:
    return [*clause.time.german] if clause.time else []


def _recipient(nominal: Nominal) -> list[Word]:
    (text, concepts), *others = _nominal(nominal, DATIVE, "recipient")
    return [(text, f"{concepts} recipient-case"), *others]


def _adjunct(adjunct: Adjunct) -> list[Word]:
    preposition, phrase = adjunct
    words = noun_phrase(phrase, preposition.case, "adjunct")
    german = preposition.german or phrase.noun.at
    if contracted := _CONTRACTED.get((german, words[0][0])):
        return [(contracted, "adjunct-case adjunct-article"), *words[1:]]
    return [(german, "adjunct-case"), *words]


def _nominal(nominal: Nominal, case: int, role: str, denied: bool = False) -> list[Word]:
    if isinstance(nominal, Phrase):
        return noun_phrase(nominal, case, role, denied)
    return [(nominal.german[case], f"{role}-noun")]


def noun_phrase(phrase: Phrase, case: int, role: str, denied: bool = False) -> list[Word]:
    """Return a noun with the words that agree with it, in a case; denied: with "kein"."""
    determiner, noun, plural, adjectives = phrase
    column = PLURAL if plural else noun.gender
    article = f"{role}-article"
    if denied:
        article = f"negation {article}" if determiner == "a" else "negation"
        determiner = "no"
    forms, endings = _DETERMINERS[determiner]
    words = [(forms[case][column], article)] if forms else []
    for n, adjective in enumerate(adjectives):
        words.append((adjective.german_stem + endings[case][column], f"{role}-adjective{n}"))
    words.append((noun.german[plural][case], f"{role}-noun"))
    return words


def _table(rows: str, stem: str = "") -> tuple[tuple[str, ...], ...]:
    """Return a stem with endings: a row per case; columns: masculine, feminine, neuter, plural.

    "-" is no ending.
    """
    return tuple(tuple(stem + cell.strip("-") for cell in row.split()) for row in rows.split("/"))


PLURAL = 3
_DER = "er e es e / en e es e / em er em en"
_EIN = "- e - e / en e - e / em er em en"
_WEAK = _table("e e e en / en e e en / en en en en")
_MIXED = _table("er e es en / en e es en / en en en en")
_STRONG = _table(_DER)
_UNCHANGED = "- - - - / - - - - / - - - -"
_DETERMINERS = {
    "the": (_table("der die das die / den die das die / dem der dem den"), _WEAK),
    "this": (_table(_DER, "dies"), _WEAK),
    "these": (_table(_DER, "dies"), _WEAK),
    "a": (_table(_EIN, "ein"), _MIXED),
    "my": (_table(_EIN, "mein"), _MIXED),
    "our": (_table(_EIN, "unser"), _MIXED),
    "no": (_table(_EIN, "kein"), _MIXED),
    "two": (_table(_UNCHANGED, "zwei"), _STRONG),
    "three": (_table(_UNCHANGED, "drei"), _STRONG),
    "many": (_table(_DER, "viel"), _STRONG),
    "bare": ((), _STRONG),
}
_INDEFINITE = frozenset(("a", "two", "three", "many", "bare"))
_CONTRACTED = {("in", "dem"): "im", ("an", "dem"): "am", ("zu", "dem"): "zum", ("zu", "der"): "zur"}
_COMMA = (",", "")
_SEIN = ("bin", "ist", "sind", "sind")
_WAR = ("war", "war", "waren", "waren")
_HABEN = ("habe", "hat", "haben", "haben")
_WERDEN = ("werde", "wird", "werden", "werden")

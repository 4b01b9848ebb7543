"""English: do-support, the progressive, adverbs of frequency before the main verb."""

from __future__ import annotations

from attncli.embedded.grammar.lexicon import CAN, HE, THEY, WANT, WE, I, Name, Pronoun, Verb
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


def realise(sentence: Sentence) -> list[Word]:
    """Return the words of a sentence."""
    clause, question, report, reason = sentence
    words = _clause(clause, question)
    if report:
        reporter = (_subject(report.subject)[0][0], REPORTER)
        verb = (report.verb.english[report.subject.person], REPORT)
        words = [reporter, verb, ("that", CONJUNCTION), *words]
    if reason:
        words += [("because", CONJUNCTION), *second_clause(_clause(reason, False))]
    words.append(("?" if question else ".", FINAL))
    return words


def _clause(clause: Clause, question: bool) -> list[Word]:
    subject = _subject(clause.subject)
    auxiliary, main = _verbs(clause, question)
    time = [(text, TIME * half) for text, half in clause.time.english] if clause.time else []
    words = auxiliary + subject if question else subject + auxiliary
    if clause.fronted:
        words = time + words
    words += _adverbs(clause)
    if clause.modal is CAN and clause.polarity == "not" and not question:
        words[-2:] = [("cannot", AUXILIARY | NEGATION)]
    words += main
    words += _complements(clause)
    if time and not clause.fronted:
        words += time
    return words


def _adverbs(clause: Clause) -> list[Word]:
    words = [(clause.polarity, NEGATION)] if clause.polarity else []
    if clause.frequency:
        words.append((clause.frequency.english[0], FREQUENCY))
    return words


def _verbs(clause: Clause, question: bool) -> tuple[list[Word], list[Word]]:
    """Return the auxiliary, which questions and "not" need, and the rest of the verb."""
    person, verb, tense = clause.subject.person, clause.verb, clause.tense
    supported = question or clause.polarity == "not"
    if verb is None:
        return _be(clause)
    if clause.modal is WANT:
        wish = [("want", AUXILIARY), ("to", VERB), *_main(verb, verb.base)]
        if supported:
            return [("does" if person == HE else "do", AUXILIARY)], wish
        return [], [(WANT.english[person], AUXILIARY), *wish[1:]]
    if clause.modal:
        return [(clause.modal.english[0], AUXILIARY)], _main(verb, verb.base)
    if tense == "future":
        return [("will", AUXILIARY)], _main(verb, verb.base)
    if tense == "past":
        if supported:
            return [("did", VERB | AUXILIARY)], _main(verb, verb.base, AUXILIARY)
        return [], _main(verb, verb.past, AUXILIARY)
    if not (verb.simple or clause.habitual):
        return [(_BE[person], VERB)], _main(verb, verb.progressive)
    if supported:
        return [("does" if person == HE else "do", VERB)], _main(verb, verb.base)
    return [], _main(verb, verb.third if person == HE else verb.base)


def _be(clause: Clause) -> tuple[list[Word], list[Word]]:
    person = clause.subject.person
    if clause.tense == "future":
        return [("will", AUXILIARY)], [("be", VERB)]
    forms = _WAS if clause.tense == "past" else _BE
    return [(forms[person], VERB)], []


def _main(verb: Verb, form: str, auxiliary: int = 0) -> list[Word]:
    if verb.particle:
        return [(form, VERB | auxiliary), (verb.particle, PARTICLE)]
    return [(form, VERB | PARTICLE | auxiliary)]


def _complements(clause: Clause) -> list[Word]:
    words: list[Word] = []
    recipient = clause.recipient
    if isinstance(recipient, Pronoun):
        words += _nominal(recipient, RECIPIENT)
    if clause.object:
        words += _nominal(clause.object, OBJECT)
    if recipient and not isinstance(recipient, Pronoun):
        words += [("to", CASE << RECIPIENT), *_nominal(recipient, RECIPIENT)]
    if clause.adjunct:
        words += _adjunct(clause.adjunct)
    if clause.predicate:
        words.append((clause.predicate.english, PREDICATE))
    return words


def _adjunct(adjunct: Adjunct) -> list[Word]:
    words = [(text, CASE << ADJUNCT) for text in adjunct.preposition.english]
    return words + _nominal(adjunct.phrase, ADJUNCT)


def _subject(nominal: Nominal) -> list[Word]:
    if isinstance(nominal, Pronoun):
        return [(nominal.english[0], NOUN << SUBJECT)]
    return _nominal(nominal, SUBJECT)


def _nominal(nominal: Nominal, role: int) -> list[Word]:
    if isinstance(nominal, Name):
        return [(nominal.text, NOUN << role)]
    if isinstance(nominal, Pronoun):
        return [(nominal.english[1], NOUN << role)]
    return _phrase(nominal, role)


def _phrase(phrase: Phrase, role: int) -> list[Word]:
    concept = FIRST_ADJECTIVE << role
    words: list[Word] = []
    for adjective in phrase.adjectives:
        words.append((adjective.english, concept))
        concept <<= 1
    words.append((phrase.noun.english[phrase.plural], NOUN << role))
    determiner = phrase.determiner
    if determiner == "bare":
        return words
    if determiner == "a" and words[0][0][0] in "aeiou":
        determiner = "an"
    return [(determiner, ARTICLE << role), *words]


_BE = {I: "am", HE: "is", WE: "are", THEY: "are"}
_WAS = {I: "was", HE: "was", WE: "were", THEY: "were"}

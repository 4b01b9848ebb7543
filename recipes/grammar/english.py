"""English: do-support, the progressive, adverbs of frequency before the main verb."""

from __future__ import annotations

from grammar.lexicon import CAN, HE, WANT, Pronoun, Verb, Word
from grammar.meaning import Clause, Nominal, Phrase, Sentence, second_clause


def realise(sentence: Sentence) -> list[Word]:
    """Return the words of a sentence."""
    clause, question, report, reason = sentence
    words = _clause(clause, question)
    if report:
        reporter = (report.subject.english[0], "reporter")
        verb = (report.verb.english[report.subject.person], "report")
        words = [reporter, verb, ("that", "conjunction"), *words]
    if reason:
        words += [("because", "conjunction"), *second_clause(_clause(reason, False))]
    words.append(("?" if question else ".", "final"))
    return words


def _clause(clause: Clause, question: bool) -> list[Word]:
    subject = _nominal(clause.subject, "subject")
    auxiliary, main = _verbs(clause, question)
    words = auxiliary + subject if question else subject + auxiliary
    time = [*clause.time.english] if clause.time else []
    if clause.fronted:
        words = time + words
    if clause.polarity:
        words.append((clause.polarity, "negation"))
    if clause.frequency:
        words.append((clause.frequency.english[0], "frequency"))
    if clause.modal is CAN and clause.polarity == "not" and not question:
        words[-2:] = [("cannot", "auxiliary negation")]
    words += main + _complements(clause)
    return words if clause.fronted else words + time


def _verbs(clause: Clause, question: bool) -> tuple[list[Word], list[Word]]:
    """Return the auxiliary, which questions and "not" need, and the rest of the verb."""
    person, verb, tense = clause.subject.person, clause.verb, clause.tense
    supported = question or clause.polarity == "not"
    do = "does" if person == HE else "do"
    if verb is None and tense == "future":
        return [("will", "auxiliary")], [("be", "verb")]
    if verb is None:
        return [((_WAS if tense == "past" else _BE)[person], "verb")], []
    if clause.modal is WANT:
        infinitive = [("to", "verb"), *_main(verb, verb.base)]
        if supported:
            return [(do, "auxiliary")], [("want", "auxiliary"), *infinitive]
        return [], [(WANT.english[person], "auxiliary"), *infinitive]
    if clause.modal or tense == "future":
        auxiliary = clause.modal.english[0] if clause.modal else "will"
        return [(auxiliary, "auxiliary")], _main(verb, verb.base)
    if tense == "past":
        if supported:
            return [("did", "verb auxiliary")], _main(verb, verb.base, "auxiliary")
        return [], _main(verb, verb.past, "auxiliary")
    if not (verb.simple or clause.habitual):
        return [(_BE[person], "verb")], _main(verb, verb.progressive)
    if supported:
        return [(do, "verb")], _main(verb, verb.base)
    return [], _main(verb, verb.third if person == HE else verb.base)


def _main(verb: Verb, form: str, auxiliary: str = "") -> list[Word]:
    if verb.particle:
        return [(form, f"verb {auxiliary}"), (verb.particle, "particle")]
    return [(form, f"verb particle {auxiliary}")]


def _complements(clause: Clause) -> list[Word]:
    recipient = _nominal(clause.recipient, "recipient") if clause.recipient else []
    words = _nominal(clause.object, "object") if clause.object else []
    if isinstance(clause.recipient, Pronoun):
        words = recipient + words
    elif recipient:
        words += [("to", "recipient-case"), *recipient]
    if clause.adjunct:
        preposition, phrase = clause.adjunct
        words += [(text, "adjunct-case") for text in preposition.english]
        words += _phrase(phrase, "adjunct")
    if clause.predicate:
        words.append((clause.predicate.english, "predicate"))
    return words


def _nominal(nominal: Nominal, role: str) -> list[Word]:
    if isinstance(nominal, Phrase):
        return _phrase(nominal, role)
    return [(nominal.english[0 if role == "subject" else 1], f"{role}-noun")]


def _phrase(phrase: Phrase, role: str) -> list[Word]:
    determiner, noun, plural, adjectives = phrase
    words = [(adjective.english, f"{role}-adjective{n}") for n, adjective in enumerate(adjectives)]
    words.append((noun.english[plural], f"{role}-noun"))
    if determiner == "bare":
        return words
    if determiner == "a" and words[0][0][0] in "aeiou":
        determiner = "an"
    return [(determiner, f"{role}-article"), *words]


_BE = ("am", "is", "are", "are")
_WAS = ("was", "was", "were", "were")

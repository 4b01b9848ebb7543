"""French: agreement, adjectives on both sides, clitics, "ne ... pas", elision and contraction."""

from __future__ import annotations

from attncli.embedded.grammar.lexicon import Name, Pronoun
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

SPACED = "?"


def realise(sentence: Sentence) -> list[Word]:
    """Return the words of a sentence."""
    clause, question, report, reason = sentence
    words = _clause(clause)
    if question:
        words = [("est-ce", 0), ("que", 0), *words]
    if report:
        reporter = (_subject(report.subject)[0][0], REPORTER)
        verb = (report.verb.french[report.subject.person], REPORT)
        words = [reporter, verb, ("que", CONJUNCTION), *words]
    if reason:
        cause = [("parce", CONJUNCTION), ("que", CONJUNCTION)]
        words += [*cause, *second_clause(_clause(reason))]
    words.append(("?" if question else ".", FINAL))
    return _joined(words)


def _clause(clause: Clause) -> list[Word]:
    time = [(text, TIME * half) for text, half in clause.time.french] if clause.time else []
    words = [*time, (",", 0)] if clause.fronted else []
    words += _subject(clause.subject)
    words += _verbs(clause)
    words += _complements(clause)
    if not clause.fronted:
        words += time
    return words


def _verbs(clause: Clause) -> list[Word]:
    finite, rest = _verb_forms(clause)
    clitic = _clitic(clause)
    second = _adverbs(clause)
    words: list[Word] = [("ne", NEGATION)] if clause.polarity else []
    if clause.modal:
        return words + finite + second + clitic + rest
    return words + clitic + finite + second + rest


def _adverbs(clause: Clause) -> list[Word]:
    words: list[Word] = []
    if clause.polarity:
        words.append(("pas" if clause.polarity == "not" else "jamais", NEGATION))
    if clause.frequency:
        words.append((clause.frequency.french[0], FREQUENCY))
    return words


def _verb_forms(clause: Clause) -> tuple[list[Word], list[Word]]:
    """Return the finite verb, and the participle or infinitive after it."""
    person, verb, tense = clause.subject.person, clause.verb, clause.tense
    if verb is None:
        concepts = VERB | AUXILIARY if tense == "future" else VERB
        return [(_BE[tense][person], concepts)], []
    whole, french = VERB | PARTICLE, verb.french
    if clause.modal:
        return [(clause.modal.french[person], AUXILIARY)], [(french.infinitive, whole)]
    if tense == "present":
        return [(french.present[person], whole)], []
    if tense == "future":
        return [(french.future + _FUTURE[person], whole | AUXILIARY)], []
    if french.etre:
        participle = french.participle + _ending(clause.subject)
        return [(_BE["present"][person], AUXILIARY)], [(participle, whole)]
    held = clause.object if isinstance(clause.object, Pronoun) else None
    participle = french.participle
    if held and not (participle.endswith("s") and not held.feminine):
        participle += _ending(held)
    return [(_HAVE[person], AUXILIARY)], [(participle, whole)]


def _ending(nominal: Nominal) -> str:
    return ("e" if nominal.feminine else "") + ("s" if nominal.plural else "")


def _clitic(clause: Clause) -> list[Word]:
    if isinstance(clause.object, Pronoun):
        return [(clause.object.french[1], NOUN << OBJECT)]
    if isinstance(clause.recipient, Pronoun):
        return [(clause.recipient.french[2], NOUN << RECIPIENT)]
    return []


def _complements(clause: Clause) -> list[Word]:
    words: list[Word] = []
    held, recipient = clause.object, clause.recipient
    if held and not isinstance(held, Pronoun):
        words += _nominal(held, OBJECT, clause.negated)
    if recipient and not isinstance(recipient, Pronoun):
        words += [("à", CASE << RECIPIENT), *_nominal(recipient, RECIPIENT)]
    if clause.adjunct:
        words += _adjunct(clause.adjunct)
    if clause.predicate:
        subject = clause.subject
        form = clause.predicate.french[subject.feminine + 2 * subject.plural]
        words.append((form, PREDICATE))
    return words


def _adjunct(adjunct: Adjunct) -> list[Word]:
    words = [(text, CASE << ADJUNCT) for text in adjunct.preposition.french]
    return words + _nominal(adjunct.phrase, ADJUNCT)


def _subject(nominal: Nominal) -> list[Word]:
    if isinstance(nominal, Pronoun):
        return [(nominal.french[0], NOUN << SUBJECT)]
    return _nominal(nominal, SUBJECT)


def _nominal(nominal: Nominal, role: int, denied: bool = False) -> list[Word]:
    if isinstance(nominal, Name):
        return [(nominal.text, NOUN << role)]
    if isinstance(nominal, Pronoun):
        return [(nominal.french[1], NOUN << role)]
    return noun_phrase(nominal, role, denied)


def noun_phrase(phrase: Phrase, role: int, denied: bool = False) -> list[Word]:
    """Return a noun with the words that agree with it, before elision; denied: with "de"."""
    _, noun, plural, adjectives = phrase
    before: list[Word] = []
    words: list[Word] = [(noun.french[plural], NOUN << role)]
    concept = FIRST_ADJECTIVE << role
    for adjective in adjectives:
        form = noun.feminine + 2 * plural
        if not adjective.before:
            words.append((adjective.french[form], concept))
        elif form == 0 and words[0][0][0] in VOWELS:
            before.append((adjective.french[4], concept))
        else:
            before.append((adjective.french[form], concept))
        concept <<= 1
    adjective_first = bool(before)
    words = before + words
    return _determiner(phrase, words, role, denied, adjective_first) + words


def _determiner(
    phrase: Phrase, words: list[Word], role: int, denied: bool, adjective_first: bool
) -> list[Word]:
    determiner, noun, plural, _ = phrase
    article = ARTICLE << role
    if determiner == "bare" or denied:
        concepts = NOUN << role if determiner == "bare" else article
        if denied or (plural and adjective_first):
            return [("de", concepts)]
        if plural:
            return [("des", concepts)]
        return [("de", concepts), ("la" if noun.feminine else "le", concepts)]
    if determiner == "many":
        return [("beaucoup", article), ("de", article)]
    form = 2 if plural else int(noun.feminine)
    if form < 2 and words[0][0][0] in VOWELS:
        form = 3 + form
    return [(_DETERMINERS[determiner][form], article)]


def _joined(words: list[Word]) -> list[Word]:
    """Apply elision (le homme: l'homme) and contraction (à le: au), from right to left."""
    joined = [words[-1]]
    for word in reversed(words[:-1]):
        text, concepts = word
        following, others = joined[-1]
        if text in _ELIDED and following[0] in VOWELS:
            joined[-1] = (text[:-1] + "'" + following, concepts | others)
        elif text in _CONTRACTED and following in _CONTRACTED[text]:
            joined[-1] = (_CONTRACTED[text][following], concepts | others)
        else:
            joined.append(word)
    joined.reverse()
    return joined


VOWELS = frozenset("aeiouyhàâéèêîôœA")
_ELIDED = frozenset(("le", "la", "de", "que", "ne", "je", "me"))
_CONTRACTED = {"à": {"le": "au", "les": "aux"}, "de": {"le": "du", "les": "des"}}
# masculine, feminine, plural, masculine and feminine before a vowel
_DETERMINERS = {
    "the": ("le", "la", "les", "le", "la"),
    "this": ("ce", "cette", "", "cet", "cette"),
    "these": ("", "", "ces", "", ""),
    "a": ("un", "une", "", "un", "une"),
    "my": ("mon", "ma", "mes", "mon", "mon"),
    "our": ("notre", "notre", "nos", "notre", "notre"),
    "two": ("", "", "deux", "", ""),
    "three": ("", "", "trois", "", ""),
}
_BE = {
    "present": ("suis", "est", "sommes", "sont"),
    "past": ("étais", "était", "étions", "étaient"),
    "future": ("serai", "sera", "serons", "seront"),
}
_HAVE = ("ai", "a", "avons", "ont")
_FUTURE = ("ai", "a", "ons", "ont")

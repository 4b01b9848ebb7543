"""French: agreement, adjectives on both sides, clitics, "ne ... pas", elision and contraction."""

from __future__ import annotations

from attncli.embedded.grammar.lexicon import Pronoun, Word
from attncli.embedded.grammar.meaning import Clause, Nominal, Phrase, Sentence, second_clause

SPACED = "?"
FORMS = ("subject", "object", "recipient")  # roles with their own forms of a pronoun


def realise(sentence: Sentence) -> list[Word]:
    """Return the words of a sentence."""
    clause, question, report, reason = sentence
    words = _clause(clause)
    if question:
        words = [("est-ce", ""), ("que", ""), *words]
    if report:
        reporter = (report.subject.french[0], "reporter")
        verb = (report.verb.french[report.subject.person], "report")
        words = [reporter, verb, ("que", "conjunction"), *words]
    if reason:
        cause = [("parce", "conjunction"), ("que", "conjunction")]
        words += [*cause, *second_clause(_clause(reason))]
    words.append(("?" if question else ".", "final"))
    return _joined(words)


def _clause(clause: Clause) -> list[Word]:
    time = [*clause.time.french] if clause.time else []
    words = _nominal(clause.subject, "subject") + _verbs(clause) + _complements(clause)
    return [*time, (",", ""), *words] if clause.fronted else words + time


def _verbs(clause: Clause) -> list[Word]:
    finite, rest = _verb_forms(clause)
    negation = [("ne", "negation")] if clause.polarity else []
    second = []
    if clause.polarity:
        second.append(("pas" if clause.polarity == "not" else "jamais", "negation"))
    if clause.frequency:
        second.append((clause.frequency.french[0], "frequency"))
    clitic: list[Word] = []
    if isinstance(clause.object, Pronoun):
        clitic = _nominal(clause.object, "object")
    elif isinstance(clause.recipient, Pronoun):
        clitic = _nominal(clause.recipient, "recipient")
    if clause.modal:
        return negation + finite + second + clitic + rest
    return negation + clitic + finite + second + rest


def _verb_forms(clause: Clause) -> tuple[list[Word], list[Word]]:
    """Return the finite verb, and the participle or infinitive after it."""
    person, verb, tense = clause.subject.person, clause.verb, clause.tense
    if verb is None:
        return [(_BE[tense][person], "verb auxiliary" if tense == "future" else "verb")], []
    whole, french = "verb particle", verb.french
    if clause.modal:
        return [(clause.modal.french[person], "auxiliary")], [(french.infinitive, whole)]
    if tense == "present":
        return [(french.present[person], whole)], []
    if tense == "future":
        return [(french.future + _FUTURE[person], f"{whole} auxiliary")], []
    if french.etre:
        participle = french.participle + _ending(clause.subject)
        return [(_BE["present"][person], "auxiliary")], [(participle, whole)]
    held = clause.object if isinstance(clause.object, Pronoun) else None
    participle = french.participle
    if held and not (participle.endswith("s") and not held.feminine):
        participle += _ending(held)
    return [(_HAVE[person], "auxiliary")], [(participle, whole)]


def _ending(nominal: Nominal) -> str:
    return ("e" if nominal.feminine else "") + ("s" if nominal.plural else "")


def _complements(clause: Clause) -> list[Word]:
    words: list[Word] = []
    held, recipient = clause.object, clause.recipient
    if held and not isinstance(held, Pronoun):
        words += _nominal(held, "object", clause.negated)
    if recipient and not isinstance(recipient, Pronoun):
        words += [("à", "recipient-case"), *_nominal(recipient, "recipient")]
    if clause.adjunct:
        preposition, phrase = clause.adjunct
        words += [(text, "adjunct-case") for text in preposition.french]
        words += noun_phrase(phrase, "adjunct")
    if clause.predicate:
        form = clause.subject.feminine + 2 * clause.subject.plural
        words.append((clause.predicate.french[form], "predicate"))
    return words


def _nominal(nominal: Nominal, role: str, denied: bool = False) -> list[Word]:
    if isinstance(nominal, Phrase):
        return noun_phrase(nominal, role, denied)
    return [(nominal.french[FORMS.index(role)], f"{role}-noun")]


def noun_phrase(phrase: Phrase, role: str, denied: bool = False) -> list[Word]:
    """Return a noun with the words that agree with it, before elision; denied: with "de"."""
    _, noun, plural, adjectives = phrase
    before: list[Word] = []
    words: list[Word] = [(noun.french[plural], f"{role}-noun")]
    for n, adjective in enumerate(adjectives):
        form = noun.feminine + 2 * plural
        if adjective.before and form == 0 and words[0][0][0] in VOWELS:
            form = 4
        place = before if adjective.before else words
        place.append((adjective.french[form], f"{role}-adjective{n}"))
    adjective_first = bool(before)
    words = before + words
    return _determiner(phrase, words[0][0], role, denied, adjective_first) + words


def _determiner(
    phrase: Phrase, following: str, role: str, denied: bool, adjective_first: bool
) -> list[Word]:
    determiner, noun, plural, _ = phrase
    article = f"{role}-article"
    if determiner == "bare" or denied:
        concepts = f"{role}-noun" if determiner == "bare" else article
        if denied or (plural and adjective_first):
            return [("de", concepts)]
        if plural:
            return [("des", concepts)]
        return [("de", concepts), ("la" if noun.feminine else "le", concepts)]
    if determiner == "many":
        return [("beaucoup", article), ("de", article)]
    form = 2 if plural else int(noun.feminine)
    if form < 2 and following[0] in VOWELS:
        form = 3 + form
    return [(_DETERMINERS[determiner][form], article)]


def _joined(words: list[Word]) -> list[Word]:
    """Apply elision (le homme: l'homme) and contraction (à le: au), from right to left."""
    joined = [words[-1]]
    for text, concepts in reversed(words[:-1]):
        following, others = joined[-1]
        if text in _ELIDED and following[0] in VOWELS:
            joined[-1] = (text[:-1] + "'" + following, f"{concepts} {others}")
        elif following in _CONTRACTED.get(text, ()):
            joined[-1] = (_CONTRACTED[text][following], f"{concepts} {others}")
        else:
            joined.append((text, concepts))
    return joined[::-1]


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

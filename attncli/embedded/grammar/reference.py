"""Pronouns that refer to a noun, by its German gender, French gender and English class."""

from __future__ import annotations

from attncli.embedded.grammar.lexicon import HE, HER, HIM, THEM, THEY, Name, Pronoun
from attncli.embedded.grammar.meaning import Nominal


def reference(nominal: Nominal) -> Pronoun:
    """Return the pronoun that refers to a nominal."""
    if isinstance(nominal, Pronoun):
        return nominal
    if isinstance(nominal, Name):
        return HER if nominal.feminine else HIM
    person = "person" in nominal.noun.classes
    return _REFERENCES[person, nominal.plural, nominal.noun.gender, nominal.noun.feminine]


def _pronoun_for(person: bool, plural: bool, gender: int, feminine: bool) -> Pronoun:
    if person and not plural:
        return HER if feminine else HIM
    german = ("er", "sie", "es")[gender]
    french = "elle" if feminine else "il"
    if plural:
        return Pronoun(THEM.english, THEM.german, (french + "s", "", ""), THEY, feminine)
    return Pronoun(("it", "it"), (german, "", ""), (french, "", ""), HE, feminine)


_REFERENCES = {
    (person, plural, gender, feminine): _pronoun_for(person, plural, gender, feminine)
    for person in (False, True)
    for plural in (False, True)
    for gender in range(3)
    for feminine in (False, True)
}

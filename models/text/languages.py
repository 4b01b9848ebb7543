"""Languages of a model, and glossaries."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from models.core.errors import LISTED, ConfigurationError, unknown_name
from models.core.types import Span
from models.core.use_config import TokenizerConfig
from models.text.normalise import nfc, normalise

TO = ">"  # between the languages of a direction of a model that reads both, as in en>de
BACK_TRANSLATED = "<bt>"  # in front of a back-translated source; Caswell et al. 2019
CODE = re.compile(r"[A-Za-z0-9_]+")  # of a language; no hyphen, because en-de is a direction


def target_token(language: str) -> str:
    """Return the control token of a target language."""
    return f"<2{language}>"


def control_tokens(config: TokenizerConfig) -> list[str]:
    """Return the control symbols of a tokenizer: one per language, and that of back-translation."""
    languages = [target_token(language) for language in config.languages]
    return [*languages, BACK_TRANSLATED] if languages else []


def parse_direction(text: str) -> tuple[str, str]:
    """Return source and target language of `en-de`; raise a ValueError for another form."""
    source, _, target = text.partition("-")
    if not (CODE.fullmatch(source) and CODE.fullmatch(target)):
        raise ValueError(text)
    return source, target


def known_language(code: str, known: Collection[str]) -> str:
    """Return the language among the known ones that a code means: EN, en_US and en-GB mean en.

    A code that means none is returned as it is.
    """
    if code in known:
        return code
    forms = {language.lower().replace("_", "-"): language for language in known}
    whole = code.strip().lower().replace("_", "-")
    scripts = [form for form in forms if form.partition("-")[0] == whole]  # eng means eng_Latn
    if len(scripts) == 1:
        return forms[scripts[0]]
    return forms.get(whole) or forms.get(whole.partition("-")[0]) or code


def check_direction(config: TokenizerConfig, to: str, source: str = "") -> str:
    """Return the target language to use for `to`; "" for a model without target languages.

    For a model that reads both languages it is both, as in en>de; `to` may have that form.
    Raises ModelError for a language that the model does not have, and for a missing one.
    """
    if not config.languages:
        if to or source:
            given = f"target language '{to}'" if to else f"source language '{source}'"
            raise ConfigurationError(
                f"{given} for a model of a single direction",
                "no language: this model always translates in its one direction",
                "leave out --to and --from",
            )
        return ""
    own, _, to = to.rpartition(TO)
    to, source = (known_language(code, config.languages) for code in (to, source or own))
    if source and source not in config.languages:
        raise unknown_name("source language", source, config.languages)
    targets = {direction.partition("-")[2] for direction in config.directions}
    to = to or (targets.pop() if len(targets) == 1 else "")
    if not to:
        raise ConfigurationError(
            "no target language for a model of several languages",
            f"one of {named(config.languages)}",
            "choose it with --to",
        )
    if to not in config.languages:
        raise unknown_name("target language", to, config.languages)
    if source == to and f"{to}-{to}" not in config.directions:
        raise ConfigurationError(f"'{to}' as source and target language", "two languages")
    if config.language_tokens != "both":
        return to
    if not source:
        raise ConfigurationError(
            "no source language for a model that reads it",
            f"one of {named(config.languages)}",
            "choose it with --from",
        )
    return f"{source}{TO}{to}"


def with_source(config: TokenizerConfig, to: str, source: str) -> str:
    """Return a target language with the source language, for a model that reads both."""
    if config.language_tokens != "both" or not source or TO in to:
        return to
    return f"{source}{TO}{to}"


def named(languages: Collection[str]) -> str:
    """Return some languages as a list; the rest of a long one is left out."""
    first = ", ".join([*languages][:LISTED])
    return first if len(languages) <= LISTED else f"{first} and {len(languages) - LISTED} others"


def is_zero_shot(config: TokenizerConfig, to: str, source: str = "") -> bool:
    """Return True if no training data had this direction; without a source, any into `to`."""
    if not config.directions or not to:
        return False
    if source:
        return f"{source}-{to}" not in config.directions
    return all(direction.partition("-")[2] != to for direction in config.directions)


def pivot(config: TokenizerConfig, source: str, to: str) -> str:
    """Return a language through which an untrained direction can be translated; "" for none.

    It is the first language into which the training data translate `source`, and from which they
    translate into `to`. A trained direction needs none.
    """
    if not source or not is_zero_shot(config, to, source):
        return ""
    both = ({f"{source}-{language}", f"{language}-{to}"} for language in config.languages)
    found = zip(config.languages, both, strict=True)
    return next((language for language, pair in found if pair <= {*config.directions}), "")


class Term(NamedTuple):
    """A source term and its translation."""

    source: str
    target: str


class FoundTerm(NamedTuple):
    """A term in a text."""

    span: Span  # in characters
    target: str


class Glossary:
    """Terms to find in texts, as whole words.

    Case, spacing, the kind of apostrophe and decomposed accents do not matter.
    """

    def __init__(self, terms: tuple[Term, ...]) -> None:
        self.terms = terms
        sources = [_matched(term.source) for term in terms]
        pairs = zip(sources, terms, strict=True)
        self._by_source = {source.casefold(): term.target for source, term in pairs}
        any_term = "|".join(map(re.escape, sorted(sources, key=len, reverse=True))) or r"(?!)"
        self._pattern = re.compile(rf"(?<!\w)(?:{any_term})(?!\w)", re.IGNORECASE)

    def targets(self, text: str) -> list[str]:
        """Return the translations of the terms in a text, each once, in the order of the text.

        Of overlapping terms, the longest is found.
        """
        matches = self._pattern.finditer(_matched(text))
        found = (self._by_source[match[0].casefold()] for match in matches)
        return list(dict.fromkeys(found))

    def terms_in(self, text: str) -> list[Term]:
        """Return the terms whose translations belong into an output of a text."""
        wanted = {*self.targets(text)}
        return [term for term in self.terms if term.target in wanted]

    def found(self, text: str) -> list[FoundTerm]:
        """Return the terms in a text with their places; none if its comparison changes places."""
        matched = _matched(text)
        if len(matched) != len(text):
            return []
        matches = self._pattern.finditer(matched)
        return [FoundTerm(one.span(), self._by_source[one[0].casefold()]) for one in matches]


def _matched(text: str) -> str:
    """Return the form of a text or a term in which they are compared."""
    return nfc(normalise(text))

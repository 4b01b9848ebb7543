"""Amounts: numbers in words, and digits before a word such as "million", with their values.

    [one.value for one in amounts("two hundred and six", "en")] == [206]
    [one.value for one in amounts("1,5 Milliarden", "de")] == [1_500_000_000]

Words are those of English, German, French and Spanish. A billion is 10⁹ in English alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from models.text.phrases import LANGUAGES

LEAST = 13  # smaller numbers are free in translation: "one", "two", "a second", "a dozen"
# a part of every larger number in words, or of a word that multiplies one
LARGE_WORD = re.compile(
    r"twent|thirt|fort[iy]|fift|sixt|sevent|eight[iy]|ninet|hundr|thousand|illi[oa]|illón|hundert|tausend|[zßs]ig(?:st|\b)"
    r"|zwanzig|dreißig|vingt|trent|quarant|cinquant|soixant|ptant|nonant|\bcent|\bmil|veint|treint|enta|cien|[gt][eé]sim"
    r"|teen|[a-zßü]zehn|treiz|quatorz|quinz|\bseiz|dix-|\btrece|catorc|quinc|dieci"
    r"|\d\s?(?:bn|tn|mio|mrd|md|mld|mill?)\b|[$€£¥₹]\s?[\d.,]+[mk]\b|\d\s?[mk][$€£]"
)
SMALL = {  # from 0 on
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    " fifteen sixteen seventeen eighteen nineteen",
    "de": "null ein zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn"
    " funfzehn sechzehn siebzehn achtzehn neunzehn",
    "fr": "zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze"
    " seize",
    "es": "cero un dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince"
    " dieciseis diecisiete dieciocho diecinueve",
}
TENS = {  # from 20 on
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig",
    "fr": "vingts? trente quarante cinquante soixante septante huitante nonante",
    "es": "veint[ei] treinta cuarenta cincuenta sesenta setenta ochenta noventa",
}
OTHERS = {  # other forms, and the words that multiply
    "en": "hundred:2 thousand:3 million:6 billion:9 trillion:12 bn:9 tn:12",
    "de": "eine[mnrs]?=1 eins=1 zwo=2 hundert:2 tausend:3 million(?:en)?:6 milliarden?:9 "
    "billion(?:en)?:12 mio:6 mrd:9",
    "fr": "une=1 octante=80 cents?:2 mille:3 millions?:6 milliards?:9 billions?:12 md:9",
    "es": "un[oa]=1 cien=100 ciento=100 cient[oa]s:2 quinient[oa]s=500 sete(?=cient)=7"
    " nove(?=cient)=9 mil:3 millon(?:es)?:6 billon(?:es)?:12 mill:6",
}
ORDINALS = {  # of the last word; a suffix alone belongs to a cardinal
    "en": "first=1 second=2 third=3 fifth=5 eighth=8 ninth=9 twelfth=12 twentieth=20 thirtieth=30"
    " fortieth=40 fiftieth=50 sixtieth=60 seventieth=70 eightieth=80 ninetieth=90 th=0",
    "de": "erste[mnrs]?=1 dritte[mnrs]?=3 siebte[mnrs]?=7 achte[mnrs]?=8 s?te[mnrs]?=0",
    "fr": "unieme=1 quatrieme=4 cinquieme=5 neuvieme=9 onzieme=11 douzieme=12 treizieme=13"
    " quatorzieme=14 quinzieme=15 seizieme=16 trentieme=30 quarantieme=40 cinquantieme=50"
    " soixantieme=60 septantieme=70 nonantieme=90 millieme=1000 ieme=0",
    "es": "primer[oa]?=1 segund[oa]=2 tercer[oa]?=3 cuart[oa]=4 quint[oa]=5 sext[oa]=6 septim[oa]=7"
    " octav[oa]=8 noven[oa]=9 decim[oa]=10 vigesim[oa]=20 trigesim[oa]=30 cuadragesim[oa]=40"
    " quincuagesim[oa]=50 sexagesim[oa]=60 septuagesim[oa]=70 octogesim[oa]=80 nonagesim[oa]=90",
}
AND = {"en": "and", "de": "und", "fr": "et", "es": "y"}
SYMBOLS = {"m": 6, "k": 3}  # after digits with the sign of a currency
TOKEN = re.compile(r"(?<![\d.,])\d+(?:[.,\u00a0\u202f]\d+)*|[^\W\d_]+|[^\w\s-]")
HALVES = frozenset(("half", "halbe", "halben", "demi", "medio", "media", "quarter"))
AND_A_HALF = re.compile(r"\s+(?:and a half|et demie?|y medi[oa])\b")
SHORTENED = frozenset(("mio", "mrd", "mill"))  # with a stop
SHARES = frozenset(("per", "pour", "por"))  # before "cent", "ciento"


class Amount(NamedTuple):
    """A number in a text."""

    start: int
    end: int
    value: float
    ordinal: bool = False
    in_words: bool = True  # False: digits alone


class _Atom(NamedTuple):
    """A part of a word: 20, 9, or a power of ten that multiplies what is before it."""

    value: int
    is_power: bool = False
    plural: bool = False  # a power that needs a number before it
    ordinal: bool = False
    joined: bool = False  # "und" is before it in the word


def may_have_amount(text: str) -> bool:
    """Return False for a text without large numbers in words, at small cost."""
    return bool(LARGE_WORD.search(text.lower()))


def amounts(text: str, language: str = "") -> list[Amount]:
    """Return the amounts of a text in order. language: "" reads it in the one that fits best."""
    if language:
        return [*_amounts(text, language)] if language in LANGUAGES else []
    found = (amounts(text, one) for one in LANGUAGES)
    return max(found, key=lambda each: sum(one.end - one.start for one in each))


def source_language(languages: tuple[str, str]) -> str:
    """Return the language to read a source in: English for another target, if it is unknown."""
    return languages[0] or ("en" if languages[1] not in ("", "en") else "")


def large_words(text: str, languages: tuple[str, str]) -> list[Amount]:
    """Return the amounts of LEAST and more in words. languages: of the text and of the output."""
    found = amounts(text, source_language(languages)) if may_have_amount(text) else []
    return [one for one in found if one.in_words and one.value >= LEAST]


def lost_words(
    source: str, output: str, languages: tuple[str, str] = ("", "")
) -> tuple[list[str], str, str]:
    """Return the numbers in words that an output lacks, and both texts without what they share.

    Small numbers are not compared, nor is an output in a language without a table of numbers.
    """
    wanted, found = amounts(source, source_language(languages)), amounts(output, languages[1])
    if not any(one.in_words for one in (*wanted, *found)):
        return [], source, output
    known = {one.value for one in found}
    compared = languages[1] in LANGUAGES or any(value >= LEAST for value in known)
    lost = [
        source[one.start : one.end]
        for one in wanted
        if one.in_words and one.value >= LEAST and one.value not in known
        if not (one.ordinal and re.search(rf"\b{_roman(one.value)}\b", output))
    ]
    others: dict[float, list[Amount]] = {}
    for other in reversed(found):
        others.setdefault(other.value, []).append(other)
    shared = [
        (one, others[one.value].pop())
        for one in sorted(wanted, key=lambda one: not one.in_words)
        if one.value > 1 and others.get(one.value)  # "ein" is mostly no number
    ]
    source = _blank(source, [one for one, _ in shared])
    output = _blank(output, [other for _, other in shared])
    return lost if compared else [], source, output


def _blank(text: str, amounts: Sequence[Amount]) -> str:
    """Return a text with spaces in place of some amounts."""
    letters = list(text)
    for one in amounts:
        letters[one.start : one.end] = " " * (one.end - one.start)
    return "".join(letters)


def _roman(value: float) -> str:
    """Return a number below 100 as in "siglo XXI"."""
    tens = ["", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC"]
    ones = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"]
    return tens[int(value // 10)] + ones[int(value % 10)] if value < 100 else "(?!)"


def in_digits(amount: Amount, source: str) -> str:
    """Return what a model reads for a number in words; "" for one that is too long to copy."""
    endings = {"de": ".", "fr": "e", "es": "º"}
    if amount.value >= 10_000 or amount.value % 1:
        return ""
    number = int(amount.value)
    last = 0 if number // 10 % 10 == 1 else number % 10
    ending = endings.get(source, {1: "st", 2: "nd", 3: "rd"}.get(last, "th"))
    return f"{number}{ending if amount.ordinal else ''}"


def _amounts(text: str, language: str) -> Iterator[Amount]:
    number, earlier, before, end, article = _Number(language), "", "", 0, 0
    for token in TOKEN.finditer(text):
        word, start, touches = _plain(token[0]), token.start(), token.start() == end
        end = token.end()
        if word in SHORTENED and re.match(r"\.\s*[^\W_]", text[end:]):
            end += 1
        digits = _digits(word) if word[:1].isdecimal() else None
        if word == AND[language] and number.is_open:
            number.joins = True
            continue
        atoms = (_Atom(0),) if digits is not None else _atoms(word, language)
        if word in SYMBOLS and number.has_digits and _is_price(text, number.start, end, touches):
            atoms = (_Atom(SYMBOLS[word], is_power=True),)
        elif before in SHARES and not number.is_open:
            atoms = ()
        if language == "en" and before == "a" and atoms and atoms[0].is_power:  # a hundred
            start, before = article, earlier
        for atom in atoms or (None,):
            if atom and number.is_open and number.takes(atom, digits, end):
                continue
            yield from number.closed(text)
            number = _Number(language, start, before)
            if atom:
                number.takes(atom, digits, end)
        earlier, before, article = before, word, token.start()
    yield from number.closed(text)


class _Number:
    """A number that is read word by word."""

    def __init__(self, language: str, start: int = 0, before: str = "") -> None:
        self.language, self.start, self.before = language, start, before
        self.end, self.is_open, self.joins = start, False, False  # joins: "and" is before the next
        self.total, self.rest, self.power = 0.0, 0.0, 0  # rest: what the next power multiplies
        self.ordinal, self.in_words, self.last = False, False, 0
        self.is_bare = False  # it begins with a power, as in "hundred"

    def takes(self, atom: _Atom, digits: float | None, end: int) -> bool:
        """Add the next word if it continues the number; return False if it does not."""
        self.joins |= atom.joined
        if digits is not None:
            fits = not self.is_open
            self.rest = digits if fits else self.rest
        elif self.ordinal and not (self.language == "es" and atom.ordinal):
            fits = False
        elif atom.is_power:
            fits = not self.joins and self._multiplied(atom)
        else:
            fits = self._added(atom.value, atom.ordinal)
        if fits:
            self.in_words |= digits is None
            self.ordinal |= atom.ordinal
            self.end, self.is_open, self.joins = end, True, False
        return fits

    def _multiplied(self, atom: _Atom) -> bool:
        bare = not self.rest and not (self.total and atom.value > self.power)
        self.is_bare = not self.is_open
        if (bare and atom.plural) or atom.value == self.power:
            return False
        if atom.value == 2:
            most = {"es": 9, "fr": 19}.get(self.language, 99)
            if self.rest > most or (self.rest == 0) != bare:
                return False
            self.rest = (self.rest or 1) * 100
            return True
        if self.power and atom.value > self.power:  # dos mil millones
            self.total = (self.total + self.rest) * 10**atom.value
        else:
            self.total += (self.rest or 1) * 10**atom.value
        self.rest, self.power = 0, atom.value
        return True

    def _added(self, value: int, ordinal: bool) -> bool:
        last, tens = self.rest % 100, value >= 20 and value % 10 == 0
        if not self.is_open or (last == 0 and (self.rest or self.total)):
            fits = not self.joins or (self.language in ("en", "de") and value < 100)
        elif value == 0:  # the ending of an ordinal
            fits = ordinal
        elif self.language == "de":
            fits = self.joins and last < 10 and tens
        elif self.language == "es":
            fits = last % 10 == 0 and (self.ordinal or self.joins or last == 20) and value < 10
            fits = fits and ordinal == self.ordinal
        elif self.language == "fr" and last in (4, 60, 80) and not self.joins and value > 9:
            fits = value == 20 if last == 4 else value < 20
            value = 76 if last == 4 else value
        elif self.language == "fr" and self.last == 10:  # dix-sept
            fits = 6 < value < 10
        elif self.language == "fr" and self.joins:
            fits = last % 10 == 0 and value in (1, 11)
        elif self.language == "en" and not self.total and 10 < self.rest < 21 and value > 9:
            self.rest, fits = self.rest * 100, not self.joins  # nineteen eighty-four
        else:
            fits = last > 19 and last % 10 == 0 and value < 10 and not self.joins
        self.rest += value * fits
        self.last = value
        return fits

    @property
    def has_digits(self) -> bool:
        """True for digits alone."""
        return self.is_open and not self.in_words

    def closed(self, text: str) -> Iterator[Amount]:
        """Yield the number if it is complete: not a part such as "half a million"."""
        is_part = self.before in HALVES or bool(AND_A_HALF.match(text, self.end))
        if text[self.start - 1 : self.start] == "-":  # of the time nine-thirty
            is_part = is_part or bool(_atoms(self.before, self.language))
        if self.is_bare and text[self.end : self.end + 1] == "-":  # mille-pattes
            is_part = True
        if self.is_open and not is_part:
            value = self.total + self.rest
            yield Amount(self.start, self.end, round(value, 3), self.ordinal, self.in_words)


def _is_price(text: str, start: int, end: int, touches: bool) -> bool:
    """Return True for $5m and 5 M€."""
    before = touches and re.search(r"[$€£¥₹]\s?$", text[max(0, start - 2) : start])
    return bool(before or re.match("[$€£¥₹]", text[end : end + 1]))


def _plain(word: str) -> str:
    """Return a word in small letters without accents, with ss for ß."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFD", word.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def _digits(raw: str) -> float:
    """Return the value of digits in the style of any language."""
    if re.fullmatch(r"\d{1,3}(?:[.,\u00a0\u202f]\d{3})+", raw):
        return float(re.sub(r"\D", "", raw))
    whole, mark, rest = (
        raw.rpartition(",") if raw.rfind(",") > raw.rfind(".") else raw.rpartition(".")
    )
    return float(re.sub(r"\D", "", whole) + mark.replace(",", ".") + re.sub(r"\D", "", rest))


@cache
def _forms(language: str) -> tuple[re.Pattern[str], list[_Atom]]:
    """Return the pattern of a part of a word, with a group for each form, and their values."""
    forms = [(one, _Atom(value)) for value, one in enumerate(SMALL[language].split())]
    tens = enumerate(TENS[language].split(), 2)
    forms += [(one, _Atom(value * 10)) for value, one in tens]
    for text, ordinal in ((OTHERS[language], False), (ORDINALS[language], True)):
        for form, kind, value in re.findall(r"(\S+)([=:])(\d+)", text):
            forms.append((form, _Atom(int(value), kind == ":", ordinal=ordinal)))
    forms.sort(key=lambda each: -len(each[0]))
    return re.compile("|".join(f"({form})" for form, _ in forms)), [atom for _, atom in forms]


@lru_cache(4096)
def _atoms(word: str, language: str) -> tuple[_Atom, ...]:
    """Return the parts of a word; none if it is no number."""
    pattern, values = _forms(language)
    found, at = list[_Atom](), 0
    while at < len(word):
        joined = bool(found) and language == "de" and word.startswith("und", at)
        part = pattern.match(word, at + 3 * joined)
        if not part or not part.lastindex:
            return ()
        atom, at = values[part.lastindex - 1], part.end()
        plural = atom.is_power and part[0].endswith(("s", "en"))
        found.append(atom._replace(joined=joined, plural=plural))
    return () if found[:1] == [_Atom(0, ordinal=True)] else tuple(found)

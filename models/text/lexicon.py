"""A lexicon: translations of rare words, which a model reads in the place of the words.

    Die Mahngebühr wird Ihnen erlassen.
    Die <reminder fee|fine> wird Ihnen erlassen.     < | > stand for the tokens OPEN, OR, CLOSE

What is common is in the weights; what is rare stands here, where a person can read and edit it. A
model that was trained with such sources chooses among the candidates by the context, and inflects
what it chooses. The candidates of a form that was found by a part of it, such as a compound, stand
behind the form and the token IS, because its ending matters.

An entry is a line: direction, form, how often the training data have the form (the number of
binary digits of its count), and up to three candidates, separated by bars:

    de-en	Mahngebühr	0	reminder fee|fine

Its file has the lines in the order of `order`, in compressed blocks of BLOCK characters that are
read when they are needed: a word costs one look into one block, and start-up costs nothing. Lines
without candidates name common forms, by which the language of a text is recognised.
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from models.core.errors import intact

OPEN, OR, IS, CLOSE = "\ue040", "\ue041", "\ue042", "\ue043"  # tokens of the vocabulary
MARKS = (OPEN, OR, IS, CLOSE)
VISIBLE = str.maketrans(dict(zip(MARKS, "<|=>", strict=True)))
# smaller blocks unpack sooner: 0.24 s of processor time for 2,000 lines, 0.41 s with larger ones
BLOCK = 1 << 13  # characters
MOST_BLOCK = 1 << 18  # bytes of a block
CACHED = 256  # blocks in memory
COMMONEST = 99  # binary digits of a count that no form has
OWN = 3  # binary digits by which a form with candidates of its own may be rarer than another case
RARER = 3  # binary digits by which a small form may be rarer, where a capital is that of a sentence
LONGEST = 5  # words of a form
CANDIDATES = 3  # of an entry
ALWAYS = -1  # rarity of an entry that is read wherever its form stands, as a user's
COMMON = 8  # binary digits of a count from which a form tells its language
AHEAD = 2  # words, by which a language is surely that of a text
NAME, EXPECTED = "the lexicon of the model", "the file that came with it"  # of messages
# shorter parts are found inside almost every long word
PART = 4  # letters of a part of a compound, at least
# German compounds have -s-, -n- or -es- between their parts
JOINT = 2  # letters between two parts, at most
# inflection mostly changes the end of a word
STEM, ENDING = 4, 3  # letters that forms of a word share at least, and of the longest ending
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
SHORTENED = re.compile(r"\.(?= ?[\da-zß-öø-ÿ])")  # behind a form
TITLE = re.compile(r"[A-Z][a-z]{1,3}")  # in front of a name, with a full stop: Mr., Prof.
SENTENCE_ENDS = ".,;:!?…"
SHORT = 4  # letters of a word that a heading With Capitals may have with a small one
ENDS = re.compile(r"[^\w\s,;'’-]")  # between a word and one that may begin a sentence
MAGIC = (
    # then a line: binary digits of the count from which on a form is common, with exceptions for
    # directions: "7 de-en=9"
    b"attn lexicon 1\n"
)


class LexiconEntry(NamedTuple):
    """Candidates for a form."""

    form: str
    rarity: int  # binary digits of the number of times that the training data have the form
    candidates: tuple[str, ...]


class KnownWord(NamedTuple):
    """What a lexicon knows of a word, in any case."""

    rarity: int  # that of its commonest form; ALWAYS if it has none
    candidates: tuple[str, ...]


class FoundForm(NamedTuple):
    """A form in a text, with its candidates."""

    start: int
    end: int
    candidates: tuple[str, ...]
    exact: bool  # False for a compound, which the model reads, too
    rarity: int = 0  # as of an entry


class UnitEntry(NamedTuple):
    """An entry that a model reads in the place of a form."""

    unit: int  # of the source, in which the form begins
    form: str
    candidates: tuple[str, ...]

    @property
    def label(self) -> str:
        """The form with its candidates."""
        return f"{self.form} = {'|'.join(self.candidates)}"


def order(direction: str, form: str) -> tuple[str, str, str]:
    """Return the key by which entries are sorted: forms that differ in case are neighbours."""
    return direction, form.lower(), form


class Lexicon:
    """Entries for directions such as de-en."""

    def __init__(self, packed: bytes = b"", added: Iterable[tuple[str, LexiconEntry]] = ()) -> None:
        """Read a file of `pack`; a DamagedError if it is damaged, also when a block is read later.

        added: further entries with their directions, which come first; "" is any direction.
        """
        self._starts, self._places = list[tuple[str, str]](), list[tuple[int, int]]()
        self._packed = packed
        self.most, self.exceptions = 1, dict[str, int]()  # binary digits; those of directions
        if packed:
            with intact(NAME, EXPECTED):
                self._read_index()
        self._added: dict[tuple[str, str], list[LexiconEntry]] = {}
        for direction, entry in added:
            first = entry.form.lower().partition(" ")[0].removesuffix(".")
            self._added.setdefault((direction, first), []).append(entry)
        self._block = lru_cache(CACHED)(self._read_block)
        self._entries = lru_cache(1 << 15)(self._find)
        self.word = lru_cache(1 << 13)(self._word)

    def _read_index(self) -> None:
        """Read where each block begins, and its first direction and form."""
        size = int.from_bytes(self._packed[-4:], "big")
        if not self._packed.startswith(MAGIC) or size > len(self._packed) - 4:
            raise ValueError("no lexicon")
        # bounded, because a few damaged bytes can expand to gigabytes
        index = _decompressed(self._packed[-4 - size : -4], len(self._packed) * 20)
        place = self._packed.index(b"\n", len(MAGIC)) + 1
        most, *exceptions = self._packed[len(MAGIC) : place].decode().split()
        self.most = int(most)
        pairs = (one.split("=") for one in exceptions)
        self.exceptions = {direction: int(digits) for direction, digits in pairs}
        for line in index.split("\n")[:-1]:
            direction, form, length = line.split("\t")
            self._starts.append((direction, form))
            self._places.append((place, int(length)))
            place += int(length)
        # bisection in a damaged index would find nothing, without an error
        if self._starts != sorted(self._starts):
            raise ValueError("blocks that are not in order")

    def sizes(self) -> dict[str, int]:
        """Return the number of entries of each direction in the file, in order."""
        counts: Counter[str] = Counter()
        for number in range(len(self._places)):
            lines = [line for line in self._read_block(number) if not line.endswith("\t")]
            ways = [line.partition("\t")[0] for line in (*lines[:1], *lines[-1:])]
            if len({*ways}) > 1:
                counts.update(line.partition("\t")[0] for line in lines)
            elif ways:
                counts[ways[0]] += len(lines)
        return dict(counts)

    def _read_block(self, number: int) -> list[str]:
        place, length = self._places[number]
        with intact(NAME, EXPECTED):
            text = _decompressed(self._packed[place : place + length], MOST_BLOCK)
        return text.splitlines()

    def entries(self, direction: str, word: str) -> Mapping[str, Sequence[LexiconEntry]]:
        """Return the entries that begin with a word in small letters, by form in small letters."""
        return self._entries(direction, word)

    def _find(self, direction: str, word: str) -> dict[str, list[LexiconEntry]]:
        found: dict[str, list[LexiconEntry]] = {}
        added = (self._added.get((one, word), ()) for one in dict.fromkeys((direction, "")))
        for each in chain(*added, self._stored(direction, word)):
            found.setdefault(each.form.lower(), []).append(each)
        return found

    def _word(self, direction: str, word: str) -> KnownWord:
        """Return what a direction knows of a word in small letters."""
        entries = self.entries(direction, word).get(word, ())
        rarity = max((one.rarity for one in entries), default=ALWAYS)
        return KnownWord(rarity, tuple(text for one in entries for text in one.candidates))

    def _stored(self, direction: str, word: str) -> Iterator[LexiconEntry]:
        """Yield the entries of the file that begin with a word."""
        # a space sorts below all letters, so forms that begin with the word follow it
        last = (direction, f"{word}.\uffff")  # and a full stop does, too
        number = max(0, bisect_left(self._starts, (direction, word)) - 1)
        while number < len(self._starts) and self._starts[number] <= last:
            lines = self._block(number)
            with intact(NAME, EXPECTED):
                start = bisect_left(lines, (direction, word), key=_key)
                end = bisect_right(lines, last, lo=start, key=_key)
                found = [_entry(line) for line in lines[start:end]]
            yield from found
            number += 1

    def with_entries(self, added: Iterable[tuple[str, LexiconEntry]]) -> Lexicon:
        """Return this lexicon with further entries, which come first."""
        kept = ((direction, one) for (direction, _), each in self._added.items() for one in each)
        return Lexicon(self._packed, [*added, *kept])

    @property
    def directions(self) -> set[str]:
        """The directions that have entries."""
        return {direction for direction, _ in (*self._starts, *self._added)}

    def language(self, text: str, to: str, languages: Iterable[str]) -> str:
        """Return the language most of whose common forms a text has; "" if none is ahead."""
        ways = {language: f"{language}-{to}" for language in languages if language != to}
        found = self._common_forms(text, ways)
        return found[0][1] if found and (len(found) == 1 or found[0][0] > found[1][0]) else ""

    def sure_language(self, text: str) -> str:
        """Return the language in which a text surely is; "" if it may be another.

        More than half of its words are common forms of it, and AHEAD more than of each other one.
        """
        ways = {direction.partition("-")[0]: direction for direction in sorted(self.directions)}
        found = [*self._common_forms(text, ways), (0, ""), (0, "")]
        count, language = found[0]
        words = sum(1 for _ in WORD.finditer(text))
        # of 480 judged sources and 100 practical ones, this rule names none wrong and 466 of the
        # 480 right
        return language if count >= found[1][0] + AHEAD and 2 * count > words else ""

    def _common_forms(self, text: str, ways: Mapping[str, str]) -> list[tuple[int, str]]:
        """Return how many words of a text are common in each language, the most first.

        ways: a direction from each language.
        """
        words = [match[0].lower() for match in WORD.finditer(text)]
        counts = [
            (sum(self._is_common(way, word) for word in words), language)
            for language, way in ways.items()
        ]
        return sorted(counts, key=lambda each: each[0], reverse=True)

    def _is_common(self, direction: str, word: str) -> bool:
        return self.word(direction, word).rarity >= COMMON

    def most_of(self, direction: str) -> int:
        """Return the binary digits of the count from which on a form is left to the weights."""
        return self.exceptions.get(direction, self.most)

    def found(self, text: str, direction: str, most: int | None = None) -> list[FoundForm]:
        """Return the forms in a text that have candidates; of overlapping ones the longest.

        most: binary digits of the count from which on a form is left to the weights; None: those
        that the file names.
        """
        most = self.most_of(direction) if most is None else most
        # a text that has the marks itself would be read as one with entries
        words = [] if {*MARKS} & {*text} else [*WORD.finditer(text)]
        found, number = list[FoundForm](), 0
        while number < len(words):
            one, used = self._at(text, words, number, direction, most)
            if one:
                found.append(one)
            number += used
        return found

    def _at(
        self, text: str, words: list[re.Match[str]], number: int, direction: str, most: int
    ) -> tuple[FoundForm | None, int]:
        """Return the form that begins at a word, and how many words it has, at least 1."""
        start = words[number].start()
        entries = self.entries(direction, words[number][0].lower())
        is_name = _is_name(text, words, number)
        # the longest form first: "hardly ever" is no "ever"
        for used in range(min(LONGEST, len(words) - number), 0, -1):
            end = words[number + used - 1].end()
            form = text[start:end]
            is_dotted = text.startswith(".", end) and text[end + 1 :].strip()
            dotted = entries.get(f"{form.lower()}.", ()) if is_dotted else ()
            if dotted and dotted[0].candidates:
                return FoundForm(start, end + 1, dotted[0].candidates, True, dotted[0].rarity), used
            same = entries.get(form.lower(), ())
            # a user's entry comes before another case of the file
            same = [each for each in same if each.rarity == ALWAYS] or same
            # a form with another case is another word: a common "la" is no rare "La"
            exact = [each for each in same if each.form == form]
            exact = exact or [each for each in same if each.rarity == ALWAYS or not is_name]
            rarity = max((each.rarity for each in exact), default=most)
            rarity = ALWAYS if exact and exact[0].rarity == ALWAYS else rarity
            if rarity < most and exact[0].candidates:
                # the full stop inside a sentence belongs to the abbreviation: "Dec. 24"
                end += bool(SHORTENED.match(text, end))
                return FoundForm(start, end, exact[0].candidates, True, rarity), used
            # a word that the lexicon has is no compound, whatever its parts are
            if used == 1 and not same:
                parts = self._compound(direction, form.lower(), is_name)
                return (FoundForm(start, end, (parts,), exact=False) if parts else None), 1
        return None, 1

    def _compound(self, direction: str, word: str, is_name: bool) -> str:
        """Return the first candidates of the two longest parts of a word; "" if there are none.

        is_name: True for a form whose last part must be written with a capital.
        """
        for middle in range(PART, len(word) - PART + 1):
            right = self._first(direction, word[middle:], is_name)
            for joint in range(JOINT + 1) if right else ():
                end = middle - joint
                left = self._first(direction, word[:end]) if end >= PART else ""
                if left:
                    return f"{left} {right}"
        return ""

    def _first(self, direction: str, word: str, is_name: bool = False) -> str:
        """Return the first candidate of a word; "" if it has none.

        is_name: True for an entry that must have a capital.
        """
        entries = self.entries(direction, word).get(word, ())
        fitting = (each for each in entries if each.form[0].isupper() or not is_name)
        return next((each.candidates[0] for each in fitting if each.candidates), "")

    def translations(self, text: str, direction: str) -> tuple[str, ...]:
        """Return the candidates of a text that is one word, those of one word first.

        A full stop or a colon may follow, but no full stop of an abbreviation. Without a sentence
        around it, a dictionary knows a word better than weights do. A capital may be that of a
        sentence. Names, which have an entry without candidates, and acronyms have none.
        """
        word = text.strip()
        word = word[:-1] if word.endswith((".", ":")) else word
        if not WORD.fullmatch(word):
            return ()
        entries = self.entries(direction, word.lower())
        if text.strip().lower() != word.lower() and text.strip().lower() in entries:
            return ()
        same = entries.get(word.lower(), ())
        own = [each for each in same if each.rarity == ALWAYS]
        if own:
            return tuple(one for each in own for one in each.candidates)
        exact = [each for each in same if each.form == word]
        most = max((each.rarity for each in exact if not each.candidates), default=ALWAYS)
        is_name = ALWAYS < most < COMMON or (len(word) > 1 and word.isupper())
        others = [one for one in same if one.form != word and one.rarity > most and not is_name]
        found = dict.fromkeys(one for each in (*exact, *others) for one in each.candidates)
        return tuple(sorted(found, key=lambda one: " " in one))

    def has_translation(self, word: str, direction: str) -> bool:
        """Return True for a word with a translation that the training data do not have."""
        entries = self.entries(direction, word.lower()).get(word.lower(), ())
        return any(one.form == word and one.rarity <= 0 and one.candidates for one in entries)

    def begins_sentence(self, text: str, direction: str) -> bool:
        """Return True if the first word is frequent with a small letter, and has a capital here."""
        word = WORD.match(text)
        if not word or not word[0][0].isupper():
            return False
        small, capital = self._rarities(word[0], direction)
        return small > ALWAYS and small >= capital - RARER

    def in_sentence_case(self, text: str, direction: str) -> str:
        """Return a heading With Capitals with small letters in the words that usually have them.

        Models have learnt sentences, where a capital inside is a name's. Other texts stay as they
        are, and so do headings whose first word may be a name. The length stays the same.
        """
        words = [*WORD.finditer(text)]
        capitals = [one for one in words if one[0][0].isupper() and not one[0].isupper()]
        is_heading = len(capitals) > 1 and not _is_sentence(text, words)
        if not is_heading or capitals[0] != words[0]:
            return text
        first, *others = (self._rarities(one[0], direction) for one in capitals)
        # a first word, such as Add, has the capital of many sentences
        may_be_small = [first[0] >= first[1], *(small > capital for small, capital in others)]
        names = may_be_small.index(False) if False in may_be_small else len(capitals)
        small = {one.start() for one in capitals[1:names]}  # "New York Times" stays
        return "".join(sign.lower() if at in small else sign for at, sign in enumerate(text))

    def _rarities(self, word: str, direction: str) -> tuple[int, int]:
        """Return the rarities of a capitalised word with a small letter, and as it is.

        ALWAYS stands for a form without an entry; that of the small form is then less.
        """
        found = {word[0].lower() + word[1:]: ALWAYS - 1, word: ALWAYS}
        for entry in self.entries(direction, word.lower()).get(word.lower(), ()):
            if entry.form in found:
                is_own = entry.form == word and entry.candidates  # as those of May and Sun
                rarity = (entry.rarity or COMMONEST) + OWN if is_own else entry.rarity
                found[entry.form] = max(found[entry.form], rarity)
        small, capital = found.values()
        return small, capital

    def read(self, text: str, direction: str) -> str:
        """Return what the model reads of a text."""
        return with_candidates(text, self.found(text, direction))


def _is_name(text: str, words: list[re.Match[str]], number: int) -> bool:
    """Return True for a capitalised word inside a sentence, or behind a title such as Mr.

    "Fisher" is no rare "fisher" there, unless an entry has the capital, too, as a German noun. In a
    heading With Capitals, all words but short ones have one, and no sign ends it.
    """
    word = words[number][0]
    if not number or not word[0].isupper() or word.isupper():
        return False
    between = text[words[number - 1].end() : words[number].start()]
    # without this, Mr. Smith was translated as monsieur forgeron
    if between == ". " and TITLE.fullmatch(words[number - 1][0]):
        return True
    if ENDS.search(between):
        return False
    return _is_sentence(text, words)


def _is_sentence(text: str, words: list[re.Match[str]]) -> bool:
    """Return True for a text that is no heading With Capitals."""
    small = [one[0] for one in words if one[0][0].islower()]
    is_sentence = text.rstrip()[-1] in SENTENCE_ENDS or any(len(one) > SHORT for one in small)
    return is_sentence or len(small) * 2 >= len(words)


def stem(word: str) -> str:
    """Return a word in small letters without an ending."""
    return word[: max(STEM, len(word) - ENDING)].lower()


@lru_cache(1 << 14)
def stems(candidate: str) -> tuple[str, ...]:
    """Return the stems of the words of a candidate."""
    return tuple(map(stem, WORD.findall(candidate.lower())))


class Stems:
    """The words of a text, in any inflection."""

    def __init__(self, words: Sequence[str]) -> None:
        self.text = f" {' '.join(words)}"

    def have(self, candidate: str) -> bool:
        """Return True if each word of a candidate stands in the text."""
        found = stems(candidate)
        return bool(found) and all(f" {one}" in self.text for one in found)


def is_one_of(text: str, candidates: Iterable[str]) -> bool:
    """Return True if a text is a candidate, in any inflection, and nothing else."""
    written = Stems(WORD.findall(text.lower()))
    return any(len(text) <= len(one) + ENDING and written.have(one) for one in candidates)


def form_of(text: str) -> str:
    """Return the words of a text, from the first letter to the last one; "" if there are none."""
    words = [*WORD.finditer(text)]
    return text[words[0].start() : words[-1].end()] if words else ""


def is_form(text: str) -> bool:
    """Return True for what a lexicon can have as a form: at most LONGEST words."""
    fits = len(WORD.findall(text)) <= LONGEST and not {*MARKS, "|", "\t"} & {*text}
    return fits and bool(text) and form_of(text) == text


def grouped(rows: Iterable[Sequence[str]]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the candidates of each direction and form of rows: form, candidate, direction.

    The direction is "" for a row of two. Candidates beyond CANDIDATES are left out.
    """
    found: dict[tuple[str, str], dict[str, None]] = {}
    for form, candidate, *direction in rows:
        found.setdefault(("".join(direction), form), {})[candidate] = None
    return {key: tuple(each)[:CANDIDATES] for key, each in found.items()}


def _key(line: str) -> tuple[str, str]:
    """Return the direction of a line, and its form in small letters."""
    direction, form, _ = line.split("\t", 2)
    return direction, form.lower()


def _entry(line: str) -> LexiconEntry:
    _, form, rarity, candidates = line.split("\t")
    return LexiconEntry(form, int(rarity), tuple(filter(None, candidates.split("|"))))


def with_candidates(text: str, found: Iterable[FoundForm]) -> str:
    """Return a text with the candidates of forms, in the order of the text, in their places."""
    parts, place = list[str](), 0
    for one in found:
        form = "" if one.exact else f" {text[one.start : one.end]}{IS}"
        before = text[place : one.start]
        parts += [before.removesuffix(" "), OPEN, form, " ", f"{OR} ".join(one.candidates), CLOSE]
        place = one.end
    return "".join((*parts, text[place:]))


def pack(
    entries: Iterable[tuple[str, LexiconEntry]],
    most: int,
    exceptions: Mapping[str, int] = MappingProxyType({}),
) -> bytes:
    """Return the file of entries with their directions; equal entries give equal bytes.

    most: binary digits of the count from which on a form is left to the weights. exceptions: those
    of directions that have another one.
    """
    rows = sorted(entries, key=lambda row: order(row[0], row[1].form))
    blocks, index = list[bytes](), list[str]()
    for first, lines in _blocks(rows):
        blocks.append(zlib.compress("".join(lines).encode(), 9))
        index.append(f"{first[0]}\t{first[1].form.lower()}\t{len(blocks[-1])}\n")
    packed = zlib.compress("".join(index).encode(), 9)
    words = (str(most), *(f"{direction}={each}" for direction, each in sorted(exceptions.items())))
    head = f"{' '.join(words)}\n".encode()
    return b"".join((MAGIC, head, *blocks, packed, len(packed).to_bytes(4, "big")))


def _blocks(
    rows: list[tuple[str, LexiconEntry]],
) -> Iterator[tuple[tuple[str, LexiconEntry], list[str]]]:
    """Yield the first row and the lines of each block."""
    first, lines, size = None, list[str](), 0
    for row in rows:
        direction, (form, rarity, candidates) = row
        first = first or row
        lines.append(f"{direction}\t{form}\t{rarity}\t{'|'.join(candidates)}\n")
        size += len(lines[-1])
        if size >= BLOCK:
            yield first, lines
            first, lines, size = None, [], 0
    if first:
        yield first, lines


def _decompressed(packed: bytes, most: int) -> str:
    """Return a text; a ValueError if it is damaged or has more than `most` bytes."""
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(packed, most)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise ValueError("a damaged block")
    return text.decode()

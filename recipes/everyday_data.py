"""Training corpora of `everyday`: sentences, longer texts, word lists, copied words, set phrases.

Each corpus is a list of (English, other language). `DIR` is the folder of the data:

    DIR/tatoeba/eng-deu.train.tsv.xz   everyday sentences
    DIR/text/NAME.en-de.tsv.xz         other sentences
    DIR/longer/GROUP.en-de.tsv.xz      longer and practical sentences, without the groups NO_LICENCE
    DIR/packages/GROUP.en-de.tsv       texts of software packages, if they are there
    DIR/words/en-de.tsv.xz             word lists; names.tsv.xz: names in four languages

`phrases.tsv.xz`, beside this file, has greetings, practical sentences, a sentence for 1,700 common
words that the other data hardly contain, and two or three for words that the fifth and the sixth
version of the model did not know, in four languages. They were written for this model, by authors
who did not know its evaluation sets. `written.tsv.xz` has 14,713 sentences of letters,
contracts, notices, mails, help texts and news, written in the same way.

A tenth of each file of `longer/` is a dev set: sentences whose English side has a hash divisible by
10. Nothing here is random from run to run.
"""

from __future__ import annotations

import lzma
import random
import re
import string
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from models.text.tokenizer import RESERVED

CODES = {"deu": "de", "fra": "fr", "spa": "es"}
LANGUAGES = ("en", *CODES.values())
NO_LICENCE = ("wmt_news", "news_commentary", "opennmt_demo")  # groups that state no licence
SPACES = re.compile(r"[\s\u00a0\u2009\u202f]+")
MOST_WORDS = 80  # of a training pair
SHORT = 20  # characters below which any ratio of lengths is accepted
RANKS = ((5_000, 6), (20_000, 3))  # highest rank of an English form, how often it occurs
LIST_LINES = 40_000  # lines of words of each language
LIST_SIZES = (1, 2, 3, 4)  # words of a line,
LIST_SHARES = (4, 2, 2, 1)  # and how often each number occurs
COPY_LINES = 50_000  # lines of each language that teach copying
PHRASE_LINES = 60_000  # lines of each language that teach set phrases
NO_SENTENCES = ("dictionary", "names")  # groups of packages
MOST_PARTS = 6  # of a pair of packages
PRACTICAL = Path(__file__).parents[1] / "tests" / "fixtures" / "practical.tsv"
Pairs = list[tuple[str, str]]


def rows(path: Path) -> Iterator[list[str]]:
    """Yield the cleaned columns of each line, up to the first that is empty."""
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield [clean(column) for column in line.rstrip("\n").split("\t")]


def clean(text: str) -> str:
    """Return the text with ordinary spaces and straight apostrophes."""
    return SPACES.sub(" ", text).replace("\u2019", "'").strip()


def sentences(data: Path, code: str) -> Pairs:
    """Return the pairs of Tatoeba and of the other sentences."""
    language = CODES[code]
    paths = [data / "tatoeba" / f"eng-{code}.train.tsv.xz"]
    paths += sorted((data / "text").glob(f"*.en-{language}.tsv.xz"))
    return [pair for path in paths for pair in pairs_of(path)]


def longer(data: Path, code: str) -> tuple[Pairs, dict[str, Pairs]]:
    """Return the training pairs of `longer/`, and the dev pairs of each of its groups."""
    train, dev = Pairs(), {}
    for path in sorted((data / "longer").glob(f"*.en-{CODES[code]}.tsv.xz")):
        group = path.name.partition(".")[0]
        if group in NO_LICENCE:
            continue
        found = list(pairs_of(path))
        dev[group] = [pair for pair in found if is_dev(pair[0])]
        train += [pair for pair in found if not is_dev(pair[0])]
    return train, dev


def is_dev(english: str) -> bool:
    """Return True for a tenth of all English sentences, also if they differ in case or spaces."""
    letters = "".join(filter(str.isalnum, english.lower()))
    return zlib.crc32(letters.encode()) % 10 == 0


def pairs_of(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a table that can be trained on."""
    for row in rows(path):
        if len(row) >= 2 and usable(row[0], row[1]):
            yield row[0], row[1]


def usable(first: str, second: str) -> bool:
    """Return True if no side is empty or too long, and the sides have similar lengths."""
    if not first or not second or len(first.split()) > MOST_WORDS:
        return False
    return len(first) < SHORT or 0.4 < len(first) / len(second) < 2.5


def word_lists(data: Path, code: str) -> Pairs:
    """Return lines of one to four words or names with their translations, from the word lists.

    Common words occur more often than others. Words of one line are joined by commas, so that a
    line teaches several words and is not always short.
    """
    rng = random.Random(f"words {code}")
    entries, weights = [], []
    for english, other, rank in first_translations(data, CODES[code]):
        entries.append((english, other))
        weights.append(next((often for most, often in RANKS if 0 < rank <= most), 1))
    kinds = names(data, LANGUAGES.index(CODES[code]))
    lines = Pairs()
    for _ in range(LIST_LINES):
        size = rng.choices(LIST_SIZES, LIST_SHARES)[0]
        if rng.random() < 0.2:
            chosen = rng.choices(rng.choice(list(kinds.values())), k=size)
        else:
            chosen = rng.choices(entries, weights, k=size)
        lines.append(joined_list(chosen, rng))
    return lines


def first_translations(data: Path, language: str) -> Iterator[tuple[str, str, int]]:
    """Yield each English entry with its first translation and its rank, 0 if it has none."""
    seen = set()
    for row in rows(data / "words" / f"en-{language}.tsv.xz"):
        english, other, _, sources, rank = (*row, "", "", "")[:5]
        weak = set(sources.split("+")) <= {"mcr-wordnet", "omw-wikt"}
        if english and other and english not in seen and not weak:
            seen.add(english)
            yield english, other, int(rank) if rank.isdigit() else 0


def names(data: Path, column: int) -> dict[str, Pairs]:
    """Return the names of each kind: countries, cities, months and so on."""
    kinds: dict[str, Pairs] = {}
    for row in rows(data / "words" / "names.tsv.xz"):
        if row[0] and row[column]:
            kinds.setdefault(row[4], []).append((row[0], row[column]))
    return kinds


def joined_list(chosen: Sequence[tuple[str, str]], rng: random.Random) -> tuple[str, str]:
    """Return a line of some entries; a fifth begin with a capital and end with a full stop."""
    line = tuple(", ".join(side) for side in zip(*chosen, strict=True))
    if rng.random() < 0.2:
        line = tuple(side[0].upper() + side[1:] + "." for side in line)
    return line[0], line[1]


def phrases(data: Path, code: str) -> Pairs:
    """Return the set phrases, each equally often, without those of the evaluation sets."""
    tables = [data / "tatoeba" / f"eng-{code}.{part}.tsv" for part in ("dev", "test")]
    known = {text for path in (*tables, PRACTICAL) for row in rows(path) for text in row}
    column = LANGUAGES.index(CODES[code])
    found = [(row[0], row[column]) for row in rows(Path(__file__).with_name("phrases.tsv.xz"))]
    new = [pair for pair in found if not known & {*pair}]
    return [pair for _ in range(PHRASE_LINES // len(new)) for pair in new]


def written(code: str) -> Pairs:
    """Return the sentences of letters, mails, notices and help texts written for this model."""
    column = LANGUAGES.index(CODES[code])
    table = rows(Path(__file__).with_name("written.tsv.xz"))
    return [(row[0], row[column]) for row in table]


def packages(folder: Path, code: str) -> Pairs:
    """Return pairs of software packages, once each; what must not change is reserved tokens."""
    found: dict[tuple[str, str], None] = {}
    for path in sorted(folder.glob(f"*.en-{CODES[code]}.tsv")):
        if path.name.partition(".")[0] not in NO_SENTENCES:
            found |= dict.fromkeys(with_reserved_parts(*pair) for pair in pairs_of(path))
    return [pair for pair in found if pair[0]]


def with_reserved_parts(source: str, target: str) -> tuple[str, str]:
    """Return a pair whose placeholders and codes are reserved tokens; empty if its sides differ."""
    parts = list(dict.fromkeys(one[0] for one in CODED.finditer(source)))
    same = sorted(CODED.findall(source)) == sorted(CODED.findall(target))
    if not same or len(parts) > MOST_PARTS or not re.search(r"[^\W\d_]{2}", CODED.sub("", source)):
        return "", ""
    tokens = {part: chr(RESERVED + number) for number, part in enumerate(parts)}
    source, target = (CODED.sub(lambda one: tokens[one[0]], side) for side in (source, target))
    return source, target


def copies(pairs: Pairs, code: str) -> Pairs:
    """Return pairs in which a word that both sides share is replaced by another in both.

    So the model learns to copy names, numbers, addresses and rare characters that it never saw.
    """
    rng = random.Random(f"copies {code}")
    names = shared_names(pairs)
    found = Pairs()
    while len(found) < COPY_LINES:
        source, target = rng.choice(pairs)
        changed = with_copy(source, target, names, rng)
        if changed:
            found.append(changed)
    return found


WORD = re.compile(r"\b[\w.-]*\w\b")
# addresses, placeholders, tags, paths, options, words with digits
CODED = re.compile(
    r"https?://\S*\w|\S+@\S*\w|[$#%@]?\{[^{}\s]*\}|%\(?\w+\)?\w?|</?\w[^<>]*>|`[^`]+`"
    r"|[\w.~-]*(?:/[\w.-]+)+|--[a-z][\w-]*|(?<![\w-])\w*\d[\w-]*[A-Za-z_]\w*|\w+_\w+|\w+\(\)"
)


def shared_names(pairs: Pairs) -> list[str]:
    """Return the capitalised words that stand on both sides of a pair, rare ones included."""
    found = {
        word
        for source, target in pairs
        for word in set(WORD.findall(source)[1:]) & set(WORD.findall(target)[1:])
        if word[:1].isupper() and word.isalpha() and len(word) > 2
    }
    return sorted(found)


def shared_parts(source: str, target: str) -> list[str]:
    """Return names, numbers, codes and addresses that stand equally in both texts."""
    parts = [found[0] for found in CODED.finditer(source)]
    words = set(WORD.findall(source)[1:]) & set(WORD.findall(target))
    parts += [one for one in sorted(words) if one[0].isupper() or one.isdigit()]
    return [one for one in dict.fromkeys(parts) if source.count(one) == 1 == target.count(one)]


def with_copy(
    source: str, target: str, names: list[str], rng: random.Random
) -> tuple[str, str] | None:
    """Return a pair with one shared name or number replaced; None if it shares none."""
    shared = set(WORD.findall(source)) & set(WORD.findall(target))
    shared = {w for w in shared if w.isdigit() or w.istitle() and w.isalpha() and len(w) > 2}
    if not shared:
        return None
    old = rng.choice(sorted(shared))
    new = number(rng) if old.isdigit() else rng.choices(KINDS, SHARES)[0](rng, names)
    place = re.compile(rf"\b{re.escape(old)}\b")
    return place.sub(lambda _: new, source), place.sub(lambda _: new, target)


def number(rng: random.Random) -> str:
    """Return a whole number of one to six digits, sometimes with a decimal part."""
    digits = str(rng.randrange(10 ** rng.randint(1, 6)))
    return digits + (f".{rng.randrange(10)}" if rng.random() < 0.1 else "")


def name(rng: random.Random, names: list[str]) -> str:
    """Return one or two names."""
    return " ".join(rng.choices(names, k=rng.choice((1, 1, 2))))


def invented(rng: random.Random, names: list[str]) -> str:
    """Return a word that no language has, such as Torvelka."""
    syllables = [
        rng.choice(
            (
                "b",
                "br",
                "d",
                "f",
                "g",
                "h",
                "k",
                "kr",
                "l",
                "m",
                "n",
                "p",
                "r",
                "s",
                "sch",
                "st",
                "t",
                "tr",
                "v",
                "w",
                "z",
                "j",
                "th",
                "y",
            )
        )  # fmt: skip
        + rng.choice(("a", "e", "i", "o", "u", "ai", "ei", "ou", "é", "ö", "ü", "á"))
        + rng.choice(("", "", "n", "r", "l", "s", "k", "x"))
        for _ in range(rng.randint(2, 4))
    ]
    return "".join(syllables).capitalize()


def address(rng: random.Random, names: list[str]) -> str:
    """Return an e-mail address, a web address, a file name or an account name."""
    word, other = (invented(rng, names).lower() for _ in range(2))
    form = rng.choice(("{}@{}.com", "https://www.{}.org/{}", "{}_{}.txt", "www.{}.de", "@{}",
                       "{}.{}.net", "{}-{}.jpg"))  # fmt: skip
    return form.format(word, other)


def code_word(rng: random.Random, names: list[str]) -> str:
    """Return letters and digits, such as KX-4731, or a placeholder, such as {name}."""
    letters = "".join(rng.choices(string.ascii_uppercase, k=rng.randint(1, 4)))
    form = rng.choice(("{}-{}", "{}{}", "{} {}", "[{}{}]", "{{{}{}}}", "%{}{}"))
    return form.format(letters, rng.randrange(10 ** rng.randint(1, 4)))


def rare_characters(rng: random.Random, names: list[str]) -> str:
    """Return one to four characters of another script, or an emoji."""
    first, last = rng.choice(
        (
            (0x4E00, 0x9FA5),
            (0x3041, 0x3096),
            (0x0410, 0x044F),
            (0x03B1, 0x03C9),
            (0x05D0, 0x05EA),
            (0x0621, 0x064A),
            (0x0905, 0x0939),
            (0xAC00, 0xD7A3),
            (0x1F600, 0x1F64F),
            (0x1F300, 0x1F5FF),
            (0x20A0, 0x20BF),
            (0x0100, 0x017F),
        )  # fmt: skip
    )
    return "".join(chr(rng.randint(first, last)) for _ in range(rng.randint(1, 4)))


KINDS: tuple[Callable[[random.Random, list[str]], str], ...] = (
    name,
    invented,
    address,
    code_word,
    rare_characters,
)
SHARES = (4, 3, 1, 1, 1)


def write(pairs: Iterable[tuple[str, str]], path: Path) -> Path:
    """Write pairs as a table."""
    path.write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
    return path

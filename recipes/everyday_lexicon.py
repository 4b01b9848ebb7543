"""Write the lexicon of `everyday`, and training pairs whose rare words are read from it.

    python recipes/everyday_lexicon.py --data DIR --dictionaries FOLDER --work WORK

FOLDER has `de-en` of the Debian package trans-de-en (Ding), and `freedict-fra-eng.dict.dz` and
`freedict-spa-eng.dict.dz` of dict-freedict-fra-eng and dict-freedict-spa-eng. WORK has the corpora
of `everyday.py prepare`. `pip install num2words babel simplemma`.

The program writes WORK/lexicon.bin, and for each direction WORK/SOURCE-TARGET.marked.tsv. An entry
comes from Ding, from the word lists of DIR, from FreeDict, or from `closed`: hours, days, months,
units and abbreviations. Forms that only simplemma traces back to an entry have its candidates.

Candidates are ranked by how often they stand in the other side of pairs that have the form, then by
the order of the dictionaries.

In a marked pair, rare words have their candidates in their places. Most of them have one that
stands in the target, and some have none, so that the model learns to choose and to doubt.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import everyday_frames
from babel.dates import get_day_names, get_month_names
from everyday_data import CODES, LANGUAGES, rows

from attncli.translate.lexicon import small, stands_in, with_rare_words
from models.text.lexicon import (
    CANDIDATES,
    COMMON,
    LONGEST,
    WORD,
    Lexicon,
    LexiconEntry,
    pack,
)

KNOWN = ("sentences", "longer", "phrases", "frames", "address")  # corpora whose words are counted
EVIDENCE = ("sentences", "longer", "phrases", "packages", "written")  # of candidates
MOST_RARITY = 11  # binary digits of a count from which an entry is never read
LATER = 8  # places by which the candidates of a lemma stand behind those of a form
TESTED = 60  # pairs of a form that its candidates are looked for in
RARE = 7  # from which on a word is left to the weights, mostly
MARKED = {  # corpora, and how many of their pairs are looked at
    **{"packages": 45_000, "written": 20_000, "phrases": 20_000, "sentences": 40_000},
    **{"longer": 20_000, "frames": 10_000, "templates": 5_000},
}
REMARKS = re.compile(r"\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|<[^>]*>|(?<!\w)/[^/]*/|\"")
OBJECTS = re.compile(
    r"\b(?:sb|sth|smb|so|jd|jdn|jdm|jds|etw|sb's|jds|one's)\.?(?:'s)?(?:/(?:sb|sth|jdn|jdm|etw)\.?)?"
)
Table = dict[str, dict[str, dict[str, int]]]  # direction, form, candidate: place in its source


def main() -> None:
    """Parse the command line and write the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dictionaries", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args()
    table = entries(options.data, options.dictionaries)
    counts = {language: counted(options.work, language, table) for language in LANGUAGES}
    with_forms(table)
    lines = [*ranked(table, counts, evidence(options.work, table))]
    packed = pack(lines, RARE)
    (options.work / "lexicon.bin").write_bytes(packed)
    print(f"lexicon.bin: {len(packed):,} bytes", Counter(direction for direction, _ in lines))
    lexicon = Lexicon(added=lines)  # in memory, because every word of the corpora is looked up
    lexicon.most = RARE
    write_marked(options.work, lexicon)


def write_marked(work: Path, lexicon: Lexicon) -> None:
    """Write the marked pairs of each direction."""
    for direction in sorted(lexicon.directions):
        rng, lines = random.Random(f"marked {direction}"), list[str]()
        for source, target in chosen_pairs(work, direction, rng):
            marked = with_rare_words(source, target, direction, lexicon, rng)
            if marked:
                lines.append(f"{marked}\t{target}\n")
        (work / f"{direction}.marked.tsv").write_text("".join(lines), encoding="utf-8")
        print(f"{direction}.marked.tsv: {len(lines):,} pairs")


def chosen_pairs(work: Path, direction: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Yield different pairs of the corpora MARKED, in a random order."""
    chosen = []
    for name, most in MARKED.items():
        pairs = sorted({*texts_of(work, direction, [name])})
        chosen += rng.sample(pairs, min(most, len(pairs)))
    rng.shuffle(chosen)
    yield from chosen


def entries(data: Path, dictionaries: Path) -> Table:
    """Return the candidates of all forms: of dictionaries, and of word lists."""
    table: Table = defaultdict(lambda: defaultdict(dict))
    sources = {
        "de": [ding(dictionaries / "de-en"), lists(data, "de")],
        "fr": [lists(data, "fr"), freedict(dictionaries / "freedict-fra-eng.dict.dz")],
        "es": [lists(data, "es"), freedict(dictionaries / "freedict-spa-eng.dict.dz")],
    }
    for language, found in sources.items():
        for number, pairs in enumerate(found):
            for english, other in pairs:
                add(table, f"en-{language}", english, other, number)
                add(table, f"{language}-en", other, english, number)
    return table


def add(table: Table, direction: str, form: str, candidate: str, source: int) -> None:
    """Add a candidate of a form. source: number of the dictionary, best first."""
    words = WORD.findall(form)
    if not words or len(words) > LONGEST or len(form) > 40 or not 0 < len(candidate) <= 40:
        return
    if " ".join(words) != form or "|" in candidate or form.lower() == candidate.lower():
        return
    known = table[direction][form]
    known.setdefault(candidate, len(known) + 4 * source)


def lists(data: Path, language: str) -> Iterator[tuple[str, str]]:
    """Yield the entries of the word lists, the best translations first."""
    for row in rows(data / "words" / f"en-{language}.tsv.xz"):
        english, other, _, sources = (*row, "", "", "")[:4]
        weak = set(sources.split("+")) <= {"mcr-wordnet", "omw-wikt"}
        if english and other and not weak:
            yield english, other


def ding(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the pairs of Ding: synonyms of one form, joined by semicolons, in any combination."""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("#") or " :: " not in line:
            continue
        german, english = (side.split(" | ") for side in line.split(" :: ", 1))
        if len(german) != len(english):
            continue
        for theirs, ours in zip(german, english, strict=True):
            for one in synonyms(ours):
                for other in synonyms(theirs):
                    yield one, other


def synonyms(text: str) -> list[str]:
    """Return the forms of a side of Ding, without remarks and objects; at most four."""
    found = []
    for part in REMARKS.sub("", text.replace("\u2019", "'")).split(";"):
        form = re.sub(r"^to (?=\w)", "", re.sub(r"\s+", " ", OBJECTS.sub(" ", part)).strip(" ,.!?"))
        if form and not re.search(r"[…/~|:+=*]|\.\.", form):
            found.append(form)
    return found[:4]


def freedict(path: Path) -> Iterator[tuple[str, str]]:
    """Yield English and the other form of each entry of a FreeDict dictionary into English."""
    word = ""
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            head = re.match(r"([^/\d\s][^/]*?) /", line)
            if head:
                word = head[1]
            elif word and line.strip():
                gloss = re.sub(r"^\d+\.\s*|<[^>]*>|\([^)]*\)|\[[^\]]*\]", "", line)
                if not re.search("[a-z][A-Z]", gloss):  # words that lost the space between them
                    for english in re.split("[,;]", gloss)[:3]:
                        yield english.strip(), word


def counted(work: Path, language: str, table: Table) -> Counter[str]:
    """Return how often the known corpora have each word, and each form of several words."""
    forms = (forms for direction, forms in table.items() if direction.startswith(language))
    phrases = {form.lower() for each in forms for form in each if " " in form}
    pairs = {" ".join(phrase.split(" ")[:2]) for phrase in phrases}
    counts: Counter[str] = Counter()
    for other in CODES.values() if language == "en" else (language,):
        for name in KNOWN:
            path = work / f"en-{other}.{name}.tsv"
            for row in rows(path) if path.exists() else ():
                words = WORD.findall(row[0 if language == "en" else 1])
                counts.update(words)
                small_words = [word.lower() for word in words]
                for start in range(len(words) - 1):
                    if " ".join(small_words[start : start + 2]) in pairs:
                        ends = range(start + 2, min(start + LONGEST, len(words)) + 1)
                        found = (" ".join(small_words[start:end]) for end in ends)
                        counts.update(one for one in found if one in phrases)
    return counts


def with_forms(table: Table) -> None:
    """Add the inflected forms of entries: those of simplemma's tables."""
    from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

    for language in LANGUAGES:
        lemmas = DefaultDictionaryFactory().get_dictionary(language)
        for direction in [one for one in table if one.startswith(language)]:
            forms = table[direction]
            for form, lemma in lemmas.items():
                form, lemma = (t.decode() if isinstance(t, bytes) else t for t in (form, lemma))
                if lemma in forms and WORD.fullmatch(form) and form != lemma:
                    of_lemma = {one: place + LATER for one, place in forms[lemma].items()}
                    forms[form] = of_lemma | forms.get(form, {})


def texts_of(work: Path, direction: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield source and target of the pairs of some corpora."""
    source, _, target = direction.partition("-")
    other = target if source == "en" else source
    for name in names:
        path = work / f"en-{other}.{name}.tsv"
        for row in rows(path) if path.exists() else ():
            if len(row) >= 2:
                yield (row[0], row[1]) if source == "en" else (row[1], row[0])


def evidence(work: Path, table: Table) -> dict[str, dict[str, Counter[str]]]:
    """Return how often each candidate stands in the targets of sources with its form."""
    votes: dict[str, dict[str, Counter[str]]] = {}
    for direction, forms in table.items():
        found: dict[str, Counter[str]] = defaultdict(Counter)
        tested: Counter[str] = Counter()
        for source, target in texts_of(work, direction, EVIDENCE):
            words = small(target)
            for word in {*WORD.findall(source)}:
                form = word if word in forms else word.lower()
                if len(forms.get(form, ())) > 1 and tested[form] < TESTED:
                    tested[form] += 1
                    found[form].update(c for c in forms[form] if stands_in(c, words))
        votes[direction] = found
    return votes


def ranked(
    table: Table,
    counts: dict[str, Counter[str]],
    votes: dict[str, dict[str, Counter[str]]],
) -> Iterator[tuple[str, LexiconEntry]]:
    """Yield the entries with their best candidates, and common forms without any.

    Left out are common forms of several words, and forms that no corpus has and whose candidates
    none has, too.
    """
    closed = {(direction, form): given for direction, form, given in closed_classes()}
    seen = {language: Counter(map(str.lower, known)) for language, known in counts.items()}
    for direction, forms in table.items():
        source, _, target = direction.partition("-")
        for form, candidates in forms.items():
            rarity = count_of(form, counts[source]).bit_length()
            several = " " in form
            if (direction, form) in closed or rarity >= (RARE if several else MOST_RARITY):
                continue
            found = votes[direction].get(form, Counter())
            best = sorted(candidates, key=lambda one: (-found[one], candidates[one]))
            known = [one for one in best if all(seen[target][w] for w in words_of(one))]
            in_corpora = (seen[source][word] for word in words_of(form))
            if known or (any(in_corpora) and not several):
                yield direction, LexiconEntry(form, rarity, tuple((known or best)[:CANDIDATES]))
        for form, count in counts[source].items():
            rarity = count.bit_length()
            if rarity >= (MOST_RARITY if form in forms else COMMON) and " " not in form:
                yield direction, LexiconEntry(form, rarity, ())
    for (direction, form), given in closed.items():
        yield direction, LexiconEntry(form, 0, given)


def count_of(form: str, counts: Counter[str]) -> int:
    """Return how often the corpora have a form; one of several words in any case."""
    return counts[form.lower() if " " in form else form]


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters."""
    return WORD.findall(text.lower())


def closed_classes() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield direction, form and candidates of hours, and of abbreviated days and months."""
    for hour in range(1, 13):
        texts = everyday_frames.time_in_words(hour, 30)
        english, others = texts[0], dict(zip(LANGUAGES[1:], texts[1:], strict=True))
        others["es"] = others["es"].partition(" ")[2]
        for language, other in others.items():
            yield f"en-{language}", english, (other,)
            yield f"{language}-en", other, (english,)
    names = {kind: names_of(kind, "en") for kind in ("days", "months")}
    for language in LANGUAGES[1:]:
        for kind, ours in names.items():
            theirs = names_of(kind, language)
            for (wide, short), (other, abbreviated) in zip(ours, theirs, strict=True):
                if short != wide:
                    yield f"en-{language}", short, (other,)
                if abbreviated.lower() != other.lower() and len(abbreviated) > 2:
                    yield f"{language}-en", abbreviated, (wide,)


def names_of(kind: str, language: str) -> list[tuple[str, str]]:
    """Return the names of days or months of a language, and their abbreviations."""
    names = get_day_names if kind == "days" else get_month_names
    wide, short = names("wide", locale=language), names("abbreviated", locale=language)
    return [(wide[number], short[number].strip(".")) for number in wide]


if __name__ == "__main__":
    main()

"""Write the lexicon of `everyday`, and training pairs whose rare words are read from it.

    python recipes/everyday_lexicon.py --data DIR --dictionaries FOLDER --work WORK

FOLDER has `de-en` of the Debian package trans-de-en (Ding), and `freedict-fra-eng.dict.dz` and
`freedict-spa-eng.dict.dz` of dict-freedict-fra-eng and dict-freedict-spa-eng. WORK has the corpora
of `everyday.py prepare`. `pip install num2words babel simplemma`.

The program writes WORK/lexicon.bin, and for each direction WORK/SOURCE-TARGET.marked.tsv. An entry
comes from Ding, from the word lists of DIR, from FreeDict, or from `closed`: hours, days, months,
and `entries.tsv`: abbreviations, units, hardly and the like. Forms that only simplemma traces back
to an entry have its candidates. A name that translations copy has none.

A form is one word, those of `closed` aside. Words that Model 1 aligns with a form are candidates,
too; the FUNCTION commonest words are none. Candidates are ranked by the probability that the form
is aligned with them, then by the order of the dictionaries. A form is as rare
as its own count says, or half of that of its lemma.

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
from num2words import num2words

from attncli.translate.lexicon import with_rare_words
from models.align_train.hmm import JointHmm, turned
from models.align_train.tables import StatisticalTables
from models.text.lexicon import (
    CANDIDATES,
    COMMON,
    LONGEST,
    WORD,
    Lexicon,
    LexiconEntry,
    pack,
    stem,
)

KNOWN = ("sentences", "longer", "phrases", "frames", "address")  # corpora whose words are counted
EVIDENCE = ("sentences", "longer", "phrases", "packages", "written")  # of candidates
MOST_RARITY = 13  # binary digits of a count from which an entry is never read
WORDS = 11  # from which an abbreviation is a word, mostly
LATER = 8  # places by which the candidates of a lemma stand behind those of a form
FUNCTION = 100  # commonest words of a language, which are no candidates
MOST_WORDS = 16  # of a side of a pair that is aligned
ITERATIONS = 3  # of Model 1
ALIGNED, BACK = 0.2, 0.05  # probabilities, ahead and back, of a candidate that no dictionary has
LEAST_COUNT = 3  # of its form
RARE = 7  # from which on a word is left to the weights, mostly
EXCEPTIONS = {"de-en": 9}  # forms of compounds are rarer than what they name
READ = 2  # candidates at use; the model learns with CANDIDATES
PARTS = {  # of a whole, in LANGUAGES
    3: ("third", "Drittel", "tiers", "tercio"),
    4: ("quarter", "Viertel", "quart", "cuarto"),
    5: ("fifth", "Fünftel", "cinquième", "quinto"),
    6: ("sixth", "Sechstel", "sixième", "sexto"),
    7: ("seventh", "Siebtel", "septième", "séptimo"),
    8: ("eighth", "Achtel", "huitième", "octavo"),
    9: ("ninth", "Neuntel", "neuvième", "noveno"),
    10: ("tenth", "Zehntel", "dixième", "décimo"),
}
CARDINALS = (*range(21), *range(30, 100, 10))  # whose one-word forms have one candidate
MARKED = {  # corpora, and how many of their pairs are looked at
    **{"packages": 45_000, "written": 20_000, "phrases": 20_000, "sentences": 40_000},
    **{"longer": 20_000, "frames": 10_000, "templates": 5_000},
}
REMARKS = re.compile(r"\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|<[^>]*>|(?<!\w)/[^/]*/|\"")
OBJECTS = re.compile(
    r"\b(?:sb|sth|smb|so|jd|jdn|jdm|jds|etw|sb's|jds|one's)\.?(?:'s)?(?:/(?:sb|sth|jdn|jdm|etw)\.?)?"
)
Table = dict[str, dict[str, dict[str, int]]]  # direction, form, candidate: place in its source
Odds = dict[str, dict[str, float]]  # small form, beginning of a word: p(word | form)


def main() -> None:
    """Parse the command line and write the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dictionaries", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args()
    table = entries(options.data, options.dictionaries)
    counts = {language: counted(options.work, language) for language in LANGUAGES}
    odds = dict[str, Odds]()
    for language in CODES.values():
        odds |= aligned(options.work, language, table, counts)
    lemmas = with_forms(table)
    lines = [*ranked(table, counts, odds, lemmas, add_numbers(table), named(options.work, table))]
    read = ((way, one._replace(candidates=one.candidates[:READ])) for way, one in lines)
    packed = pack(read, RARE, EXCEPTIONS)
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


def counted(work: Path, language: str) -> Counter[str]:
    """Return how often the known corpora have each word."""
    counts: Counter[str] = Counter()
    for other in CODES.values() if language == "en" else (language,):
        for name in KNOWN:
            path = work / f"en-{other}.{name}.tsv"
            for row in rows(path) if path.exists() else ():
                counts.update(WORD.findall(row[0 if language == "en" else 1]))
    return counts


def with_forms(table: Table) -> dict[str, dict[str, str]]:
    """Add the inflected forms of entries, and return the lemma of each form of a language.

    Both are those of simplemma's tables.
    """
    from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

    known = dict[str, dict[str, str]]()
    for language in LANGUAGES:
        read = DefaultDictionaryFactory().get_dictionary(language).items()
        lemmas = {
            form: lemma
            for form, lemma in (
                (t.decode() if isinstance(t, bytes) else t for t in pair) for pair in read
            )
            if WORD.fullmatch(form) and form != lemma
        }
        known[language] = lemmas
        for direction in [one for one in table if one.startswith(language)]:
            forms = table[direction]
            for form, lemma in lemmas.items():
                if lemma in forms:
                    of_lemma = {one: place + LATER for one, place in forms[lemma].items()}
                    forms[form] = of_lemma | forms.get(form, {})
    return known


def texts_of(work: Path, direction: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield source and target of the pairs of some corpora."""
    source, _, target = direction.partition("-")
    other = target if source == "en" else source
    for name in names:
        path = work / f"en-{other}.{name}.tsv"
        for row in rows(path) if path.exists() else ():
            if len(row) >= 2:
                yield (row[0], row[1]) if source == "en" else (row[1], row[0])


def aligned(
    work: Path, language: str, table: Table, counts: dict[str, Counter[str]]
) -> dict[str, Odds]:
    """Return the odds of both directions of a language, and add what they make likely to a table.

    Source: Brown et al. 1993, Model 1.
    """
    pairs = {
        (" ".join(ours).lower(), " ".join(theirs).lower())
        for source, target in texts_of(work, f"en-{language}", EVIDENCE)
        for ours, theirs in [(WORD.findall(source), WORD.findall(target))]
        if 0 < len(ours) <= MOST_WORDS and 0 < len(theirs) <= MOST_WORDS
    }
    joint = JointHmm(sorted(pairs))
    for done in range(ITERATIONS):
        joint.iterate(done)
    tables = joint.tables()
    usual = {one: usual_case(counts[one]) for one in ("en", language)}
    found = {}
    for (source, target), given in (
        (("en", language), tables),
        ((language, "en"), turned(tables)),
    ):
        direction = f"{source}-{target}"
        found[direction] = odds_of(given)
        common = {*functions(counts[target])}
        for form, candidate in likely(given):
            form = usual[source].get(form, form)
            candidate = usual[target].get(candidate, candidate)
            if counts[source][form] >= LEAST_COUNT and candidate.lower() not in common:
                add(table, direction, form, candidate, 2)
    return found


def usual_case(counts: Counter[str]) -> dict[str, str]:
    """Return the form of each small word that is the commonest."""
    return {word.lower(): word for word, _ in reversed(counts.most_common())}


def functions(counts: Counter[str]) -> list[str]:
    """Return the commonest words, in small letters."""
    small: Counter[str] = Counter()
    for word, count in counts.items():
        small[word.lower()] += count
    return [word for word, _ in small.most_common(FUNCTION)]


def odds_of(tables: StatisticalTables) -> Odds:
    """Return p(f | e), summed over words f with one beginning."""
    found: Odds = defaultdict(lambda: defaultdict(float))
    rows_of = (*tables.pairs.tolist(), tables.forward.lexicon.tolist())
    for source, target, probability in zip(*rows_of, strict=True):
        found[tables.source[source]][stem(tables.target[target])] += probability
    return found


def likely(tables: StatisticalTables) -> Iterator[tuple[str, str]]:
    """Yield the pairs of words that are likely in both directions."""
    ahead, back = tables.forward.lexicon, tables.reverse.lexicon
    kept = (ahead >= ALIGNED) & (back >= BACK)
    for source, target in tables.pairs[:, kept].mT.tolist():
        yield tables.source[source], tables.target[target]


def ranked(
    table: Table,
    counts: dict[str, Counter[str]],
    odds: dict[str, Odds],
    lemmas: dict[str, dict[str, str]],
    numbers: set[tuple[str, str]],
    names: set[tuple[str, str]],
) -> Iterator[tuple[str, LexiconEntry]]:
    """Yield the entries with their best candidates, and common forms without any.

    Left out are forms that no corpus has and whose candidates none has, too. numbers: directions
    and forms whose candidate may be a common word. names: those that have no candidate.
    """
    closed = {(direction, form): given for direction, form, given in closed_classes()}
    seen = {language: Counter(map(str.lower, known)) for language, known in counts.items()}
    common = {language: {*functions(known)} for language, known in counts.items()}
    of_lemmas = {language: lemma_counts(counts[language], lemmas[language]) for language in counts}
    for direction, forms in table.items():
        source, _, target = direction.partition("-")
        for form, candidates in forms.items():
            lemma = lemmas[source].get(form, form)
            count = max(counts[source][form], of_lemmas[source][lemma] // 2)
            rarity = count.bit_length()
            if (direction, form) in closed or " " in form or (direction, form) in names:
                continue
            if rarity >= MOST_RARITY:
                # without an entry of its own, "eins" would be read as the noun "Eins"
                if 0 < counts[source][form].bit_length() < MOST_RARITY:
                    yield direction, LexiconEntry(form, rarity, ())
                continue
            given = odds[direction].get(form.lower(), {})
            is_number = (direction, form) in numbers
            best = sorted(
                (one for one in candidates if is_number or one.lower() not in common[target]),
                key=lambda one: (
                    -round(probability(one, given, common[target]), 2),
                    candidates[one],
                ),
            )
            known = [one for one in best if all(seen[target][w] for w in words_of(one))]
            if known or (best and seen[source][form.lower()]):
                yield direction, LexiconEntry(form, rarity, tuple((known or best)[:CANDIDATES]))
        for form, count in counts[source].items():
            rarity = count.bit_length()
            if rarity >= (MOST_RARITY if form in forms else COMMON):
                yield direction, LexiconEntry(form, rarity, ())
    for direction, form in sorted(names - {*closed}):
        if 0 < counts[direction[:2]][form].bit_length() < MOST_RARITY:
            yield direction, LexiconEntry(form, counts[direction[:2]][form].bit_length(), ())
    for (direction, form), texts in closed.items():
        rarity = counts[direction[:2]][form].bit_length()
        if rarity >= WORDS:  # "sept" is seven before it is September
            yield direction, LexiconEntry(form, rarity, ())
        yield direction, LexiconEntry(form, 0, texts)


def named(work: Path, table: Table) -> set[tuple[str, str]]:
    """Return the directions and capitalised forms that most translations copy: "Mr. Miller".

    They are forms of entries, or are with a small letter.
    """
    found = set()
    for direction, forms in table.items():
        seen, copied = Counter[str](), Counter[str]()
        for source, target in texts_of(work, direction, KNOWN):
            words, others = WORD.findall(source), {*WORD.findall(target)}
            names = {one for one in words[1:] if one[0].isupper() and not one.isupper()}
            seen.update(names)
            copied.update(names & others)
        known = {one for one in seen if one in forms or one.lower() in forms}
        found |= {(direction, one) for one in known if copied[one] * 2 > seen[one]}
    return found


def lemma_counts(counts: Counter[str], lemmas: dict[str, str]) -> Counter[str]:
    """Return how often the corpora have the forms of each lemma."""
    found: Counter[str] = Counter()
    for form, count in counts.items():
        found[lemmas.get(form, form)] += count
    return found


def probability(candidate: str, given: dict[str, float], common: set[str]) -> float:
    """Return the mean probability of the words of a candidate, common ones aside."""
    words = [word for word in words_of(candidate) if word not in common]
    return sum(given.get(stem(word), 0.0) for word in words) / max(len(words), 1)


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters."""
    return WORD.findall(text.lower())


def closed_classes() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield direction, form and candidates of abbreviations, hours, shortened days and months."""
    for direction, form, candidate in rows(Path(__file__).with_name("entries.tsv")):
        yield direction, form, (candidate,)
        yield direction, f"{form}.", (candidate,)  # also before a capital: "3 Mio. Euro"
    for hour in range(1, 13):
        texts = everyday_frames.time_in_words(hour, 30)
        english, others = texts[0], dict(zip(LANGUAGES[1:], texts[1:], strict=True))
        others["es"] = others["es"].partition(" ")[2]
        for language, other in others.items():
            yield f"en-{language}", english, (other,)
            yield f"{language}-en", other, (english,)
    yield from fractions()
    yield from day_ranges()
    names = {kind: names_of(kind, "en") for kind in ("days", "months")}
    for language in LANGUAGES[1:]:
        for kind, ours in names.items():
            theirs = names_of(kind, language)
            for (wide, short), (other, abbreviated) in zip(ours, theirs, strict=True):
                if short != wide:
                    yield f"en-{language}", short, (other,)
                if abbreviated.lower() != other.lower() and len(abbreviated) > 2:
                    yield f"{language}-en", abbreviated, (wide,)


def fractions() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield fractions with a hyphen, as in two-thirds; the weights know those with a space."""
    for parts, names in PARTS.items():
        for count in range(1, parts):
            english, *others = (
                f"{'ein' if language == 'de' and count == 1 else num2words(count, lang=language)} "
                f"{name if count == 1 or language == 'de' or name[-1] == 's' else f'{name}s'}"
                for language, name in zip(LANGUAGES, names, strict=True)
            )
            for language, other in zip(LANGUAGES[1:], others, strict=True):
                given = other.replace("uno ", "un ") if language == "es" else other
                yield f"en-{language}", english.replace(" ", "-"), (given,)


def add_numbers(table: Table) -> set[tuple[str, str]]:
    """Give the words of numbers their only candidate; return their directions and forms."""
    found = set()
    for number in CARDINALS:
        english, *others = (num2words(number, lang=language) for language in LANGUAGES)
        for language, other in zip(LANGUAGES[1:], others, strict=True):
            table[f"en-{language}"][english] = {other: 0}
            table[f"{language}-en"][other] = {english: 0}
            found |= {(f"en-{language}", english), (f"{language}-en", other)}
    return found


def day_ranges() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield ranges of shortened days into German; they make French and Spanish outputs worse."""
    english, german = names_of("days", "en"), names_of("days", "de")
    for (_, first), (start, _) in zip(english, german, strict=True):
        for (_, last), (end, _) in zip(english, german, strict=True):
            if first != last:
                yield "en-de", f"{first}-{last}", (f"{start} bis {end}",)


def names_of(kind: str, language: str) -> list[tuple[str, str]]:
    """Return the names of days or months of a language, and their abbreviations."""
    names = get_day_names if kind == "days" else get_month_names
    wide, short = names("wide", locale=language), names("abbreviated", locale=language)
    return [(wide[number], short[number].strip(".")) for number in wide]


if __name__ == "__main__":
    main()

"""Training texts for aligners: Tatoeba, tokenised like the gold of the Hansards.

Lower-cased words between spaces; punctuation and hyphens apart; contractions written out: "don't"
is `do not`, "l'an" `le an`, "du" `de le`, "aux" `à les`. Ambiguous cases (whether "'d"
is would or had, whether "des" is an article) follow the most frequent reading in the gold.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from attncli.data.lines import open_text

Pair = tuple[str, str]

LONGEST_GROUP = 4  # sentences joined to one

_SPACED = re.compile(r"\d+(?:[.,:]\d+)+|[^\W\d_]+(?:'[^\W\d_]+)*'?|\d+|\.\.\.|--|[^\w\s]|_")
_ABBREVIATIONS = re.compile(r"\b(mr|mrs|ms|dr|st|hon|m)\.(?=\s+\w)")

_NOT = {"can't": "can not", "won't": "will not", "shan't": "shall not", "ain't": "is not"}
_WORDS = {"let's": "let us", "o'clock": "o'clock", "cannot": "can not", "y'all": "you all"}
_ENDINGS = {"'m": " am", "'re": " are", "'ll": " will", "'ve": " have", "'d": " would"}
_IS = set(
    [
        "he",
        "she",
        "it",
        "that",
        "what",
        "there",
        "who",
        "where",
        "how",
        "here",
        "when",
        "why",
        "this",
        "everything",
    ]
)

_ELIDED = {
    **{letter: f"{letter}e" for letter in "cdjlmnst"},
    **{word: f"{word}e" for word in ("qu", "lorsqu", "jusqu", "puisqu", "quoiqu", "quelqu")},
}
_CONTRACTED = {"au": "à le", "aux": "à les", "du": "de le", "des": "de les"}


class Data(NamedTuple):
    """The texts in the work folder: pairs, gold, train, dev and eflomal, each in en and fr."""

    folder: Path

    def file(self, part: str, language: str) -> Path:
        """Return the text of one split in one language."""
        return self.folder / f"{part}.{language}"

    def pairs(self, part: str) -> list[Pair]:
        """Return the sentence pairs of one split."""
        sides = [self.file(part, language).read_text("utf-8") for language in ("en", "fr")]
        return list(zip(*(side.splitlines() for side in sides), strict=True))

    def write(self, part: str, pairs: Iterable[Pair]) -> None:
        """Write the files of a part."""
        for language, column in zip(("en", "fr"), zip(*pairs, strict=True), strict=True):
            text = "".join(f"{line}\n" for line in column)
            self.file(part, language).write_text(text, "utf-8")


def prepare(tatoeba: Path, gold: Path, data: Data) -> None:
    """Write the texts: as they are, joined, the gold's, dev, and what eflomal reads."""
    data.folder.mkdir(parents=True, exist_ok=True)
    pairs = list(written_out(tatoeba / "eng-fra.train.tsv.xz"))
    dev = dict(written_out(tatoeba / "eng-fra.dev.tsv"))
    test = [(source.lower(), target.lower()) for source, target in gold_pairs(gold)]
    data.write("pairs", pairs)
    data.write("gold", test)
    data.write("dev", list(dev.items())[:500])
    data.write("train", [*pairs, *joined(pairs), *test])
    data.write("eflomal", [*pairs, *test])


def written_out(path: Path) -> Iterator[Pair]:
    """Return the pairs of a table, as the gold would write them."""
    with open_text(path) as lines:
        for line in lines:
            source, target, *_ = line.split("\t")
            yield english(source), french(target)


def gold_pairs(gold: Path) -> Iterator[Pair]:
    """Return the sentences of the gold: `source ||| target` in GOLD.src-tgt."""
    with open_text(gold.with_name(gold.name + ".src-tgt")) as lines:
        for line in lines:
            source, target = line.split("|||")
            yield " ".join(source.split()), " ".join(target.split())


def joined(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Every pair once more, two to four that are shuffled together as one."""
    draw = random.Random(1)
    shuffled = list(pairs)
    draw.shuffle(shuffled)
    start = 0
    while start < len(shuffled):
        end = start + draw.randint(2, LONGEST_GROUP)
        sources, targets = zip(*shuffled[start:end], strict=True)
        yield " ".join(sources), " ".join(targets)
        start = end


def english(text: str) -> str:
    """Return an English sentence as the gold writes it."""
    return " ".join(_full(word) for word in _words(text))


def french(text: str) -> str:
    """Return a French sentence as the gold writes it."""
    words = []
    for word in _words(text.replace("-t-", " ")):
        head, mark, rest = word.partition("'")
        if mark and head in _ELIDED:
            words += [_ELIDED[head], rest]
        elif mark and head.startswith("aujourd"):
            words.append(word)
        else:
            words += [head, "'", rest] if mark else [_CONTRACTED.get(word, word)]
    return " ".join(word for word in words if word)


def _words(text: str) -> list[str]:
    text = text.lower().replace("’", "'").replace("`", "'").replace("œ", "oe")
    kept = _ABBREVIATIONS.sub(lambda found: found[1] + "\0", text)
    return [word.replace("\0", ".") for word in re.findall(r"\w+\0|" + _SPACED.pattern, kept)]


def _full(word: str) -> str:
    """Return an English word with its contraction written out."""
    known = _NOT.get(word) or _WORDS.get(word)
    if known:
        return known
    if word.endswith("n't"):
        return f"{word[:-3]} not"
    head, mark, ending = word.rpartition("'")
    if not mark or not head:
        return word
    if ending == "s":
        return f"{head} is" if head in _IS else f"{head} 's"
    return head + _ENDINGS.get(mark + ending, f" {mark}{ending}".rstrip())

"""Lines made at random, with much in them that is markup and much that only looks like it."""

from __future__ import annotations

from random import Random

from attncli.faithful.spans import TokenWeights, WordWeights, words
from models.core.types import Translation

TAGS = ["<b>", "</b>", "<i>", "</i>", "<br/>", "<br>", '<a href="x > y">', "</a>", "<1>", "</1>"]
OTHERS = ["{name}", "{0}", "%s", "%(x)d", "${var}", "{{t}}", "%%", "&nbsp;", "<!-- < -->", "%1$s"]
TEXT = ["word", "Haus", "3 < 4", "100%", "s", "5", "{", "}", "$", "%", "&", "&amp;", "&lt;b&gt;"]
TEXT += [*'   ()"-<>#', ". ", ", ", "! ", "日本", "हिन्दी", "e\u0301"]
TEXT += ["https://a.b/c", "http://", "code", "/b", "\u2028"]


def line(random: Random, *, most: int = 14) -> str:
    """Tags, placeholders and text in any order."""
    return "".join(random.choice(random.choice([TAGS, OTHERS, TEXT, TEXT])) for _ in range(most))


def looks(random: Random, source: str, target: str) -> WordWeights:
    """WordWeights of any kind; of some words, none."""
    total = len(words(source))
    return [
        {random.randrange(total): random.random() for _ in range(random.randrange(4)) if total}
        for _ in words(target)
    ]


def one_to_one(translations: list[Translation]) -> list[TokenWeights]:
    """Align each word with the word of the same number: right for the model of capitals."""
    spans = [words(translation.source) for translation in translations]
    return [
        TokenWeights(own, own, [[float(i == j) for i in range(len(own))] for j in range(len(own))])
        for own in spans
    ]


def tree(random: Random, names: list[str], depth: int = 3) -> str:
    """Text with elements rightly nested; each has its own name, taken from ``names``."""
    found = []
    for _ in range(random.randrange(1, 4)):
        kind = random.randrange(4)
        if kind < 2:
            found.append(" ".join(random.choices(["old", "dog,", "(sees)", "it."], k=kind + 1)))
        elif kind == 2:
            found.append(random.choice(["<br/>", "{0}", "%d", "&nbsp;"]))
        elif depth and names:
            name = names.pop()
            found.append(f'<{name} n="1">{tree(random, names, depth - 1)}</{name}>')
    return random.choice(["", " "]).join(found)

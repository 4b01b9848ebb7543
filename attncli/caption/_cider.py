"""CIDEr-D of captions, as a score and as a reward in training."""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from attncli.render.image_maps import is_content_word
from attncli.scoring.sequences import Words
from models.text.normalise import nfc

# Words of a caption as the COCO tools count them: Penn Treebank tokens without punctuation.
#
# The tools call Stanford's PTBTokenizer 3.4.1 (Java) with ``-lowerCase`` and drop the tokens in
# ``PUNCTUATION``. This is an approximation by one regular expression: contractions are split ("do
# n't", "man 's"); hyphenated words, numbers, times and abbreviations stay whole. Compared with the
# tools, 1 of the 35,000 captions of Flickr8k differs, and 5 of 49,000 sentences of other English
# text. Mail addresses, tags and currencies other than the dollar differ, too. Like the tools, it
# keeps brackets as words ("-lrb-"), and "!!!" and "?!", which are not in the list. Source: Chen et
# al. 2015, Microsoft COCO Captions, section 4.


References = Sequence[Words]  # reference captions of one image

PUNCTUATION = frozenset(["''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"])
BRACKETS = dict(zip("()[]{}", ["-lrb-", "-rrb-", "-lsb-", "-rsb-", "-lcb-", "-rcb-"], strict=True))
QUOTES = str.maketrans("\u2018\u2019\u201c\u201d\u00ab\u00bb\u2013\u2014\u2026", '`\'""""--.')
SHORT = (
    "mr|mrs|ms|dr|st|jr|sr|vs|etc|prof|rev|gen|col|lt|sgt|capt|ave|blvd|rd|inc|co|corp|ltd|dept|mt"
)
ENDINGS = r"n't|'(?:s|m|d|re|ve|ll)"
HALVES = {
    "cannot": ("can", "not"),
    "gonna": ("gon", "na"),
    "gotta": ("got", "ta"),
    "wanna": ("wan", "na"),
    "lemme": ("lem", "me"),
    "gimme": ("gim", "me"),
}
LETTER = r"[^\W_]"
INNER = rf"[-_/&.'](?={LETTER})"
TOKEN = re.compile(
    rf"""
    (?:https?://|www\.)\S+
  | [#@](?=[^\W\d_])\w+                       # a hashtag, an address of a person
  | (?:[^\W\d_]\.){{2,}}                      # u.s., p.m.
  | (?:{SHORT})\. | \b[a-hj-z]\.(?=\ *\S) | no\.(?=\ ?\d) | '(?:n'|em\b)
  | \d*(?:[:.,/]\d+)+ | '\d\ds?\b           # 3/4, 1,000, 12:30, '90s
  | (?:{LETTER}|{INNER}(?<={LETTER}.))+?(?=(?:{ENDINGS})(?!{LETTER}))  # do|n't
  | (?:{ENDINGS})(?!{LETTER})
  | {LETTER}(?:{LETTER}|{INNER})*   # t-shirt, black/white, o'clock
  | \.{{2,}} | -+ | [!?]+ | \S
    """,
    re.VERBOSE,
)
ORDER = 4  # words of the longest n-grams
SIGMA = 6.0
SCALE = 10.0

NGram = tuple[str, ...]
REPETITION = 0.5  # price of a repeated content word


def words(caption: str) -> list[str]:
    """Return the words of a caption in lower case, with composed accents."""
    found: list[str] = []
    for token in TOKEN.findall(nfc(html.unescape(caption)).lower().translate(QUOTES)):
        if token not in PUNCTUATION and token.strip('.-"'):
            found += HALVES.get(token, (BRACKETS.get(token, token),))
    return found


class Weighted(NamedTuple):
    """A caption as one tf-idf vector per order."""

    vectors: tuple[dict[NGram, float], ...]
    norms: tuple[float, ...]
    length: int  # in bigrams


class DocumentFrequency:
    """Document frequencies of n-grams, and CIDEr-D by the tf-idf vectors computed from them.

        CIDEr-D_n(c, r) = mean over r of  10 exp(-(|c| - |r|)^2 / 2 sigma^2)
                          * min(g(c), g(r)) . g(r) / (|g(c)| |g(r)|)
        CIDEr-D = mean over n = 1 ... 4

    g is the vector of tf-idf weights of the n-grams. The document frequency of an n-gram is the
    number of images with the n-gram in a reference. As in the COCO tools, the value includes the
    factor of 10, lengths are counted in bigrams, and a test set of one image scores 0 (its idf is
    0). Source: Vedantam, Zitnick, Parikh 2015, section 6.
    """

    def __init__(self, images: Iterable[References]) -> None:
        """Count n-grams. images: the words of each caption of each image."""
        self.counts: Counter[NGram] = Counter()
        self.images = 0
        for captions in images:
            self.counts.update(set(chain.from_iterable(map(ngrams, captions))))
            self.images += 1
        self._log_images = math.log(max(1, self.images))

    def weighted(self, caption: Words) -> Weighted:
        """Return the tf-idf vectors of a caption's words."""
        vectors: tuple[dict[NGram, float], ...] = tuple({} for _ in range(ORDER))
        for ngram, count in Counter(ngrams(caption)).items():
            idf = self._log_images - math.log(max(1, self.counts[ngram]))
            vectors[len(ngram) - 1][ngram] = count * idf
        norms = tuple(math.sqrt(sum(w * w for w in vector.values())) for vector in vectors)
        return Weighted(vectors, norms, max(0, len(caption) - 1))

    def scores(self, captions: Sequence[Words], references: References) -> list[float]:
        """Return CIDEr-D of each caption of one image; all texts are given as words."""
        said = [self.weighted(reference) for reference in references]
        outputs = map(self.weighted, captions)
        return [SCALE * sum(similarity(o, s) for s in said) / len(said) for o in outputs]


def cider_d(outputs: Sequence[Words], references: Sequence[References]) -> float:
    """Return the mean CIDEr-D; all texts are given as words."""
    frequency = DocumentFrequency(references)
    found = [frequency.scores([o], texts)[0] for o, texts in zip(outputs, references, strict=True)]
    return sum(found) / len(found)


def ngrams(caption: Words) -> list[NGram]:
    """Return all n-grams of one to four words."""
    return [
        tuple(caption[start : start + order])
        for order in range(1, ORDER + 1)
        for start in range(len(caption) - order + 1)
    ]


def similarity(output: Weighted, reference: Weighted) -> float:
    """Return the mean over orders of the clipped cosine, times the penalty for the length."""
    total = 0.0
    for order in range(ORDER):
        said = reference.vectors[order]
        norms = output.norms[order] * reference.norms[order]
        if norms:
            shared = output.vectors[order].items()
            total += sum(min(w, said[g]) * said[g] for g, w in shared if g in said) / norms
    difference = output.length - reference.length
    return total / ORDER * math.exp(-(difference**2) / (2 * SIGMA**2))


class Reward:
    """Reward of captions of the training images, computed from their reference captions.

    It is CIDEr-D, less REPETITION for each content word that a caption has more often than any
    reference. Source: Rennie et al. 2017; the last term is our own.
    """

    def __init__(self, references: Iterable[Iterable[str]]) -> None:
        """Count the n-grams of the references: the captions of each training image."""
        self._references = [[words(text) for text in captions] for captions in references]
        self.frequency = DocumentFrequency(self._references)

    def __call__(self, outputs: Sequence[str], image: int) -> list[float]:
        """Return the reward of each output. image: number of the training image."""
        said, references = [words(text) for text in outputs], self._references[image]
        return [
            cider - REPETITION * repeated(caption, references)
            for cider, caption in zip(self.frequency.scores(said, references), said, strict=True)
        ]


def repeated(caption: Words, references: References) -> int:
    """Return how many content words a caption has more often than any of its references."""
    counts = [Counter(reference) for reference in references]
    return sum(
        max(0, times - max(1, *(count[word] for count in counts)))
        for word, times in Counter(caption).items()
        if times > 1 and is_content_word(word)
    )

"""Words of a caption as the COCO tools count them: Penn Treebank tokens without punctuation.

The tools call Stanford's PTBTokenizer 3.4.1 (Java) with ``-lowerCase`` and drop the tokens in
``PUNCTUATION``. This is an approximation by one regular expression: contractions are split
("do n't", "man 's"); hyphenated words, numbers, times and abbreviations stay whole. Compared with
the tools, 1 of the 35,000 captions of Flickr8k differs, and 5 of 49,000 sentences of other English
text. Mail addresses, tags and currencies other than the dollar differ, too. Like the tools, it
keeps brackets as words ("-lrb-"), and "!!!" and "?!", which are not in the list.
Source: Chen et al. 2015, Microsoft COCO Captions, section 4.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from models.text.normalise import nfc

Words = Sequence[str]  # words of one caption
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
_FUNCTION_WORDS = (
    "a an the this that these those some several many few two three another other its his her "
    "their of in on at by to from with without for into onto over under above below near next "
    "beside behind between through across along around off out up down inside outside front back "
    "top side and or but while as is are was were be been being has have having do does it he she "
    "they them there which who what where when one each all both no not very"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


def is_content_word(word: str) -> bool:
    """Return True for a word of a caption that names a thing, a quality or an action."""
    return any(map(str.isalpha, word)) and word.lower() not in FUNCTION_WORDS


def words(caption: str) -> list[str]:
    """Return the words of a caption in lower case, with composed accents."""
    found: list[str] = []
    for token in TOKEN.findall(nfc(html.unescape(caption)).lower().translate(QUOTES)):
        if token not in PUNCTUATION and token.strip('.-"'):
            found += HALVES.get(token, (BRACKETS.get(token, token),))
    return found

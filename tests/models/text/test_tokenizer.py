"""Whatever text goes in comes out, and nothing is ever unknown."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from attncli.data.embedded import Pair
from models.core.errors import ModelError
from models.core.use_config import TOKEN_KINDS, TokenizerConfig
from models.text.tokenizer import END, NEVER_OUTPUT, UNKNOWN, Tokenizer, train
from tests.models.text.small import learned

TEXTS = [
    "The old dog sees a small house.",
    "Größe, naïveté, Ærøskøbing",
    "",
    " ",
    "  ",
    " leading",
    "trailing ",
    "  both  and  double  inside  ",
    "no\u00a0break",
    "narrow\u202fspace \u2009 thin",
    "ideographic\u3000space",
    "日本語のテキスト、漢字。",
    "한국어 텍스트",
    "النص العربي، من اليمين",
    "שָׁלוֹם",
    "Ελληνικά и русский",
    "हिन्दी தமிழ் ไทย",
    "ᚠᚢᚦ 𐎀𐎁 𓀀 𝔘𝔫𝔦",  # no training text has these
    "😀 👩‍👩‍👧 🇩🇪 👍🏽",
    "e\u0301 is not \u00e9, \ufb01 not fi",  # no normalisation
    "tab\there",
    "carriage\r",
    "line\nline",
    "\u2028 and \u2029",
    "\x00",
    "a\x00b",
    "".join(map(chr, range(32))) + "\x7f\x80\x9f",
    "\ufeffmark \ufffd \ufffe \U0010ffff \ue000",
    "<s> </s> <unk> <pad> <0x41> \u2047",
    "x" * 5000,
]


@pytest.fixture(scope="module", params=[*TOKEN_KINDS, "char,word"])
def separate(request: pytest.FixtureRequest, tiny_pairs: list[Pair]) -> Tokenizer:
    """Return separate English and German vocabularies, of every kind."""
    kind, _, target_kind = request.param.partition(",")
    config = TokenizerConfig(kind=kind, target_kind=target_kind, joint=False)
    return learned(tiny_pairs, config)


def random_text(rng: random.Random) -> str:
    """Characters of any plane, spaces among them; no surrogates and no U+2581."""
    length, most = rng.randrange(1, 12), rng.choice([0x7F, 0x24F, 0xFFFF, 0x10FFFF])
    codes = [rng.randrange(most + 1) for _ in range(length)]
    codes = [0x20 if 0xD800 <= code < 0xE000 or code == 0x2581 else code for code in codes]
    return "".join(map(chr, codes))


def round_trip(tokenizer: Tokenizer, text: str) -> None:
    for ids in (tokenizer.encode(text), tokenizer.encode_target(text)):
        assert ids[-1] == END and END not in ids[:-1]
        assert not set(ids) & set(NEVER_OUTPUT), text
    assert tokenizer.decode(tokenizer.encode_target(text)) == text


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text[:12]))
def test_text_comes_back(tiny_tokenizer: Tokenizer, separate: Tokenizer, text: str) -> None:
    round_trip(tiny_tokenizer, text)
    round_trip(separate, text)


def test_random_text_comes_back(tiny_tokenizer: Tokenizer, separate: Tokenizer) -> None:
    rng = random.Random(1)
    for _ in range(2000):
        text = random_text(rng)
        round_trip(tiny_tokenizer, text)
        round_trip(separate, text)


def test_sentencepieces_own_space_mark_becomes_a_space(tiny_tokenizer: Tokenizer) -> None:
    """The one character that does not come back: it is how SentencePiece writes a space."""
    ids = tiny_tokenizer.encode("a\u2581b")
    assert UNKNOWN not in ids and ids == tiny_tokenizer.encode("a b")
    assert tiny_tokenizer.decode(ids) == "a b"


def test_characters_and_words_are_tokens() -> None:
    """A letter is a token of the source, a phoneme one of the target; others are spelled."""
    config = TokenizerConfig(kind="char", target_kind="word", joint=False)
    tokenizer = train(["cat tac"] * 9, ["K AE1 T"] * 9, 400, config)
    assert tokenizer.source.id_to_piece(tokenizer.encode("act")[:-1]) == ["▁", "a", "c", "t"]
    assert tokenizer.pieces(tokenizer.encode_target("AE1 K T")[:-1]) == ("▁AE1", "▁K", "▁T")
    round_trip(tokenizer, "K AH0  T")
    assert "<0x48>" in tokenizer.pieces(tokenizer.encode_target("K AH0"))


def test_one_vocabulary_has_one_kind_of_tokens() -> None:
    with pytest.raises(ModelError, match="target_kind = word .* tokenizer.joint=false"):
        train(["a"], ["b"], 400, TokenizerConfig(kind="char", target_kind="word"))


def test_it_is_the_same_after_writing_and_reading(
    tiny_tokenizer: Tokenizer, separate: Tokenizer, tmp_path: Path
) -> None:
    for number, tokenizer in enumerate((tiny_tokenizer, separate)):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, content in tokenizer.files().items():
            (folder / name).write_bytes(content)
        again = Tokenizer.read(folder)
        assert again.files() == tokenizer.files() and again.joint == tokenizer.joint
        assert again.encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])


def test_the_least_size_that_a_refusal_names_can_be_trained() -> None:
    with pytest.raises(
        ModelError, match=r"^10 tokens .*; expected at least \d+ tokens;"
    ) as refused:
        train(["a dog"], ["ein Hund"], 10, TokenizerConfig(size=10))
    least = re.search(r"least (\d+)", str(refused.value))
    assert least and train(["a dog"], ["ein Hund"], int(least[1]), TokenizerConfig())
    assert train(["a dog"], ["ein Hund"], 10, TokenizerConfig())  # a size that is chosen grows


SCRIPTS = {  # first and last letter
    **{"Latin": "az", "Cyrillic": "ая", "Greek": "αω", "Arabic": "ءي", "Hebrew": "את"},
    **{"Devanagari": "अह", "Thai": "กฮ", "Chinese": "一龥", "Japanese": "ぁヺ", "Korean": "가힣"},
    "emoji": "😀🙏",
}


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_texts_of_every_script_are_trained_with_a_chosen_size(script: str, kind: str) -> None:
    """Of many characters, those that occur once are encoded as bytes."""
    first, last = map(ord, SCRIPTS[script])
    rng = random.Random(3)
    letters = rng.sample(range(first, last + 1), min(1200, last + 1 - first))
    texts = ["".join(map(chr, letters[start::40])) for start in range(40)] * 2 + [chr(last)]
    rare = [chr(code) for code in range(first, last) if code not in letters][:300]
    tokenizer = train([*texts, "".join(rare)], ["a b"] * 80, 400, TokenizerConfig(kind=kind))
    round_trip(tokenizer, texts[3])
    round_trip(tokenizer, "".join(rare[:20]))
    assert kind == "word" or not tokenizer.is_unknown(texts[3][0])
    small = train(texts, ["a b"] * 80, 320, TokenizerConfig(kind=kind, size=320))
    assert len(small.source) <= 320
    round_trip(small, texts[5])


@pytest.mark.parametrize(
    ("texts", "size", "kind", "seen"),
    [
        (["a b c"] * 10, 20, "unigram", "20 tokens"),
        (["a b c"] * 10, 20, "bpe", "20 tokens"),
        ([], 500, "unigram", "without words; expected text on both sides$"),
        (["a b c"] * 10, 300, "bqe", "'bqe'"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_line(
    texts: list[str], size: int, kind: str, seen: str
) -> None:
    with pytest.raises(ModelError, match=seen) as refused:
        train(texts, texts, size, TokenizerConfig(kind=kind, size=size))
    assert "\n" not in str(refused.value)

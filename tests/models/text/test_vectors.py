"""Word vectors are read from every format, compressed or not."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from models.text.vectors import _hash, read_vectors

SIZE = 4
WORDS = {"dog": 0, "Straße": 1, "a": 2}
TABLE = np.random.default_rng(1).normal(size=(3, SIZE)).astype("<f4")


def text(head: bytes = b"") -> bytes:
    rows = (f"{word} {' '.join(map(str, TABLE[n]))}\n" for word, n in WORDS.items())
    return head + "".join(rows).encode()


def word2vec() -> bytes:
    rows = (word.encode() + b" " + TABLE[n].tobytes() + b"\n" for word, n in WORDS.items())
    return f"3 {SIZE}\n".encode() + b"".join(rows)


def fasttext(buckets: int = 50) -> bytes:
    head = struct.pack("<ii12id", 793712314, 12, SIZE, *[0] * 7, buckets, 2, 3, 0, 0.0)
    head += struct.pack("<iiiqq", 3, 3, 0, 9, -1)
    words = b"".join(word.encode() + b"\0" + struct.pack("<qb", 1, 0) for word in WORDS)
    rows = np.concatenate([TABLE, NGRAMS])
    return head + words + struct.pack("<?qq", False, *rows.shape) + rows.tobytes()


NGRAMS = np.random.default_rng(2).normal(size=(50, SIZE)).astype("<f4")
FORMATS: dict[str, Callable[[], bytes]] = {
    "glove": text,
    "word2vec text": lambda: text(b"3 4\n"),
    "word2vec binary": word2vec,
    "gzip": lambda: gzip.compress(text(b"3 4\n")),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_words_have_their_vectors(kind: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(FORMATS[kind]())
    found = read_vectors(tmp_path / "x", ["Dog", "Straße", "none", ""])  # "": of the space alone
    assert found.keys() == {"Dog", "Straße"}
    for word, vector in found.items():
        np.testing.assert_allclose(vector, TABLE[WORDS.get(word, 0)], rtol=1e-6)


def test_fasttext_adds_the_ngrams_of_a_word(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(fasttext())
    found = read_vectors(tmp_path / "x.bin", ["a", "zb"])
    expected = {"a": ["<a", "a>", "<a>"], "zb": ["<z", "zb", "b>", "<zb", "zb>"]}
    for word, ngrams in expected.items():
        rows = [NGRAMS[_hash(ngram) % 50] for ngram in ngrams]
        rows += [TABLE[WORDS[word]]] if word in WORDS else []
        np.testing.assert_allclose(found[word], np.mean(rows, 0), rtol=1e-5)


def test_the_hash_is_fnv_1a_of_signed_bytes() -> None:
    assert _hash("a") == 0xE40C292C and _hash("foobar") == 0xBF9CF968
    assert _hash("ß") != _hash("s")

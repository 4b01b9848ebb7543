"""Word vectors are read from every format, compressed or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attncli.train._vectors import _hash, read_vectors
from tests.models.text.small import FORMATS, NGRAMS, TABLE, WORDS, fasttext


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

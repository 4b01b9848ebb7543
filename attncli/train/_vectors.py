"""Word vectors of other programs as first embeddings: word2vec, GloVe and fastText.

A text file has a word and its numbers on each line; word2vec and fastText begin it with a line of
two counts, and GloVe does not. word2vec's binary file has float32 numbers after each word. The
binary file of fastText also gives words that it does not contain a vector: the mean of those of
their n-grams (Bojanowski et al. 2017, section 3.2). Files may be compressed with gzip.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from attncli.terminal import console
from models.attention.layers import Embedding
from models.core.errors import ConfigurationError, InputError, intact
from models.networks.encoder_decoder import EncoderDecoder
from models.text.tokenizer import SPACE, Tokenizer

Vectors = dict[str, NDArray[np.float32]]

FASTTEXT = 793712314  # the first number of its binary files
ARGUMENTS = "<12id"  # size, window, epochs, .., minimal and maximal n, .., and a sampling rate
BROKEN = (struct.error, EOFError, zlib.error, ArithmeticError, LookupError)
HASH, PRIME = 2166136261, 16777619  # FNV-1a


def load_vectors(model: EncoderDecoder, paths: Sequence[str], tokenizer: Tokenizer) -> None:
    """Fill embeddings with word vectors, at the scale of random ones; other tokens stay random.

    paths: one file for both sides, or one for each. Raises ConfigurationError for vectors of
    another size than the embeddings.
    """
    filled: set[tuple[int, int]] = set()  # embeddings that are shared have the first vector
    sides = ((model.encoder, tokenizer.source), (model.decoder, tokenizer.target))
    for number, (part, processor) in enumerate(sides if paths else ()):
        embedding = getattr(part, "embedding", None)
        if not isinstance(embedding, Embedding):
            continue
        pieces = map(processor.id_to_piece, range(len(embedding.weight)))
        words = {piece[1:]: n for n, piece in enumerate(pieces) if piece.startswith(SPACE)}
        path = Path(paths[min(number, len(paths) - 1)])
        found = read_vectors(path, words)
        values = torch.stack([*map(torch.from_numpy, found.values())])
        size = embedding.weight.shape[1]
        if values.shape[1] != size:
            raise ConfigurationError(
                f"word vectors of {values.shape[1]} numbers in {path} for embeddings of {size}",
                f"-s model.embedding={values.shape[1]}",
            )
        values *= size**-0.5 / values.square().mean().sqrt()
        for word, value in zip(found, values, strict=True):
            place = id(embedding), words[word]
            if place not in filled:
                embedding.weight.data[words[word]] = value
                filled.add(place)
        console.say(f"{path.name}: vectors of {len(found):,} of {len(embedding.weight):,} tokens")


def read_vectors(path: Path, words: Collection[str]) -> Vectors:
    """Return the vectors of those words that a file knows, as written or in lower case.

    Raises InputError for a file of another kind, and DamagedError for one that cannot be read.
    """
    with intact(path, "word vectors", "", *BROKEN):
        content = path.read_bytes()
        content = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        if content[:4] == struct.pack("<i", FASTTEXT):
            find = _fasttext(content)
        else:
            known = _table(content, {*words, *map(str.lower, words)})
            find = known.get
        found = {word: find(word) for word in words}
        found |= {word: find(word.lower()) for word, one in found.items() if one is None}
    vectors = {word: one for word, one in found.items() if one is not None}
    if len({one.shape for one in vectors.values()}) != 1:
        raise InputError(
            f"{path} has vectors of none of the words, or of several sizes",
            "word vectors of this language by word2vec, GloVe or fastText",
        )
    return vectors


def _table(content: bytes, words: Collection[str]) -> Vectors:
    """Return the vectors of some words in a text file, or in a binary one of word2vec."""
    head, _, rest = content.partition(b"\n")
    counts = head.split()
    if len(counts) == 2:
        count, size = map(int, counts)
        if len(rest.split(b"\n", 1)[0].split()) != size + 1:
            return _word2vec(rest, count, size, words)
        content = rest
    found: Vectors = {}
    for line in content.split(b"\n"):
        word, _, numbers = line.rstrip().partition(b" ")
        if numbers and (text := word.decode("utf-8", "replace")) in words:
            found[text] = np.array(numbers.split(), np.float32)
    return found


def _word2vec(content: bytes, count: int, size: int, words: Collection[str]) -> Vectors:
    found, place = Vectors(), 0
    for _ in range(count):
        end = content.index(b" ", place)
        text = content[place:end].strip(b"\n").decode("utf-8", "replace")
        if text in words:
            found[text] = np.frombuffer(content, "<f4", size, end + 1).copy()
        place = end + 1 + 4 * size
    return found


def _fasttext(content: bytes) -> Callable[[str], NDArray[np.float32] | None]:
    """Return a function from words to vectors; None for a word without any n-gram."""
    *arguments, _ = struct.unpack_from(ARGUMENTS, content, 8)
    size, buckets, least, most = arguments[0], arguments[8], arguments[9], arguments[10]
    place = 8 + struct.calcsize(ARGUMENTS)
    count, words, _, _, pruned = struct.unpack_from("<iiiqq", content, place)
    place += struct.calcsize("<iiiqq")
    rows = dict[str, int]()
    for row in range(count):
        end = content.index(b"\0", place)
        rows[content[place:end].decode("utf-8", "replace")] = row
        place = end + 1 + 9  # its frequency and its kind
    place += 8 * max(0, pruned)
    is_quantised, height, width = struct.unpack_from("<?qq", content, place)
    if is_quantised or width != size:
        raise InputError("a compressed model of fastText (.ftz)", "its .bin or .vec file")
    matrix = np.frombuffer(content, "<f4", height * width, place + 17).reshape(height, width)

    def find(word: str) -> NDArray[np.float32] | None:
        marked, chosen = f"<{word}>", [rows[word]] if word in rows else []
        for length in range(max(1, least), most + 1):
            for start in range(len(marked) - length + 1):
                ngram = marked[start : start + length]
                if buckets and not (length == 1 and ngram in "<>"):
                    chosen.append(words + _hash(ngram) % buckets)
        return matrix[chosen].mean(0) if chosen else None

    return find


def _hash(text: str) -> int:
    """Return fastText's hash of an n-gram, whose bytes it reads as signed."""
    found = HASH
    for byte in text.encode():
        found = ((found ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * PRIME) & 0xFFFFFFFF
    return found

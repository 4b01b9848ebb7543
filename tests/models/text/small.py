"""Vocabularies, vectors and models of a few words and languages."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from attncli.data.embedded import Pair
from models.core.use_config import SearchConfig, TokenizerConfig
from models.networks.bundle import Bundle, save, sizes_of
from models.storage.presets import model_config
from models.text.tokenizer import Tokenizer, train
from tests.models.small import random_model

LISTS = {
    "words": "<unk>\n<s>\nthe\ndog\n7\n",
    "fairseq": "the 90\ndog 30\nold 2\n",
    "OpenNMT": "<blank>\nthe\t90\ndog\t30\n",
    "scores": "\u2581the\t-1.5\n\u2581\t-2\ndog\t-3\n\u2581dog\t-2\n",
}
CONFIG = TokenizerConfig(
    kind="bpe", languages=("de", "en", "fr"), directions=("en-de", "de-en", "en-fr", "fr-en")
)
SEARCH = SearchConfig(max_ratio=1.0, max_extra=4)
SIZE = 4  # of the vectors
WORDS = {"dog": 0, "Straße": 1, "a": 2}
TABLE = np.random.default_rng(1).normal(size=(3, SIZE)).astype("<f4")
NGRAMS = np.random.default_rng(2).normal(size=(50, SIZE)).astype("<f4")


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


FORMATS: dict[str, Callable[[], bytes]] = {
    "glove": text,
    "word2vec text": lambda: text(b"3 4\n"),
    "word2vec binary": word2vec,
    "gzip": lambda: gzip.compress(text(b"3 4\n")),
}


def learned(pairs: Sequence[Pair], config: TokenizerConfig = CONFIG, size: int = 400) -> Tokenizer:
    """Return a tokenizer of some pairs; by default a joint one with a token for each language."""
    return train([pair.source for pair in pairs], [pair.target for pair in pairs], size, config)


def multilingual(tokenizer: Tokenizer, folder: Path) -> Path:
    """Save a Transformer with random weights and target languages."""
    sizes = sizes_of(tokenizer, "transformer")
    model = random_model(model_config("transformer-nano"), sizes, noise=0.4, seed=3)
    save(Bundle(model, tokenizer, CONFIG, SEARCH), folder)
    return folder

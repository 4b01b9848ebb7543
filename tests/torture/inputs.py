"""Valid files of every kind that `attn` reads, and how each is read."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import shutil
import tarfile
import tempfile
import wave
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy
import zstandard
from PIL import Image

from attncli.caption._captions import read_captions
from attncli.data.alignments import read_external_alignments, read_links
from attncli.data.lines import open_text
from attncli.data.named_files import open_images
from attncli.train._vectors import read_vectors
from attncli.training.config import from_toml, read_run_config
from models.align_train.hmm import trained
from models.align_train.tables import read_statistical, write_statistical
from models.core.errors import ModelError
from models.core.use_config import TokenizerConfig
from models.networks.edgetpu import MobileNetEdgeTpu
from models.signals.images import open_image
from models.speech.recordings import read_sound
from models.storage.installed import BOX
from models.storage.settings import STATISTICAL
from models.text.tokenizer import LABELS, own_tokenizer, read_tokenizer
from models.text.vocabulary import own_kind
from tests.models.networks.small import EDGETPU, TINY, quantised
from tests.models.text.small import FORMATS, LISTS, fasttext
from tests.torture.mutate import mutate_json

GRAMMAR = BOX / "grammar-en-de"
TOKENIZER, WEIGHTS = "tokenizer.model", "weights.npz"


class Kind(NamedTuple):
    """A kind of file: its name in the table, contents that are valid, and how one is read."""

    name: str
    contents: list[bytes]
    read: Callable[[Path], object]


def kinds() -> Iterator[Kind]:
    """Return every kind of file."""
    yield Kind("images", _images(), lambda path: open_image(path))
    yield Kind("compressed text", _archives(), _read_lines)
    yield Kind("TAR files", _tars(), _read_tar)
    yield Kind("files of links", _links(), lambda path: read_links(path))
    lengths = [(2, 2), (1, 1)]
    yield Kind("alignments", _alignments(), lambda path: read_external_alignments(path, lengths))
    yield Kind("files of captions", _captions(), lambda path: read_captions(path))
    yield Kind("settings", [b'preset = "demo"\n[train]\nlr = 0.1\n'], _read_settings)
    vectors = [make() for make in (*FORMATS.values(), fasttext)]
    yield Kind("word vectors", vectors, lambda path: read_vectors(path, ["dog"]))
    tokens = (GRAMMAR / TOKENIZER).read_bytes()
    vocabularies = [*map(str.encode, LISTS.values()), tokens]
    yield Kind("vocabularies", vocabularies, _read_vocabulary)
    yield Kind("labels", [b"animal\ncolour\n"], _read_beside(read_tokenizer, LABELS))
    aligner = trained([("a dog", "ein Hund"), ("the dog", "der Hund")]).tables()
    tables = _written(lambda folder: write_statistical(aligner, folder), STATISTICAL)
    yield Kind("aligners", [tables], _read_beside(read_statistical, STATISTICAL))
    network = MobileNetEdgeTpu(EDGETPU, TINY)
    weights = _written(lambda folder: quantised(network, folder), WEIGHTS)
    load = _read_beside(lambda folder: network.load(str(folder)), WEIGHTS)
    yield Kind("weights of an image network", [weights], load)
    yield Kind("recordings", _recordings(), lambda path: read_sound(path, 16_000))


def _images() -> list[bytes]:
    found = []
    image = Image.fromarray(numpy.arange(48 * 40 * 3, dtype=numpy.uint8).reshape(48, 40, 3))
    for kind in ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP"):
        stream = io.BytesIO()
        image.save(stream, kind)
        found.append(stream.getvalue())
    return found


def _archives() -> list[bytes]:
    text = "".join(f"line {n}\n" for n in range(300)).encode()
    zstd = zstandard.ZstdCompressor().compress(text)
    return [text, gzip.compress(text), lzma.compress(text), zstd, zstd + gzip.compress(text)]


def _tars() -> list[bytes]:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in ("a.png", "folder/b.png", "../c.png"):
            member = tarfile.TarInfo(name)
            member.size = 700
            archive.addfile(member, io.BytesIO(b"x" * 700))
    return [stream.getvalue()]


def _links() -> list[bytes]:
    return [b"0-0 1p2 2?1\n\n0-1:0.25 1-0:1e-3\n", b"0001 1 1\n0001 2 3 P\n3 1 2 S 0.5\n"]


def _alignments() -> list[bytes]:
    return [b"c d ||| 0.9,0.1 0.2,0.8\nc ||| 0-0\n", b"0-0 1-0\n0-0\n"]


def _captions() -> list[bytes]:
    coco = {
        "images": [{"id": 7, "file_name": "a.jpg"}],
        "annotations": [{"image_id": 7, "caption": "A dog runs."}],
    }
    karpathy = {
        "images": [{"filename": "a.jpg", "split": "train", "sentences": [{"raw": "A dog."}]}]
    }
    random = Random("JSON of captions")
    odd = [mutate_json(random.choice([coco, karpathy]), random) for _ in range(50)]
    tables = [b"a.jpg#0\tA dog.\n", b'image,caption\na.jpg,"A dog."\n', b"a.jpg\tA dog.\n"]
    return [*tables, *(json.dumps(value).encode() for value in (coco, karpathy, *odd))]


def _recordings() -> list[bytes]:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(Random("sound").randbytes(3200))
    return [stream.getvalue()]


def _written(write: Callable[[Path], object], name: str) -> bytes:
    """Return what a function writes into the file of a folder."""
    with tempfile.TemporaryDirectory() as place:
        write(Path(place))
        return Path(place, name).read_bytes()


def _read_beside(read: Callable[[Path], object], name: str) -> Callable[[Path], None]:
    """Return a function that reads a file as that of this name in a folder with a tokenizer."""

    def in_folder(path: Path) -> None:
        with tempfile.TemporaryDirectory() as place:
            Path(place, TOKENIZER).symlink_to(GRAMMAR / TOKENIZER)
            shutil.copy(path, Path(place, name))
            read(Path(place))

    return in_folder


def _read_settings(path: Path) -> None:
    read_run_config(from_toml(path.read_text("utf-8", "surrogateescape"), "run.toml"))


def _read_vocabulary(path: Path) -> None:
    kind = own_kind(path, TokenizerConfig.kind)
    own_tokenizer(TokenizerConfig(kind=kind, model=(str(path),)))


def _read_lines(path: Path) -> None:
    with open_text(path) as lines:
        for _ in lines:
            pass


def _read_tar(path: Path) -> None:
    found = open_images(path)
    for place in found.places.values():
        with suppress(ModelError):
            place.read()

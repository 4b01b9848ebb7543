"""Archives of bundles, facts about them, and their lexicons."""

from __future__ import annotations

import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from models.core.errors import InputError, ModelError, intact
from models.core.files import read_regular, replacing, write_errors
from models.core.limits import MODEL_FILE_BYTES
from models.core.settings import Values
from models.storage.digests import NAME as SUMS
from models.storage.digests import check_digests
from models.storage.installed import Installed, installed
from models.storage.settings import (
    CARD,
    LEXICON,
    REPLAY,
    STATISTICAL,
    WEIGHTS,
    read_settings,
    task_of,
)
from models.storage.settings import NAME as CONFIG
from models.text.lexicon import Lexicon
from models.text.tokenizer import LABELS

REQUIRED = (CONFIG, WEIGHTS)
FILES = (
    *(CONFIG, CARD, "tokenizer.model", "tokenizer.json", "source.model", "target.model", LABELS),
    *(STATISTICAL, LEXICON, "lexicon-licence.txt", REPLAY, WEIGHTS, SUMS),
)
MAX_BYTES = {WEIGHTS: 1 << 33}  # of one file
MAX_FILES, MAX_RATIO = 10_000, 20  # files of an archive, and their size in archives
BEGINNING_OF_TIME = (1980, 1, 1, 0, 0, 0)  # of zip archives
FREE = re.compile(r"(CC0|CC BY|Apache|MIT|BSD|ISC|MPL|[AL]?GPL|public domain)\b", re.I)
LIMITED = re.compile(r"research|\bNC\b|non-?commercial", re.I)
MAX_LEXICON_BYTES = 1 << 26


def write_archive(folder: Path, path: Path) -> None:
    """Write the bundle in a folder as one file; raise ResourceError if it cannot be written."""
    with (
        replacing(path) as file,
        write_errors(path),
        # weights hardly compress, and a stored file cannot expand beyond its size
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
    ):
        for name in FILES:
            if (folder / name).is_file():
                # without times, equal bundles give equal archives
                info = zipfile.ZipInfo(name, BEGINNING_OF_TIME)
                info.external_attr = 0o644 << 16
                info.file_size = (folder / name).stat().st_size
                with (folder / name).open("rb") as source, archive.open(info, "w") as target:
                    shutil.copyfileobj(source, target)


def extract_archive(path: Path, folder: Path) -> None:
    """Extract a bundle into an existing empty folder.

    Raises DamagedError if the file was not written by `write_archive`, or is damaged.
    """
    with opened(path, "a file made by `attn models pack`") as archive:
        members = archive.infolist()
        _check(members, path)
        for member in members:
            # "x": a second file of one name is refused
            with archive.open(member) as source, (folder / member.filename).open("xb") as file:
                shutil.copyfileobj(source, file)


@contextmanager
def opened(path: Path, expected: str = "an archive of a model") -> Iterator[zipfile.ZipFile]:
    """Yield a zip archive for reading; raise DamagedError for what is damaged in the block."""
    faults = zipfile.BadZipFile, RuntimeError, EOFError, zlib.error
    with intact(path, expected, "get it again", *faults), zipfile.ZipFile(path) as archive:
        yield archive


def members_of(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the files of an archive; a ValueError if they are much larger than it, or too many."""
    members = [member for member in archive.infolist() if not member.is_dir()]
    for member in members:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{ascii(member.filename)} is compressed in an unusual way")
    packed = sum(member.compress_size for member in members)
    if len(members) > MAX_FILES or not packed <= Path(str(archive.filename)).stat().st_size:
        raise ValueError(f"more than {MAX_FILES:,} files, or files that overlap")
    if sum(member.file_size for member in members) > MAX_RATIO * packed + MODEL_FILE_BYTES:
        raise ValueError(f"files of more than {MAX_RATIO} times its size")
    return members


def _check(members: list[zipfile.ZipInfo], path: Path) -> None:
    names = [member.filename for member in members]
    for member in members:
        if member.filename not in FILES or names.count(member.filename) > 1:
            raise ValueError(f"file {ascii(member.filename)} does not belong to a model")
        # no archive of `attn models pack` has them, so they can only be hostile or damaged
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise ValueError(f"{member.filename} is compressed or encrypted")
        if member.file_size > MAX_BYTES.get(member.filename, MODEL_FILE_BYTES):
            raise ValueError(f"{member.filename} has {member.file_size:,} bytes")
    if missing := [name for name in REQUIRED if name not in names]:
        raise ValueError(f"no {missing[0]}")
    # overlapping members could unpack to far more than the archive has
    if sum(member.file_size for member in members) > path.stat().st_size:
        raise ValueError("its files are larger than the archive")


class About(NamedTuple):
    """Facts that the author of a model gives: the section "about" of config.json."""

    summary: str = ""  # one line
    languages: tuple[str, ...] = ()
    licence: str = ""
    score: str = ""  # such as BLEU 34.1 en-de (Tatoeba test)
    sense: Mapping[str, str] = MappingProxyType({})  # by direction: lines of 100 with another sense
    knows: str = ""  # all that a model of few words knows, such as the digits zero to nine
    surprise: float = 0.0  # of speech: nats per token, above which it is none of these words
    lexicon: str = ""  # licence of the lexicon, if it has another one than the weights

    @property
    def use(self) -> str:
        """Purpose for which the licence allows the model: any, research or unknown."""
        if LIMITED.search(self.licence):
            return "research"
        return "any" if FREE.match(self.licence) else "unknown"

    def to_dict(self) -> dict[str, object]:
        """Return the facts that are given, for config.json."""
        facts = {**self._asdict(), "languages": list(self.languages), "sense": {**self.sense}}
        return {name: value for name, value in facts.items() if value}


class Facts(NamedTuple):
    """A model on disk, described."""

    task: str  # translate, caption or classify
    family: str
    about: About
    bytes: int  # of the weights
    precision: str  # fp32 or int8


def read_about(settings: Values) -> About:
    """Return the facts in a bundle's settings; languages default to those of its tokenizer."""
    given = settings.get("about", {})
    languages = given.get("languages") or settings["tokenizer"].get("languages") or ()
    names = ("summary", "licence", "score", "knows", "lexicon")
    texts = {name: str(given.get(name, "")) for name in names}
    listed = languages if isinstance(languages, (list, tuple)) else [languages]
    found = given.get("sense", {})
    sense = (
        {str(way): str(lines) for way, lines in found.items()} if isinstance(found, dict) else {}
    )
    surprise = float(given.get("surprise", 0))
    return About(languages=tuple(map(str, listed)), sense=sense, surprise=surprise, **texts)


def read_facts(folder: Path) -> Facts:
    """Return the facts about the model in a folder; a ModelError if it is damaged."""
    settings = read_settings(folder)
    with intact(folder / WEIGHTS, "the weights of a model"):
        size = (folder / WEIGHTS).stat().st_size
    return Facts(
        task_of(folder),
        str(settings["model"].get("family", "")),
        read_about(settings),
        size,
        str(settings.get("weights", "fp32")),
    )


def read_card(folder: Path) -> str:
    """Return the model card, or "" if there is none."""
    try:
        return read_regular(folder / CARD).decode("utf-8", "replace")
    except (OSError, InputError):
        return ""


def listed() -> Iterator[tuple[Installed, Facts | None]]:
    """Yield the models in every place, with the facts about them; None: they are damaged."""
    for model in installed():
        try:
            yield model, read_facts(model.folder)
        except ModelError:
            yield model, None


def read_lexicon_bytes(folder: Path) -> bytes:
    """Return the packed lexicon of a bundle, b"" if it has none; a DamagedError if it changed."""
    path = folder / LEXICON
    if not path.is_file():
        return b""
    with intact(path, "a file of the model"):
        packed = read_regular(path, MAX_LEXICON_BYTES)
    check_digests(folder, [LEXICON])
    return packed


def read_lexicon(folder: Path) -> Lexicon | None:
    """Return the lexicon of a bundle, None if it has none; a DamagedError if it is damaged."""
    packed = read_lexicon_bytes(folder)
    return Lexicon(packed) if packed else None

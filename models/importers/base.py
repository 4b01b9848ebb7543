"""The interface of importers, and the bundle that is written from one.

An importer knows one format. It reads the settings and the vocabulary of a folder at once, and a
tensor when it is asked for it under the name that it has in this program. Most names follow from a
table, in which N is the number of a layer, braces list the parts that are joined, and a value that
begins with "T " is stored transposed:

    "encoder.layers.N.attention.input": "model.encoder.layers.N.self_attn.{q,k,v}_proj"
"""

from __future__ import annotations

import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path, PurePosixPath
from pkgutil import resolve_name
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from models.core.annexes import with_entries
from models.core.config import ModelConfig
from models.core.errors import ConfigurationError, DamagedError, intact
from models.core.settings import Values, check_limits, to_dict
from models.core.types import VocabularySizes
from models.core.use_config import SearchConfig, TokenizerConfig
from models.importers._schema import Rule, Schema, read_json, rules
from models.importers._vocabularies import Vocabulary
from models.importers._weights import FileWeights, PublishedWeights, write_tensors
from models.networks.bundle import build, sizes_of
from models.storage.archive import About, members_of, opened
from models.storage.digests import write_digests
from models.storage.settings import CARD, FORMAT, NAME, WEIGHTS, to_text
from models.storage.weights import SPARE, stored_tensors
from models.text.tokenizer import Tokenizer
from models.text.vocabulary import SILENT, known_pieces

FORMATS = with_entries(  # name to class, imported when a folder is looked at
    "published",
    {
        "marian": "models.importers._marian:Marian",
        "marian-files": "models.importers._marian:MarianFiles",
        "m2m100": "models.importers._m2m100:M2m100",
        "blip": "models.importers._captioners:Blip",
        "vit-gpt2": "models.importers._captioners:VitGpt2",
        "ctranslate2": "models.importers._ctranslate2:CTranslate2Folder",
    },
)
PICKLED = ".pt"  # a file of PyTorch
GENERATION = "generation_config.json"
README = "README.md"
# the YAML head alone is read by a pattern, which must not search a file of gigabytes
MAX_README_BYTES = 1 << 20
HEAD = re.compile(r"^---\n(.{,65536}?)\n---\n", re.S)  # the YAML head of a README of the hub
PRECISIONS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
SEARCH = {  # of a generation_config.json
    "num_beams": Rule(int, 1, 1, 10_000),
    "length_penalty": Rule(float, 1.0, -100, 100),
    "bad_words_ids": Rule(list[list[int]], ()),
    "suppress_tokens": Rule(list[int], (), -1),
}


class Imported(NamedTuple):
    """Settings and vocabulary of a published model, as this program has them."""

    model: ModelConfig
    tokenizer: Tokenizer
    tokenizer_config: TokenizerConfig
    search: SearchConfig
    source: Vocabulary | None  # None: it reads no text, or one vocabulary serves both sides
    target: Vocabulary
    about: About = About()


class Importer:
    """A published model in a folder."""

    model_type: ClassVar[str] = ""  # of the config.json of a folder of the hub
    schema: ClassVar[Schema] = {}  # of its config.json
    of_generation: ClassVar[Schema] = SEARCH  # of its generation_config.json
    table: ClassVar[Mapping[str, str]] = {}
    unused: ClassVar[str] = r"$^"  # pattern of published weights that are not needed

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.used: set[str] = set()

    @classmethod
    def reads(cls, folder: Path) -> bool:
        """Return True if a folder has the format of this importer."""
        return model_type(folder) == cls.model_type

    @cached_property
    def settings(self) -> Values:
        """The settings of its config.json."""
        return read_json(self.folder / "config.json", self.schema)

    @cached_property
    def generation(self) -> Values:
        """The settings of its generation_config.json; of config.json in older models."""
        path = self.folder / GENERATION
        return read_json(path if path.exists() else path.with_name(NAME), self.of_generation)

    @cached_property
    def weights(self) -> PublishedWeights:
        """The published weights."""
        return FileWeights(self.folder)

    @cached_property
    def imported(self) -> Imported:
        """Settings and vocabulary; a ModelError if they are not known."""
        raise NotImplementedError

    @property
    def dtype(self) -> torch.dtype:
        """Precision in which the weights are stored: fp16 if they are published in it."""
        first = self.weights.tensor(self.weights.names[0])
        return torch.float16 if first.dtype == torch.float16 else torch.float32

    def theirs(self, name: str) -> Tensor:
        """Return published weights by their own name, and remember that they are used.

        Raises DamagedError if there are none.
        """
        self.used.add(name)
        try:
            found = self.weights.tensor(name)
        except KeyError:
            raise DamagedError(
                f"{self.folder} has no weights {name}", "all that its configuration says"
            ) from None
        # quantised weights of other libraries would be copied as if they were numbers
        if found.dtype not in PRECISIONS or not found.dim():
            kind = f"{found.dtype} and {found.dim()} dimensions"
            raise DamagedError(f"{self.folder} has weights {name} of {kind}", "matrices of floats")
        return found

    def rows(self, name: str, count: int) -> int:
        """Return the size of a vocabulary; raise DamagedError if a matrix has fewer rows."""
        if len(self.theirs(name)) < count:
            raise DamagedError(f"{self.folder}: {count:,} tokens", f"at most the rows of {name}")
        return count

    def has(self, name: str) -> bool:
        """Return True if there are published weights of a name."""
        return name in self.weights.names

    def tensor(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """Return weights by the name that they have in this program. shape: of the result."""
        place, _, kind = name.rpartition(".")
        rule = self.table.get(re.sub(r"\.\d+(?=\.|$)", ".N", place, count=1))
        if rule is None:
            raise ConfigurationError(f"no rule for the weights {name}", "a bug in the importer")
        number = re.search(r"\.(\d+)\.", place)
        before, _, rest = rule.removeprefix("T ").partition("{")
        inside, _, after = rest.partition("}")
        parts = [
            self.theirs(self.named(before + part + after, number[1] if number else "", kind))
            for part in inside.split(",")
        ]
        if rule.startswith("T "):
            parts = [part.T if part.dim() == 2 else part for part in parts]
        return torch.cat(parts) if len(parts) > 1 else parts[0]

    def named(self, place: str, number: str, kind: str) -> str:
        """Return the published name of weights: `kind` (weight or bias) of a place in a layer."""
        return re.sub(r"\bN\b", number, place) + "." + kind

    def optional(self, name: str) -> Tensor | None:
        """Return published weights by their own name; None if there are none."""
        return self.theirs(name) if self.has(name) else None


def rows_of(matrix: Tensor, vocabulary: Vocabulary) -> Tensor:
    """Return the rows (Y, ...) of a published matrix in the order of a vocabulary."""
    places = torch.tensor(vocabulary.rows)
    if int(places.max()) >= len(matrix):
        raise DamagedError(
            f"a vocabulary of {int(places.max()) + 1} tokens for a matrix of {len(matrix)} rows",
            "files of one model",
        )
    found = matrix[places.clamp_min(0)]
    # -1 marks a token that the published model lacks
    found[places < 0] = 0
    return found


def silenced(bias: Tensor | None, vocabulary: Vocabulary) -> Tensor:
    """Return the bias (Y,) of an output layer, with SILENT for what is no output. None: 0."""
    given = torch.zeros(max(vocabulary.rows) + 1) if bias is None else bias.flatten()
    found = rows_of(given, vocabulary)
    found[list(vocabulary.silent)] = SILENT
    return found


def extended_sides(
    found: Sequence[Vocabulary], models: Sequence[bytes], *, joint: bool
) -> list[Vocabulary]:
    """Return the vocabularies of source and target with all pieces of their SentencePiece models.

    joint: True if both sides share the vocabulary, which then has the pieces of both models.
    """
    pieces = [known_pieces(model) for model in models]
    if joint:
        return [found[0].extended([*pieces[0], *pieces[1]])] * 2
    return [one.extended(own) for one, own in zip(found, pieces, strict=True)]


def importer_of(folder: Path) -> Importer:
    """Return the importer of a folder; a ModelError if no importer reads it."""
    for place in FORMATS.values():
        kind = resolve_name(place)
        if kind.reads(folder):
            found: Importer = kind(folder)
            return found
    kind = model_type(folder) or "no format that is known"
    raise ConfigurationError(f"{folder}: {kind}", f"a model of the formats {', '.join(FORMATS)}")


def model_type(folder: Path) -> str:
    """Return the kind of model that a config.json names; "" if there is none."""
    return str(read_json(folder / NAME, rules("text: model_type"), optional=True)["model_type"])


def write_bundle(
    importer: Importer,
    folder: Path,
    *,
    name: str,
    advance: Callable[[float], None] = lambda share: None,
) -> None:
    """Write the model of an importer as a bundle into an existing empty folder.

    name: of the model or its address, for the card. advance: receives the share that is written.
    Raises ModelError if the weights do not fit the settings, or something in them is not known.
    """
    found, sizes, shapes = planned(importer)
    with fitting(importer):
        dtype = importer.dtype
    tensor = fitting(importer)(importer.tensor)
    tensors = ((key, tensor(key, shape)) for key, shape in shapes.items())
    write_tensors(folder / WEIGHTS, shapes, dtype, tensors, advance)
    # weights that nothing reads mean a part of the model that this program would leave out in
    # silence
    left = {n for n in importer.weights.names if not re.search(importer.unused, n)} - importer.used
    if left:
        raise ConfigurationError(
            f"{importer.folder} has weights that are not known, such as {min(left)}",
            "those of its format alone",
        )
    settings = {
        "format": FORMAT,
        "model": to_dict(found.model),
        "tokenizer": to_dict(found.tokenizer_config),
        "search": to_dict(found.search),
        "vocabulary": sizes._asdict(),
        "about": found.about.to_dict(),
    }
    (folder / NAME).write_text(to_text(settings), "utf-8")
    for file, content in found.tokenizer.files().items():
        (folder / file).write_bytes(content)
    (folder / CARD).write_text(card(importer, name), "utf-8")
    write_digests(folder)


def planned(importer: Importer) -> tuple[Imported, VocabularySizes, dict[str, tuple[int, ...]]]:
    """Return settings, vocabulary sizes and shapes of a model; a ModelError if they cannot be."""
    with fitting(importer):
        found = importer.imported
    check_limits(found.model, where=f"{importer.folder}: model")
    check_limits(found.search, where=f"{importer.folder}: search")
    sizes = sizes_of(found.tokenizer, found.model.family)
    # names and shapes alone, so that hostile settings allocate nothing
    with fitting(importer), torch.device("meta"):
        wanted = stored_tensors(build(found.model, sizes))
    numbers, folder = sum(tensor.numel() for tensor in wanted.values()), importer.folder
    files = filter(Path.is_file, (*folder.glob("*"), *folder.glob("model/*")))
    # refused before memory is taken for weights that are not there
    if numbers > sum(path.stat().st_size for path in files) + SPARE:
        raise DamagedError(
            f"{folder / NAME} describes {numbers:,} weights, more than its files have",
            "the weights and the configuration of one model",
        )
    return found, sizes, {name: tuple(tensor.shape) for name, tensor in wanted.items()}


def fitting(importer: Importer) -> Any:
    """Return a context, or decorator, in which sizes that do not fit raise DamagedError."""
    expected = "sizes that fit each other, and the weights"
    return intact(importer.folder / NAME, expected, "", RuntimeError, IndexError)


def card(importer: Importer, name: str) -> str:
    """Return the model card: the source, the licence, and the card of the publisher."""
    about = importer.imported.about
    lines = [f"# {name}", "", f"Imported by `attn models add {name}`.", about.summary]
    lines += [f"Licence: {about.licence or 'not stated; ask its publisher'}.", ""]
    return "\n".join(lines) + HEAD.sub("", readme(importer.folder))


def readme(folder: Path) -> str:
    """Return the README of a folder, "" if there is none."""
    try:
        with (folder / README).open("rb") as file:
            return file.read(MAX_README_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return ""


def facts(folder: Path, summary: str, languages: tuple[str, ...] = ()) -> About:
    """Return facts about a model; licence and languages from the YAML head of its README."""
    head = HEAD.match(readme(folder))
    text = head[1] if head else ""
    licence = re.search(r"^license:[ \t]*[\"']?([\w.+-][\w.+ -]{,100})", text, re.M)
    listed = re.search(r"^language:[ \t]*((?:\n *- *\S+)+|\[[^]]{,4000}\]|\S+)", text, re.M)
    codes = tuple(re.findall(r"[A-Za-z_]{2,}", listed[1])) if listed else ()
    code = licence[1].strip() if licence else ""  # such as cc-by-4.0, usually written CC BY 4.0
    name = code.upper() if code.startswith(("cc", "mit", "bsd")) else code.capitalize()
    name = re.sub(r"^CC-((?:BY|NC|SA|ND|-)+)-", lambda m: "CC " + m[1] + " ", name)
    return About(summary, languages or codes, name)


def search_settings(importer: Importer) -> SearchConfig:
    """Return the search settings of a generation_config.json; its length penalty is |y|^alpha."""
    given = importer.generation
    alpha = max(0.0, float(given["length_penalty"] or 1))
    # their program divides by |y|^alpha, and the outputs must be equal to its own
    return SearchConfig(beam=given["num_beams"], length_penalty=alpha, length_penalty_form="power")


def is_published(path: Path) -> bool:
    """Return True for a folder or archive of another publisher, not one of this program."""
    if path.is_dir():
        kinds = map(resolve_name, FORMATS.values())
        return bool(model_type(path)) or any(kind.reads(path) for kind in kinds)
    if path.suffix == PICKLED or not zipfile.is_zipfile(path):
        return path.suffix == PICKLED
    with opened(path) as archive:
        return not {NAME, WEIGHTS} & {*archive.namelist()}


def import_model(path: Path, folder: Path, **options: Any) -> None:
    """Write a published model as a bundle into an existing empty folder; see `write_bundle`.

    Raises ModelError if its format is not known, or it is damaged.
    """
    is_read = path.is_dir() or path.suffix == PICKLED
    with nullcontext(path) if is_read else extracted(path) as inside:
        write_bundle(importer_of(inside), folder, **options)


@contextmanager
def extracted(path: Path) -> Iterator[Path]:
    """Yield a temporary folder with the files of an archive; the folder inside, if it has one.

    An archive, as OPUS-MT and Argos distribute theirs, is not trusted: only plain files are
    extracted, below a folder of their own, and no more bytes than it says, up to a limit.
    """
    with tempfile.TemporaryDirectory(prefix="attn-import-") as place:
        folder = Path(place)
        with opened(path) as archive:
            for member in members_of(archive):
                name = PurePosixPath(member.filename)
                # such a name would be written outside of the folder; "\\" divides names on Windows
                if name.is_absolute() or ".." in name.parts or "\\" in member.filename:
                    raise ValueError(f"the file name {ascii(member.filename)}")
                target = folder.joinpath(*name.parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, target.open("xb") as file:
                    shutil.copyfileobj(source, file)
        inside = list(folder.iterdir())
        yield inside[0] if len(inside) == 1 and inside[0].is_dir() else folder

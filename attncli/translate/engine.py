"""Options of a translation, and the engine: CTranslate2 where it can, torch otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from attncli.data.streams import TEXT
from attncli.data.tables import read_glossary, read_lexicon_table
from attncli.faithful.divide import PlanOptions
from attncli.options import loading, shared
from attncli.options.settings import Options
from attncli.options.shared import PictureSettings, TextBatches
from attncli.task.runner import Models
from attncli.translate.memory import read_memory
from models.core.annexes import find_part
from models.core.config import FormOfAddress
from models.core.errors import ConfigurationError, DamagedError
from models.core.settings import Values, from_dict, option
from models.core.use_config import AlignConfig, SearchConfig
from models.engines.ctranslate2_translator import CTranslate2Translator, Engine, obstacle
from models.search.hypotheses import changed_search
from models.storage.installed import chosen_model
from models.storage.settings import read_settings

if TYPE_CHECKING:
    from typing_extensions import Self

    from models.engines.text_translator import TextTranslator

AUTO = "auto"  # as source language: recognised for each line
Precision = Literal["auto", "fp32", "int8"]  # int8: ctranslate2
TermRows = Sequence[Sequence[str]]

From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="LANGUAGE",
        help="Multilingual model: source language; auto: recognise it for each line, and copy "
        "lines that are in the target language.",
    ),
]


@dataclass(frozen=True)
class TranslateBatches(TextBatches):
    """Computation of translations."""

    backend: str = option(
        "auto",
        "program of the search: torch; ctranslate2, for text Transformers on the processor; auto: "
        "ctranslate2 where it can, else torch",
        choices=get_args(Engine),
    )


@dataclass(frozen=True)
class InputSettings:
    """Format of the input."""

    format: str = option(
        "",
        "format of the input (empty: by the name of the file; text, for lines)",
        choices=("", TEXT, *(find_part("document", "names") or ())),
    )
    keep: tuple[str, ...] = option((), "json, jsonl, yaml: translate all text fields but these")


@dataclass(frozen=True)
class LineSettings:
    """Conversion of lines to texts."""

    long_lines: str = option(
        "split",
        "lines that are too long for the model: split (at sentence ends) or refuse",
        choices=("split", "refuse"),
    )
    address: str = option(
        "",
        "form of address in the outputs: formal or informal (empty: as the model chooses for each "
        "sentence); of models that learned it, as everyday",
        choices=("", *get_args(FormOfAddress)),
    )


@dataclass(frozen=True)
class TranslateOptions(Options):
    """Options of a translation. source: AUTO recognises it, and copies lines in the target.

    Usually spaces, apostrophes and accents are normalised, lines in capitals that the model does
    not know are translated in lower case, and unchanged are lines without letters, addresses,
    spaces and emoji at the ends of a line, and a word that is longer than the model accepts.
    """

    EXAMPLE = "search.length_penalty=0.6"
    ASSIGNED = {**Options.ASSIGNED, "address": "text.address"}
    TABLES = "search input text align picture attention compute"
    UNUSED = "search.max_caption align.symmetrise"

    input: InputSettings = option(InputSettings, "format of the input")
    text: LineSettings = option(LineSettings, "lines")
    align: AlignConfig = option(AlignConfig, "--align, --show and --picture")
    picture: PictureSettings = option(PictureSettings, "--show and --picture")
    compute: TranslateBatches = option(TranslateBatches, "computation")
    to: shared.To = ""
    source: From = ""
    beam: shared.Beam = None  # this, nbest and address are given only: tables have the values
    nbest: shared.Nbest = None
    verbatim: Annotated[
        bool,
        typer.Option(
            "--verbatim",
            help="Give lines to the model as they are: no normalised spaces, no copied lines.",
        ),
    ] = False
    keep_tags: Annotated[
        bool,
        typer.Option("--keep-tags", help="Keep tags such as <b> and placeholders such as {name}."),
    ] = False
    document: bool = False  # lines have tags, too, and are segments: cells, headings, paragraphs
    glossary: Annotated[
        TermRows,
        Path | None,
        typer.Option(
            help="Terms that outputs must contain; a line: source term, tab, target term."
        ),
    ] = ()  # source and target
    lexicon: Annotated[
        TermRows,
        Path | None,
        typer.Option(
            help="Words that the model reads and inflects; a line: word, tab, translation; perhaps "
            "a tab and a direction."
        ),
    ] = ()  # further entries: form, translation, perhaps direction
    memory: shared.MemoryPairs = ()  # that come back as given; see memory.py
    address: Annotated[
        FormOfAddress | None,
        typer.Option(help="Form of address of the outputs: Sie or du, vous or tu, usted or tú."),
    ] = None
    back: Annotated[
        bool,
        typer.Option("--back", help="Translate each output back, too, and write that beside it."),
    ] = False
    review: Annotated[
        Path | None,
        typer.Option(help="Write the doubtful lines to this file, each with its reason."),
    ] = None
    precision: Annotated[
        Precision,
        typer.Option(
            help="int8 is faster and needs CTranslate2; auto: int8 if the model stores int8."
        ),
    ] = "auto"
    ordered: bool = False  # rows have the order of the model's inputs, and no header
    links: bool = False  # rows have the links of each output
    heads: bool = False  # alignments have the weights of every head

    @classmethod
    def read(cls, assignments: Iterable[str] | None = None, **options: Any) -> Self:
        """Return the options; the terms, entries and pairs of files are read."""
        source, to = options.get("source", ""), options.get("to", "")
        readers: dict[str, Callable[[Path], TermRows]] = {
            "glossary": lambda path: read_glossary(path).terms,
            "lexicon": read_lexicon_table,
            "memory": lambda path: read_memory(path, "" if source == AUTO else source, to),
        }
        for name in readers.keys() & options.keys():
            if isinstance(options[name], Path):
                options[name] = readers[name](options[name])
        return super().read(assignments, **options)

    @property
    def plan(self) -> PlanOptions:
        """The options that the plan of a line reads."""
        search = self.of("search")
        limited = not {"max_ratio", "max_extra"}.isdisjoint(search)
        cut = int(search.get("split_above", 0))
        return PlanOptions(self.verbatim, self.text.long_lines, cut, limited)


def load(models: Models, options: TranslateOptions) -> TextTranslator:
    """Read a text model, by CTranslate2 where it can, or an ensemble, which torch runs."""
    folders = loading.as_folders(models)
    if len(folders) > 1:
        _check_torch(options, "several models")
        return loading.load("translate", folders, options)
    path = chosen_model(next(iter(folders), None), "translate")
    settings = read_settings(path)
    loading.say_sense(path, settings, options)
    fast = fast_engine(path, options, settings)
    if fast is None:
        return loading.load("translate", path, options)
    loading.say_licence(path, settings, options.messages)
    return fast


def fast_engine(
    path: Path, options: TranslateOptions, settings: Values
) -> CTranslate2Translator | None:
    """Read a model for a search by CTranslate2; None if torch must search, or reports damage.

    Raises ConfigurationError if CTranslate2 or int8 is chosen for what only torch can do.
    """
    if options.compute.backend == "torch":
        reason = "compute.backend=torch"
    elif options.attention.read_decode:
        reason = "attention.read_decode"
    else:
        saved = from_dict(SearchConfig, settings["search"], where="search")
        reason = obstacle(settings, changed_search(saved, options.of("search")), options.device)
    if reason:
        _check_torch(options, reason)
        return None
    try:
        stored = "int8" if settings.get("weights") == "int8" else "fp32"
        precision = stored if options.precision == "auto" else options.precision
        return CTranslate2Translator.read(
            path, precision=precision, threads=options.threads, settings=settings
        )
    except DamagedError:
        if options.compute.backend == "ctranslate2":
            raise
        return None


def _check_torch(options: TranslateOptions, reason: str) -> None:
    """Raise ConfigurationError for options of CTranslate2. reason: why torch must run the model."""
    if options.compute.backend == "ctranslate2":
        raise ConfigurationError(
            f"compute.backend=ctranslate2 with {reason}",
            "one text Transformer on the processor, beam or greedy search",
            "leave it out",
        )
    if options.precision == "int8":
        raise ConfigurationError(
            f"--precision int8 with {reason}",
            "fp32, or a model and a search that CTranslate2 supports",
        )

"""Options, tables of settings and checks that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from attncli.data.streams import COMPRESSED
from models.core.annexes import find_part
from models.core.config import MAX_BATCH_TOKENS
from models.core.errors import ModelError, NotFoundError
from models.core.settings import option

MODEL = "ATTN_MODEL"
MAX_THREADS = 512  # thousands of them take a minute to start, and memory

Models = Annotated[
    list[Path] | None,
    typer.Option(
        "--model",
        "-m",
        envvar=MODEL,
        help="Model: its name (`attn models` lists them) or the folder of a run or bundle; "
        "without it, the model shipped for this command. Given again: an ensemble, which averages "
        "the probabilities of the models; their target vocabularies must be identical.",
    ),
]
OneModel = Annotated[
    Path | None,
    typer.Option(
        "--model",
        "-m",
        envvar=MODEL,
        help="Model: its name (`attn models` lists them) or the folder of a run or bundle; "
        "without it, the model shipped for this command.",
    ),
]
Device = Annotated[
    Literal["auto", "cpu", "cuda", "mps"],
    typer.Option(help="Device; auto selects a GPU if there is one."),
]
Threads = Annotated[
    int,
    typer.Option(min=0, max=MAX_THREADS, help="Processor threads (0: the default of torch)."),
]

MemoryPairs = Annotated[
    Sequence[Sequence[str]],
    Path | None,
    typer.Option(
        help="Pairs of which a line comes back as given; .tmx, or a line: source, tab, translation."
    ),
]
To = Annotated[
    str, typer.Option(metavar="LANGUAGE", help="Multilingual model: target language, such as de.")
]
From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="LANGUAGE",
        help="Multilingual model: source language. Only checked; the model recognises it itself.",
    ),
]

Beam = Annotated[
    int | None, typer.Option("--beam", "-b", help="Beam size: hypotheses kept at each step.")
]
Nbest = Annotated[int | None, typer.Option("--nbest", "-n", help="Outputs per input.")]
Format = Annotated[Literal["text", "tsv", "jsonl"], typer.Option(help="How to write the outputs.")]
Scores = Annotated[bool, typer.Option("--scores", help="Put each score before its output.")]
Show = Annotated[
    bool, typer.Option("--show", help="Draw the attention in the terminal, below each output.")
]
PictureFile = Annotated[
    Path | None,
    typer.Option(
        "--picture",
        help="Draw the attention of the outputs into a file: .svg, .png, .pdf, .html; of words "
        "with words, or of an image, also .npz.",
    ),
]
Prefix = Annotated[
    str,
    typer.Option(metavar="TEXT", help="Text that each output begins with."),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON instead of text.")]
GoldIndex = Annotated[
    Literal["0", "1"] | None,
    typer.Option(help="Index of the first word in --gold, if the file does not show it."),
]
UNKNOWN = object()  # a value that Typer converts


def look_option(places: str) -> Any:
    """Return the option --look. places: how to write where an output looks."""
    return typer.Option(
        "--look",
        metavar="PLACE[@WORDS]",
        help=f"Attend to this place alone: {places}; @1-3: for output words 1 to 3. Repeatable.",
    )


@dataclass(frozen=True)
class TextBatches:
    """Computation over batches of texts."""

    batch_tokens: int = option(MAX_BATCH_TOKENS, "tokens of a batch, padding included", least=1)


@dataclass(frozen=True)
class PictureSettings:
    """Pictures of a command that reads lines."""

    lines: str = option("", "lines to draw, such as 1-20,35 (empty: the first)")


def convert_quickly(command: Any, function: Callable[..., Any] | None = None) -> Any:
    """Make a command convert usual values by the types of the parameters of a function.

    Typer converts every value with pydantic, whose import takes longer than the rest of a start
    (70 ms). Values that need a check, and every error, are left to Typer.
    """
    kinds = get_type_hints(function) if function else {}
    params_of = command.get_params

    def get_params(ctx: Any) -> list[Any]:  # --help is not in command.params
        params: list[Any] = params_of(ctx)
        for param in params:
            if "process_value" not in vars(param):
                param.process_value = partial(_process, param, kinds, param.process_value)
        return params

    command.get_params = get_params
    return command


def converted(value: Any, kind: Any) -> Any:
    """Return a value from the command line as a type; UNKNOWN if it needs a check."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        kinds = [one for one in get_args(kind) if one is not type(None)]
        return converted(value, kinds[0]) if len(kinds) == 1 else UNKNOWN
    if origin is Literal:
        return value if value in get_args(kind) else UNKNOWN
    if kind is str and isinstance(value, str):
        return value
    if kind is Path and isinstance(value, str):
        return Path(value)
    if origin is list and isinstance(value, (list, tuple)):
        found = [converted(one, get_args(kind)[0]) for one in value]
        return UNKNOWN if UNKNOWN in found else found
    return UNKNOWN


def _process(
    param: Any, kinds: Mapping[str, Any], by_typer: Callable[[Any, Any], Any], ctx: Any, value: Any
) -> Any:
    """Return the value of a parameter; replaces `click.Parameter.process_value`."""
    is_single = param.nargs == 1 and not getattr(param, "multiple", False)
    if param.required:
        found = UNKNOWN
    elif value is None:
        found = None if is_single else ()
    elif is_single and value is param.default:
        found = value
    else:
        found = converted(value, kinds.get(param.name))
    if found is UNKNOWN:
        try:
            return by_typer(ctx, value)
        except typer.BadParameter as error:  # without pydantic's kind of error
            error.message = error.message.removeprefix("Value error, ")
            raise
    return param.callback(ctx, param, found) if param.callback else found


def check_texts(texts: Sequence[str], command: str = "translate") -> None:
    """Raise ModelError if texts for a command are names of files, or the only one looks like it."""
    formats = find_part("document", "formats")
    mistyped = len(texts) == 1 and re.fullmatch(r"[^\s:]{1,255}", texts[0])
    ends = (".txt", *COMPRESSED, *(formats.TEXT_SUFFIXES if formats else ()))
    if mistyped and Path(texts[0]).suffix.lower() in ends and not _is_file(texts[0]):
        raise NotFoundError(f"no file {texts[0]}", f"text to {command}, or a file with -i")
    if texts and all(map(_is_file, texts)):
        reading = f"read the file with -i {texts[0]}"
        if command == "translate" and formats:
            reading = formats.reading(texts[0]) or reading
        raise ModelError(
            f"{texts[0]}: the name of a file, where text is expected",
            f"text to {command}",
            f"{reading}; pipe the name in to {command} the name itself",
        )


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a zero byte
        return False

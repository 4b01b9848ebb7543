"""``attn models``: lists, facts and files of models."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from attncli.catalogue import _facts as zoo
from attncli.catalogue import _packages as packages
from attncli.catalogue._facts import Entry, Shown
from attncli.catalogue._packages import Packing
from attncli.data.streams import as_json, write_stdout
from attncli.options.settings import SetOption
from attncli.options.shared import Json
from attncli.render.rows import columns, size
from attncli.terminal import console
from attncli.terminal.messages import current_screen, printable
from attncli.training.config import RunConfig
from attncli.training.sources import training_source
from models.core.errors import ModelError
from models.core.registry import SETTINGS
from models.core.settings import option, overridden
from models.engines.ctranslate2_translator import ComputePrecision
from models.storage.archive import About, Facts, listed
from models.storage.installed import Installed, find_model, installed, public_models
from models.storage.presets import PRESETS, model_config
from models.storage.settings import WeightPrecision

MAX_NAMES = 14  # of a kind of parts in the list of all
RECURRENT = "luong-small"  # preset whose attention fits every score, window and read
EXAMPLES = {  # other presets, by the kind of the parts that they use
    "image_encoder": "show-attend-tell-soft",
    "pooling": "bilstm-attention-small",
    "combination": "multi-source-small -s model.inputs=source,draft",
    "position": "transformer-tiny",
    "mixing": "transformer-tiny",
}
KINDS = {name.replace(" ", "-"): kind for kind, name in zoo.KINDS.items()}

Name = Annotated[
    str,
    typer.Argument(help="A model's name or folder, a preset, a part, or a kind of parts (scores)."),
]
Set = Annotated[list[str] | None, SetOption(RunConfig, example="tokenizer.size=8000")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model: its name or folder.")]
Target = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="File to write, NAME.zip; any other name is a folder."),
]
StoredPrecision = Annotated[
    WeightPrecision,
    typer.Option("--precision", help="Precision of the weights; int8 has one scale per row."),
]
Share = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Captioners: take the image network from this model in the same folder, which must "
        "have the same weights. Folders only.",
    ),
]
Card = Annotated[
    Path | None, typer.Option(help="Model card, Markdown. Default: the model's own card.")
]


def list_models(*, json: Json = False) -> None:
    """List models, presets, families, scores and other parts.

    `attn models scores` says what each score is, and so on for the other kinds.

    Models on disk come first: in ./runs, newest first, in the user folder
    $XDG_DATA_HOME/attn/models, in the folders of ATTN_MODELS, and shipped with attn ("box").
    -m NAME finds a model in this order. The column "use" is "research" for a licence that does not
    allow other uses.

    The score, window, normaliser and read of a recurrent family can be chosen, as in
    `attn train --preset luong-small -s model.attention.score=dot`.

    Example:
      attn models
      attn models scores
    """
    found, entries = list(listed()), zoo.catalogue()
    if json:
        record: dict[str, object] = {"models": [_record(*model) for model in found]}
        for kind, name in zoo.KINDS.items():
            record[name] = [_part_record(entry) for entry in entries if entry.kind == kind]
        write_stdout(as_json(record))
    else:
        write_stdout(_for_terminal(_models(found) + _names(entries)))


def show(name: Name, *, set: Set = None) -> None:
    """Show a model, a part, or the parts of a kind.

    A model is shown with its data, score, size and card first, then with the settings that apply
    to its family. A model or preset is shown as a file that `attn train` takes; a part with its
    equation, source and settings. Write ./folder for a folder with the name of a part. -s changes a
    setting of a preset; parameters are counted for 8,000 tokens per vocabulary, or tokenizer.size.

    Example:
      attn models show additive
      attn models show presets
      attn models show runs/demo
      attn models show transformer-tiny > run.toml
    """
    if name in KINDS:
        entries = [entry for entry in zoo.catalogue() if entry.kind == KINDS[name]]
        rows = [(entry.name, _summary(entry)) for entry in entries]
        return write_stdout(_for_terminal(columns(rows, left=2)))
    shown = zoo.show(name, set or [])
    if isinstance(shown, Shown):
        write_stdout(_model(shown))
    else:
        write_stdout(_for_terminal("\n".join(map(_part, shown))))


def _for_terminal(table: str) -> str:
    """Return a table with long lines wrapped if it is shown on a terminal."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return wrapped(table, current_screen().width) if is_terminal else table


def _models(found: list[tuple[Installed, Facts | None]]) -> str:
    """Return the table of models on disk, and a blank line; nothing if there are none."""
    if not found:
        return ""
    rows = [[f"  {model.name}", model.place.name, *_facts(facts)] for model, facts in found]
    head = ["Models", "where", "task", "languages", "size", "use", "licence", "score, sense"]
    return columns([head, *rows], left=len(head)) + "\n"


def _facts(facts: Facts | None) -> list[str]:
    if facts is None:
        return ["damaged", "", "", "", "", ""]
    about, stored = facts.about, size(facts.bytes)
    languages = " ".join(about.languages)
    lines = ", ".join(f"{lines} {way}" for way, lines in about.sense.items())
    sense = f"another sense in {lines} of 100 lines of letters" if lines else ""
    score = "; ".join(filter(None, (about.score, sense)))
    return [facts.task, languages, stored, about.use, about.licence, score]


def _names(entries: list[Entry]) -> str:
    """Return a line with names of each kind of parts; of many names, some."""
    kinds, rows = {kind: name for name, kind in KINDS.items()}, []
    for kind, group in groupby(entries, key=lambda entry: entry.kind):
        names = [entry.name for entry in group]
        shown = names if len(names) <= MAX_NAMES else names[: MAX_NAMES // 2]
        more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
        rows.append((f"  {kinds[kind]}", ", ".join(shown) + more))
    return "Parts: attn models KIND, or attn models show NAME\n" + columns(rows, left=2)


def _summary(entry: Entry) -> str:
    """Return the summary in one line, with the paper; the summary of a preset names it already."""
    named = entry.kind == "preset" or not entry.source
    return entry.summary if named else f"{entry.summary.rstrip('.')} ({entry.source})"


def _record(model: Installed, facts: Facts | None) -> dict[str, object]:
    record: dict[str, object] = {"name": model.name, "where": model.place.name}
    record["folder"] = str(model.folder)
    if facts:
        record |= facts._asdict() | facts.about._asdict() | {"use": facts.about.use}
        record["sense"] = {**facts.about.sense}
        del record["about"]
    return record


def _part_record(entry: Entry) -> dict[str, object]:
    record = entry._asdict() | {"settings": [row._asdict() for row in entry.settings]}
    del record["kind"]
    return record


def _part(entry: Entry) -> str:
    usage = _usage(entry)
    rows = [(f"{row.name} = {row.default}", row.doc) for row in entry.settings]
    settings = ["", *columns(rows, left=2).splitlines()] if rows else []
    return "".join(f"{line}\n" for line in [*_about(entry), *settings, "", usage])


def _usage(entry: Entry) -> str:
    """Return a command line that uses a part, or the presets of a family."""
    if entry.kind == "family":
        names = [name for name in PRESETS if model_config(name).family == entry.name]
        return f"presets: {', '.join(names)}"
    if entry.kind == "importer":
        return "attn models add SOURCE"
    if entry.kind == "source":
        return "attn models lists the presets"
    if entry.kind == "rerank":
        return f"attn translate -s search.rerank={entry.name}"
    setting = SETTINGS.get(entry.kind, f"model.{entry.kind}")
    name = "resnet50" if entry.name == "torchvision" else entry.name
    return f"attn train --preset {EXAMPLES.get(entry.kind, RECURRENT)} -s {setting}={name}"


def _about(entry: Entry) -> list[str]:
    """Return the lines of a part's docstring."""
    return [f"{entry.kind} {entry.name}", entry.summary, *entry.detail.splitlines()]


def _model(shown: Shown) -> str:
    """Return the settings as TOML; size, facts and card are comments above them."""
    tokens = training_source(shown.family.name).describe_vocabulary(shown.vocabulary)
    about = [shown.title, *shown.facts, f"{shown.parameters:,} parameters with {tokens}"]
    about += ["", *shown.card.splitlines()] if shown.card else []
    about += ["", *_about(shown.family)]
    comments = "".join(f"# {printable(line)}".rstrip() + "\n" for line in about)
    return comments + f"\n{shown.settings}\n"


@dataclass(frozen=True)
class AboutSettings:
    """Facts about a model, for `attn models`. Empty: those stored with the model."""

    summary: str = option("", "one line about the model")
    languages: tuple[str, ...] = option((), "its languages, separated by commas")
    licence: str = option("", "its licence")
    lexicon: str = option("", "licence of its lexicon, if that has another one")
    score: str = option("", "a score with its test set")
    sense: tuple[str, ...] = option(
        (), "lines of 100 of which each direction changes the sense, such as en-de=30,de-en=28"
    )
    knows: str = option("", "of speech: what a model of few words knows, for a message")
    surprise: float = option(
        0.0, "of speech: -log p in nats per token above which it is none of these words (0: never)"
    )


@dataclass(frozen=True)
class PackTables:
    """Tables of `attn models pack`."""

    about: AboutSettings = option(AboutSettings, "facts about the model")


PackSet = Annotated[list[str] | None, SetOption(PackTables, example="about.languages=de,en")]


def pack(
    model: Model,
    target: Target,
    *,
    precision: StoredPrecision = "int8",
    share: Share = "",
    card: Card = None,
    set: PackSet = None,
) -> None:
    """Write a model as one small file.

    The file has everything that is needed to use the model. `attn models add` installs it. Weights
    in int8 take about a quarter of the size of fp32. Facts that are not given are those stored with
    the model.

    Example:
      attn models pack runs/en-de en-de.zip -s about.languages=en,de -s "about.licence=CC BY 2.0"
      attn models pack runs/captions models/pretrained/photos --card card.md
    """
    given = overridden(PackTables(), set or []).about
    languages = tuple(name.strip() for name in given.languages)
    sense = dict(each.replace(" ", "").partition("=")[::2] for each in given.sense)
    about = About(**{**vars(given), "languages": languages, "sense": sense})
    packed = packages.pack(model, target, Packing(precision, share, card, about))
    console.say(f"wrote {packed.path}: weights {size(packed.before)} to {size(packed.after)}")


def export(
    model: Model,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="New folder to write.")],
    *,
    precision: Annotated[ComputePrecision, typer.Option(help="Precision of the weights.")] = "fp32",
) -> None:
    """Write a text Transformer for CTranslate2.

    The folder has the model, the SentencePiece model of its
    tokens, and the model card. See docs/export.md.

    Example:
      attn models export everyday everyday-ct2 --precision int8
    """
    from models.engines.ctranslate2_export import export as write  # imports torch

    write(find_model(model), folder, precision)
    console.say(f"wrote {folder}, a model for CTranslate2")


def add(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="File that `attn models pack` wrote, or a public model: its folder, archive or "
            "name on the Hugging Face hub. With --list: a language.",
        ),
    ] = "",
    *,
    name: Annotated[
        str, typer.Option(help="Name of the installed model. Default: that of the file.")
    ] = "",
    revision: Annotated[str, typer.Option(help="Hub: branch, tag or commit.")] = "",
    sample: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Public models: source texts, one a line, by which the attention head that aligns "
            "best is chosen; of a captioner, images. Default: embedded sentences and scenes.",
        ),
    ] = None,
    list: Annotated[
        bool, typer.Option("--list", help="List recommended public models, of SOURCE's language.")
    ] = False,
) -> None:
    """Install a packed or public model into the user folder.

    The folder is $XDG_DATA_HOME/attn/models (default ~/.local/share/attn/models). SOURCE is a file
    of `attn models pack`, the folder of a run or bundle, which is copied, or a public model
    (OPUS-MT, NLLB-200, BLIP and others: docs/public-models.md), which is converted.

    Example:
      attn models add en-de.zip
      attn models add --list de
    """
    if list:
        write_stdout(columns(public_models(source), left=7))
        console.say("FLORES BLEU: FLORES-101 devtest, as the OPUS-MT leaderboard states it")
        tatoeba = "its publisher's test sentences, which are others than those of everyday's score"
        return console.say(f"Tatoeba BLEU: {tatoeba}")
    if not source:
        raise ModelError("no SOURCE", "a file, a folder, or owner/name", "or --list")
    folder = packages.add(source, name, revision=revision, sample=sample, messages=console)
    console.say(f"installed {folder.name} in {folder.parent}")


def remove(
    name: Annotated[str, typer.Argument(help="Name of a model in the user folder.")],
) -> None:
    """Remove a model that `attn models add` installed.

    Example:
      attn models remove en-de
    """
    console.say(f"removed {packages.remove(name)}")


def verify(
    model: Annotated[
        Path | None,
        typer.Argument(metavar="MODEL", help="Model: its name or folder. Default: all models."),
    ] = None,
) -> None:
    """Check models for damage: digests, settings, weights.

    Every file is compared with its SHA-256 digest, and the model is loaded. The checkpoints and the
    prepared data of a run are checked as well and, without MODEL, the caches of image features.
    Exit status 1 if something is damaged.

    Example:
      attn models verify everyday
      attn models verify
    """
    from attncli.caption.image_features import cache_folder, verify_cache  # imports numpy

    folders = [find_model(model)] if model else [found.folder for found in installed()]
    checks: list[tuple[Path, Callable[[Path], str | None]]] = [
        (f, packages.verify) for f in folders
    ]
    if model is None:
        caches = sorted((cache_folder() / "features").glob("*/about.json"))
        checks += [(path.parent, verify_cache) for path in caches]
    failed = 0
    for folder, check in checks:
        try:
            remark = check(folder)
        except ModelError as error:
            console.warn(str(error))
            failed += 1
        else:
            typer.echo(f"{folder}: ok{f' ({remark})' if remark else ''}")
    if failed:
        raise typer.Exit(1)


def wrapped(table: str, width: int) -> str:
    """Return a table for a terminal of this width: long lines continue below the second column."""
    lines = []
    for line in table.splitlines():
        found = re.match(r" *(?:\S+ +)?", line)
        indent = " " * min(found.end() if found else 0, width // 2)
        parts = textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)
        lines += parts or [""]
    return "".join(f"{line}\n" for line in lines)

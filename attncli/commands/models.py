"""``attn models`` and ``attn models show``: list models and parts; describe one."""

from __future__ import annotations

import sys
from itertools import groupby
from typing import Annotated

import typer

from attncli.data.json import as_json
from attncli.data.streams import write_stdout
from attncli.jobs import models as zoo
from attncli.jobs.installed import Listed, listed
from attncli.jobs.models import Entry, Shown
from attncli.jobs.variants import PLACES
from attncli.options.settings import SetOption
from attncli.render.columns import columns, size, wrapped
from attncli.terminal.screen import current_screen
from attncli.training.settings.config import RunConfig
from attncli.training.sources import training_source
from models.catalogue.installed import Installed
from models.catalogue.presets import PRESETS, model_config
from models.storage.about import Facts

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
Json = Annotated[bool, typer.Option("--json", help="Write JSON instead of text.")]


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
        write_stdout(_list_as_json(found, entries))
    else:
        write_stdout(_for_terminal(_models(found) + _names(entries)))


def show(
    name: Name,
    *,
    set: Set = None,
) -> None:
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


def _models(found: list[Listed]) -> str:
    """Return the table of models on disk, and a blank line; nothing if there are none."""
    if not found:
        return ""
    rows = [[f"  {model.name}", model.place.name, *_facts(facts)] for model, facts in found]
    head = ["Models", "where", "task", "languages", "size", "use", "licence", "score"]
    return columns([head, *rows], left=len(head)) + "\n"


def _facts(facts: Facts | None) -> list[str]:
    if facts is None:
        return ["damaged", "", "", "", "", ""]
    about, stored = facts.about, size(facts.bytes)
    languages = " ".join(about.languages)
    return [facts.task, languages, stored, about.use, about.licence, about.score]


def _names(entries: list[Entry]) -> str:
    """Return a line with the names of each kind of parts."""
    kinds = {kind: name for name, kind in KINDS.items()}
    rows = [
        (f"  {kinds[kind]}", ", ".join(entry.name for entry in group))
        for kind, group in groupby(entries, key=lambda entry: entry.kind)
    ]
    return "Parts: attn models KIND, or attn models show NAME\n" + columns(rows, left=2)


def _summary(entry: Entry) -> str:
    """Return the summary in one line, with the paper; the summary of a preset names it already."""
    named = entry.kind == "preset" or not entry.source
    return entry.summary if named else f"{entry.summary.rstrip('.')} ({entry.source})"


def _list_as_json(found: list[Listed], entries: list[Entry]) -> str:
    record: dict[str, list[dict[str, object]]] = {"models": [_record(*model) for model in found]}
    record |= {name: [] for name in zoo.KINDS.values()}
    for entry in entries:
        known = entry._asdict() | {"settings": [row._asdict() for row in entry.settings]}
        record[zoo.KINDS[str(known.pop("kind"))]].append(known)
    return as_json(record)


def _record(model: Installed, facts: Facts | None) -> dict[str, object]:
    record: dict[str, object] = {"name": model.name, "where": model.place.name}
    record["folder"] = str(model.folder)
    if facts:
        record |= facts._asdict() | facts.about._asdict() | {"use": facts.about.use}
        del record["about"]
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
    if entry.kind == "source":
        return "attn models lists the presets"
    setting = PLACES.get(entry.kind, f"model.{entry.kind}")
    name = "resnet50" if entry.name == "torchvision" else entry.name
    return f"attn train --preset {EXAMPLES.get(entry.kind, RECURRENT)} -s {setting}={name}"


def _about(entry: Entry) -> list[str]:
    """Return the lines of a part's docstring without its options, which are listed separately."""
    said = [line for line in entry.detail.splitlines() if not line.startswith("Options:")]
    return [f"{entry.kind} {entry.name}", entry.summary, *said]


def _model(shown: Shown) -> str:
    """Return the settings as TOML; size, facts and card are comments above them."""
    tokens = training_source(shown.family.name).describe_vocabulary(shown.vocabulary)
    about = [
        shown.title,
        *shown.facts,
        f"{shown.parameters:,} parameters with {tokens}",
    ]
    about += ["", *shown.card.splitlines()] if shown.card else []
    about += ["", *_about(shown.family)]
    return "".join(f"# {line}".rstrip() + "\n" for line in about) + f"\n{shown.settings}\n"

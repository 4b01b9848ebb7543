"""``attn models``: what there is, and one of it at a time."""

from __future__ import annotations

import json as json_format
from itertools import groupby
from typing import Annotated

import typer

from attncli.data.streams import open_output
from attncli.jobs import models as zoo
from attncli.jobs.models import Entry, Shown
from attncli.render.columns import columns

Name = Annotated[
    str, typer.Argument(help="A preset, family, score or other part, or the folder of a model.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", help="Of a preset: a setting, section.key=value."),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON instead of text.")]


def list_models(*, json: Json = False) -> None:
    """List families, presets, scores and other parts.

    Score, window, normaliser and read are a choice of the recurrent families, as in
    `attn train --preset luong-small -s model.attention.score=dot`.

    Example:
      attn models show transformer-tiny
      attn models
    """
    entries = zoo.catalogue()
    _write(_list_as_json(entries) if json else _list_as_text(entries))


def show(
    name: Name,
    *,
    vocabulary: Annotated[
        int, typer.Option(min=1, help="Of a preset: pieces of each language, for its size.")
    ] = 8000,
    set: Set = None,
) -> None:
    """Show a model's configuration, or a part's equation.

    A model or preset is shown with its parameter count, as a file that `attn train` takes; a part
    with its equation, source and settings. Write ./folder for a folder with the name of a part.

    Example:
      attn models show additive
      attn models show runs/demo
      attn models show transformer-tiny > run.toml
    """
    shown = zoo.show(name, vocabulary=vocabulary, assignments=set or [])
    _write(_model(shown) if isinstance(shown, Shown) else "\n".join(map(_part, shown)))


def _write(text: str) -> None:
    with open_output(None) as write:
        write(text.encode())


def _list_as_text(entries: list[Entry]) -> str:
    rows = [(f"  {entry.name}", _summary(entry)) for entry in entries]
    lines = iter(columns(rows, left=2).splitlines(keepends=True))
    parts = []
    for kind, group in groupby(entries, key=lambda entry: entry.kind):
        parts.append(f"{zoo.KINDS[kind].capitalize()}\n" + "".join(next(lines) for _ in group))
    return "\n".join(parts)


def _summary(entry: Entry) -> str:
    """One line, the paper at its end; what a preset says of itself names its own."""
    named = entry.kind == "preset" or not entry.source
    return entry.summary if named else f"{entry.summary.rstrip('.')} ({entry.source})"


def _list_as_json(entries: list[Entry]) -> str:
    record: dict[str, list[dict[str, object]]] = {name: [] for name in zoo.KINDS.values()}
    for entry in entries:
        known = entry._asdict() | {"settings": [row._asdict() for row in entry.settings]}
        record[zoo.KINDS[str(known.pop("kind"))]].append(known)
    return json_format.dumps(record, ensure_ascii=False, indent=2) + "\n"


def _part(entry: Entry) -> str:
    usage = f"attn train -s model.attention.{entry.kind}={entry.name}"
    if entry.kind == "image_encoder":
        usage = f"attn train -s model.image.encoder={entry.name}"
    if entry.kind == "family":
        usage = f"presets: {', '.join(zoo.presets_of(entry.name))}"
    rows = [(f"{row.name} = {row.default}", row.doc) for row in entry.settings]
    settings = ["", *columns(rows, left=2).splitlines()] if rows else []
    return "".join(f"{line}\n" for line in [*_about(entry), *settings, "", usage])


def _about(entry: Entry) -> list[str]:
    """What a part says of itself; its options come with more than their names elsewhere."""
    said = [line for line in entry.detail.splitlines() if not line.startswith("Options:")]
    return [f"{entry.kind} {entry.name}", entry.summary, *said]


def _model(shown: Shown) -> str:
    """TOML, what else there is to say above it as comments."""
    source, target, joint = shown.vocabulary
    pieces = f"{source:,} joint" if joint else f"{source:,} source and {target:,} target"
    pieces = pieces if source else f"{target:,}"
    about = [
        shown.title,
        f"{shown.parameters:,} parameters with {pieces} pieces",
        "",
        *_about(shown.family),
    ]
    return "".join(f"# {line}".rstrip() + "\n" for line in about) + f"\n{shown.settings}\n"

"""Options and commands of earlier versions: answers to old scripts.

To remove an option or a command, add one row. Settings are in models.base.removed_settings.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from attncli.options.settings import names_of, tables_of
from models.base.removed_settings import REMOVED

OPTIONS: dict[str, str] = {  # by name; "--views was removed: ..."
    "--fast-reduce": REMOVED["train.fast_reduce"].reason,
    "--shard-model": "no model of attn is too large for one GPU",
    "--length-quantiles": REMOVED["lengths.quantiles"].reason,
    "--views": REMOVED["search.views"].reason,
    "--shortlist": REMOVED["search.shortlist"].reason,
    "--no-shortlist": REMOVED["search.shortlist"].reason,
}
RENAMED: dict[str, str] = {  # by name: the present option, of the commands that have it
    "--attention": "--picture",
    "--dev-captions": "--dev",
    "--dev-labels": "--dev",
    "--from": "--start-from",
    "--no-capitals": "--verbatim",
    "--no-copy": "--verbatim",
    "--no-normalise": "--verbatim",
    "--part": "--split",
    "--view": "--hypotheses",
    "--weights": "--precision",
}
SETTINGS: dict[str, str] = {  # by name, if the setting has another one
    "--allow-host": "service.allow_hosts",
    "--batch": "compute.batch_images",
    "--encoder": "model.image.encoder",
    "--encoder-weights": "model.image.weights",
    "--engine": "compute.backend",
    "--format-in": "input.format",
    "--hard-decode": "attention.read_decode",
    "--length-step": "lengths.step",
    "--long": "text.long_lines",
    "--max-batch-tokens": "compute.batch_tokens",
    "--pairs": "picture.lines",
    "--vocabulary": "tokenizer.size",
}
COMMANDS: dict[str, str] = {  # by name, of one or two words
    "align tune": "attn train chooses the head; attn align train makes a better aligner",
    "models shortlist": REMOVED["search.shortlist"].reason,
}


def removed_option(name: str, command: Callable[..., Any] | None, options: Collection[str]) -> str:
    """Return the answer to an option that a command no longer has; "" for others.

    command: its function. options: names of its present options.
    """
    if RENAMED.get(name) in options:
        return f"{name} is now {RENAMED[name]}"
    if setting := _setting(name, command):
        return f"{name} is now a setting: -s {setting}=VALUE"
    return f"{name} was removed: {OPTIONS[name]}" if name in OPTIONS else ""


def _setting(name: str, command: Callable[..., Any] | None) -> str:
    """Return the setting of a command that an option became; "" if there is none."""
    tables = tables_of(command) if command else None
    if tables is None:
        return ""
    known = names_of(tables)
    key = name.removeprefix("--").replace("-", "_")
    same = [place for place in known if place.rpartition(".")[2] == key]
    found = SETTINGS.get(name) or (same[0] if len(same) == 1 else "")
    return found if found in known else ""


def removed_command(words: list[str]) -> str:
    """Return the answer to a command line that begins with a removed command; "" for others."""
    name = next((name for name in COMMANDS if name.split() == words[: len(name.split())]), "")
    return f"`attn {name}` was removed: {COMMANDS[name]}" if name in COMMANDS else ""

"""Options and commands of earlier versions, and why they were removed: answers to old scripts.

To remove an option or a command, add one row. Settings are in models.base.removed_settings.py.
"""

from __future__ import annotations

from models.base.removed_settings import REMOVED

OPTIONS: dict[str, str] = {  # by name; "--views was removed: ..."
    "--fast-reduce": REMOVED["train.fast_reduce"].reason,
    "--shard-model": "no model of attn is too large for one GPU",
    "--views": REMOVED["search.views"].reason,
    "--shortlist": REMOVED["search.shortlist"].reason,
    "--no-shortlist": REMOVED["search.shortlist"].reason,
}
COMMANDS: dict[str, str] = {  # by name, of one or two words
    "align tune": "attn train chooses the head; attn align train makes a better aligner",
    "models shortlist": REMOVED["search.shortlist"].reason,
}


def removed_option(name: str) -> str:
    """Return the answer to an option that was removed; "" for others."""
    return f"{name} was removed: {OPTIONS[name]}" if name in OPTIONS else ""


def removed_command(words: list[str]) -> str:
    """Return the answer to a command line that begins with a removed command; "" for others."""
    name = next((name for name in COMMANDS if name.split() == words[: len(name.split())]), "")
    return f"`attn {name}` was removed: {COMMANDS[name]}" if name in COMMANDS else ""

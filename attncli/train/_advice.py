"""Advice before a run of few pairs: an installed model that knows both languages already."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from attncli.classify.runner import UNKNOWN, ClassifyOptions, ClassifyRunner
from attncli.faithful.result import Line
from attncli.training.config import RunConfig
from models.core.errors import ModelError
from models.storage.archive import read_about
from models.storage.installed import installed
from models.storage.settings import read_settings, task_of

ENOUGH_PAIRS = 50_000  # with more of them, a model of one's own may be better
READ = 40  # pairs by which the languages are recognised
SURE = 0.9  # probability of both languages


def start_advice(config: RunConfig, words: Sequence[str]) -> str:
    """Return a line that names a model to start from; "" without one. words: of the command."""
    data = config.data
    if config.start_from or not data.is_given or data.count(ENOUGH_PAIRS) == ENOUGH_PAIRS:
        return ""
    pairs = [*islice(data.texts(), READ)]
    with suppress(ModelError):  # the model that recognises languages is missing
        source, target = languages_of(pairs) if pairs else ("", "")
        if found := model_for(source, target):
            return (
                f"{found.name} already translates from {source} to {target}; a run that starts "
                "from it takes minutes, and is usually better with few pairs: "
                f"attn train {shlex.join(words)} {found.options}"
            )
    return ""


def languages_of(pairs: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """Return the languages of both sides, recognised in all texts; two empty texts if unsure."""
    sides = [Line(n, " ".join(side)) for n, side in enumerate(zip(*pairs, strict=True), 1)]
    [results] = ClassifyRunner.open(None, ClassifyOptions()).run([sides])
    found = [next(iter(one.labels), (UNKNOWN, 0.0)) for one in results]
    known = [label for label, share in found if share >= SURE and label != UNKNOWN]
    return (known[0], known[1]) if len({*known}) == 2 else ("", "")


class KnownModel(NamedTuple):
    """An installed translator, and the options of a run that starts from it."""

    name: str
    options: str


def model_for(source: str, target: str) -> KnownModel | None:
    """Return the first installed translator of a direction; None without one."""
    for model in installed() if source else ():
        with suppress(ModelError):
            if model.place.name == "runs" or task_of(model.folder) != "translate":
                continue
            settings, start = read_settings(model.folder), f"--start-from {model.name}"
            directions = settings["tokenizer"].get("directions") or ()
            if f"{source}-{target}" in directions:
                return KnownModel(model.name, f"{start} --from {source} --to {target}")
            if not directions and read_about(settings).languages == (source, target):
                return KnownModel(model.name, start)
    return None

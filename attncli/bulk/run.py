"""A bulk job: cut the inputs, let an engine process the missing shards, join the parts."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

from attncli.bulk.inputs import INPUTS
from attncli.bulk.job import BulkJob, Shard
from attncli.bulk.parts import JoinedCounts, PartFolder, join_parts, part_name, state_folder
from attncli.bulk.sources import BulkSource
from attncli.bulk.work import ENGINES, Parts
from attncli.data.json import as_json
from attncli.training.storage.folder import locked
from models.base.errors import InputError
from models.base.files import remove_leftovers, write_errors, write_text
from models.storage.digests import file_digest

PARTS, FINISHED = "parts", "job.json"


@dataclass(frozen=True)
class BulkPlan:
    """Inputs, work and resources of a bulk job."""

    job: BulkJob
    sources: Sequence[BulkSource]
    out: Path  # file or folder; the state is kept beside it
    shard_size: int  # records
    engine: str = "local"
    processes: int = 0  # 0: the engine decides


class BulkProgress(NamedTuple):
    """Progress of a job."""

    shards: int  # finished, those of earlier runs included
    all_shards: int
    records: int  # in finished shards
    all_records: int
    new_records: int  # processed by this run
    seconds: float  # since this run began to process


class BulkSummary(NamedTuple):
    """The end of a job."""

    counts: JoinedCounts
    state: Path  # folder with errors.jsonl and warnings.jsonl
    before: bool = False  # True if an earlier run had finished the same job


class ListedShard(NamedTuple):
    """A shard before it is processed."""

    source: int  # index of its input
    size: int  # records
    part: str  # name of its part


def run_bulk(plan: BulkPlan) -> Iterator[BulkProgress | BulkSummary]:
    """Process all shards that have no part yet; yield the progress, and a summary at the end.

    Raises ModelError if an input cannot be read or changes, or a part or an output cannot be
    written; also if another process works on the same output. Finished parts are kept.
    """
    state = state_folder(plan.out)
    with locked(state):
        digest = plan.job.digest()
        listed = [
            ListedShard(source, shard.size, part_name(digest, shard))
            for source, shard in cut_inputs(plan)
        ]
        if found := _finished(state, plan, listed):
            yield BulkSummary(found, state, before=True)
            return
        parts = PartFolder(state / PARTS)
        with write_errors(parts.folder):
            parts.folder.mkdir(exist_ok=True)
        remove_leftovers(parts.folder)
        yield from _processed(plan, digest, listed, parts)
        names: list[list[str]] = [[] for _ in plan.sources]
        for shard in listed:
            names[shard.source].append(shard.part)
        counts = join_parts(plan.sources, names, parts, state)
        _finish(state, plan, listed, counts)
        yield BulkSummary(counts, state)


def cut_inputs(plan: BulkPlan) -> Iterator[tuple[int, Shard]]:
    """Yield the shards of all inputs, each with the index of its input."""
    kind, number = INPUTS[plan.job.input], count()
    for index, source in enumerate(plan.sources):
        first = 1
        for size, content in kind.cut(source.paths, plan.shard_size):
            yield index, Shard(next(number), first, size, content)
            first += size


def _processed(
    plan: BulkPlan, digest: str, listed: list[ListedShard], parts: PartFolder
) -> Iterator[BulkProgress]:
    """Process the missing shards and store their parts."""
    missing = {n for n, shard in enumerate(listed) if parts.read(shard.part) is None}
    all_records = sum(shard.size for shard in listed)
    done = sum(shard.size for n, shard in enumerate(listed) if n not in missing)
    new, ready, began = 0, len(listed) - len(missing), time.monotonic()
    yield BulkProgress(ready, len(listed), done, all_records, new, 0.0)
    if not missing:
        return
    shards = _missing_shards(plan, digest, listed, missing)
    found: Parts = resolve_name(ENGINES[plan.engine])(plan.job, shards, plan.processes)
    with closing(found):
        for part in found:
            parts.write(listed[part.number].part, part)
            ready, new = ready + 1, new + part.size
            seconds = time.monotonic() - began
            yield BulkProgress(ready, len(listed), done + new, all_records, new, seconds)


def _missing_shards(
    plan: BulkPlan, digest: str, listed: list[ListedShard], missing: set[int]
) -> Iterator[Shard]:
    """Yield the shards that have no part. Inputs are read again, so that memory stays constant."""
    for source, shard in cut_inputs(plan):
        known = shard.number < len(listed) and listed[shard.number].part
        if part_name(digest, shard) != known:
            name = plan.sources[source].name
            raise InputError(f"{name} changed during the job", "a file that stays unchanged")
        if shard.number in missing:
            yield shard


def _job_digest(plan: BulkPlan, listed: list[ListedShard]) -> str:
    """Return a digest of all parts and of the paths of the outputs."""
    names = "".join(f"{plan.sources[shard.source].out} {shard.part}\n" for shard in listed)
    return hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest()


def _output_digests(plan: BulkPlan) -> dict[str, str]:
    return {str(source.out): file_digest(source.out) for source in plan.sources}


def _finish(state: Path, plan: BulkPlan, listed: list[ListedShard], counts: JoinedCounts) -> None:
    """Store that the job is finished; remove its parts."""
    record = {
        "task": plan.job.task,
        "models": plan.job.models,
        "settings": plan.job.settings,
        "digest": _job_digest(plan, listed),
        "outputs": _output_digests(plan),
        **counts._asdict(),
    }
    write_text(state / FINISHED, as_json(record))
    shutil.rmtree(state / PARTS, ignore_errors=True)


def _finished(state: Path, plan: BulkPlan, listed: list[ListedShard]) -> JoinedCounts | None:
    """Return the counts of the same job if it is finished and its outputs are unchanged."""
    try:
        record = json.loads((state / FINISHED).read_text("utf-8"))
        same = record["digest"] == _job_digest(plan, listed)
        same = same and record["outputs"] == _output_digests(plan)
        return JoinedCounts(*(record[name] for name in JoinedCounts._fields)) if same else None
    except (OSError, ValueError, KeyError, TypeError):  # none, or damaged
        return None

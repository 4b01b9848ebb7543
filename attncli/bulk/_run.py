"""A bulk job: cut the inputs, let workers process the missing shards, join the parts.

The state is in OUT.bulk/ (docs/bulk.md). A part begins with the SHA-256 of its rest; a damaged one
counts as missing. Its name is a digest of the content of its shard, of models and settings, and of
the number of its first record, which some output formats contain.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from attncli.bulk import _work as bulk_work
from attncli.bulk._job import BulkJob
from attncli.bulk._shards import BulkSource, Shard, ShardResult, shards_of
from attncli.data.streams import as_json, as_json_line
from attncli.terminal.messages import ShowProgress, counted
from models.core.errors import DamagedError, InputError, ModelError
from models.core.files import (
    LOCK,
    locked,
    remove_leftovers,
    replacing,
    write_bytes,
    write_errors,
    write_text,
)
from models.storage.digests import file_digest

SUFFIX, PARTS, FINISHED = ".bulk", "parts", "job.json"
NOTES = {"error": "errors.jsonl", "warning": "warnings.jsonl"}  # file of each kind of note


class BulkPlan(NamedTuple):
    """Inputs, work and resources of a bulk job."""

    job: BulkJob
    sources: Sequence[BulkSource]
    out: Path  # file or folder; the state is kept beside it
    shard_size: int  # records
    processes: int = 0  # 0: one for each GPU, or for each processor

    @property
    def state(self) -> Path:
        """The folder with the state of the job."""
        return state_folder(self.out)


class BulkSummary(NamedTuple):
    """The end of a job."""

    records: int
    errors: int
    warnings: int
    before: bool = False  # True if an earlier run had finished the same job


class ListedShard(NamedTuple):
    """A shard before it is processed."""

    source: int  # index of its input
    size: int  # records
    part: str  # name of its part


def state_folder(out: Path) -> Path:
    """Return the folder with the state of the job that writes an output."""
    return out.with_name(out.name + SUFFIX)


def check_state(folder: Path) -> None:
    """Raise InputError for a link, and for a folder that is there but that no job has locked."""
    links = [path for path in (folder, folder / PARTS) if path.is_symlink()]
    is_foreign = folder.exists() and not (folder / LOCK).is_file()
    if links or is_foreign:
        raise InputError(
            f"{links[0]}, a link" if links else f"{folder}, which no `attn bulk` made",
            "no file, or the state of the same job",
            "move it away, or choose another name for the output",
        )


def part_name(job_digest: str, shard: Shard) -> str:
    """Return the name of the part of a shard."""
    digest = hashlib.sha256(f"{job_digest} {shard.first} {shard.size}\n".encode())
    digest.update(shard.content)
    return digest.hexdigest()[:32]


def write_part(path: Path, part: ShardResult) -> None:
    """Store a part. Raises ResourceError if it cannot be written."""
    content = json.dumps(part[:3]).encode() + b"\n" + part.body
    # a part that a full disk or a crash damaged counts as missing, and is computed again
    write_bytes(path, hashlib.sha256(content).digest() + content)


def read_part(path: Path) -> ShardResult | None:
    """Return a part; None if it is missing or damaged."""
    try:
        stored = path.read_bytes()
    except FileNotFoundError:
        return None
    digest, content = stored[:32], stored[32:]
    if hashlib.sha256(content).digest() != digest:
        return None
    head, _, body = content.partition(b"\n")
    number, size, notes = json.loads(head)
    return ShardResult(number, size, tuple(map(tuple, notes)), body)


def run_bulk(plan: BulkPlan, advance: ShowProgress) -> BulkSummary:
    """Process all shards that have no part yet; show the progress as a share of all records.

    Raises ModelError if an input cannot be read or changes, or a part or an output cannot be
    written; also if another process works on the same output. Finished parts are kept; without any,
    a new state is removed.
    """
    is_new = not plan.state.exists()
    try:
        return _run(plan, advance)
    except ModelError:
        # a mistake in the command leaves nothing behind; finished parts stay
        if is_new and not any((plan.state / PARTS).glob("*")):
            shutil.rmtree(plan.state, ignore_errors=True)
        raise


def _run(plan: BulkPlan, advance: ShowProgress) -> BulkSummary:
    """Process all shards that have no part yet, and join the outputs."""
    check_state(plan.state)
    # two jobs with one output would remove each other's parts
    with locked(plan.state):
        digest = plan.job.digest()
        listed = [
            ListedShard(shard.source, shard.size, part_name(digest, shard))
            for shard in shards_of(plan.job, plan.sources, plan.shard_size)
        ]
        if found := _finished(plan, listed):
            return found
        parts = plan.state / PARTS
        with write_errors(parts):
            parts.mkdir(exist_ok=True)
        remove_leftovers(parts)
        _process_missing(plan, digest, listed, advance)
        summary = join_parts(plan, listed)
        record = {
            **{"task": plan.job.task, "models": plan.job.models, "settings": plan.job.settings},
            **_digests(plan, listed),
            **summary._asdict(),
        }
        # before the parts are removed, so that a kill in between leaves a finished job
        write_text(plan.state / FINISHED, as_json(record))
        shutil.rmtree(parts, ignore_errors=True)
        return summary


def _process_missing(
    plan: BulkPlan, digest: str, listed: list[ListedShard], advance: ShowProgress
) -> None:
    """Process the missing shards and store their parts; show rate and time left."""
    parts = plan.state / PARTS
    missing = {n for n, shard in enumerate(listed) if read_part(parts / shard.part) is None}
    total, new, began = sum(shard.size for shard in listed), 0, time.monotonic()
    left = sum(listed[n].size for n in missing)
    ready, of_all = len(listed) - len(missing), counted(len(listed), "shard")
    advance(1 - left / max(1, total), f"{ready:,} of {of_all}")
    if not missing:
        return
    shards = _missing_shards(plan, digest, listed, missing)
    with closing(bulk_work.process(plan.job, shards, plan.processes)) as found:
        for part in found:
            write_part(parts / listed[part.number].part, part)
            ready, new, left = ready + 1, new + part.size, left - part.size
            rate = new / max(time.monotonic() - began, 1e-9)
            shown = f"{rate:,.{0 if rate >= 10 else 1}f} records/s, {duration(left / rate)} left"
            advance(1 - left / total, f"{ready:,} of {of_all}, {shown}")


def _missing_shards(
    plan: BulkPlan, digest: str, listed: list[ListedShard], missing: set[int]
) -> Iterator[Shard]:
    """Yield the shards that have no part. Inputs are read again, so that memory stays constant."""
    for shard in shards_of(plan.job, plan.sources, plan.shard_size):
        known = shard.number < len(listed) and listed[shard.number].part
        if part_name(digest, shard) != known:
            name = plan.sources[shard.source].name
            raise InputError(f"{name} changed during the job", "a file that stays unchanged")
        if shard.number in missing:
            yield shard


def join_parts(plan: BulkPlan, listed: Sequence[ListedShard]) -> BulkSummary:
    """Write the output of each input from its parts, and the notes of all records.

    Raises ResourceError if a file cannot be written, DamagedError if a part was damaged after it
    was checked; the parts are kept.
    """
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        files = {
            kind: stack.enter_context(replacing(plan.state / name)) for kind, name in NOTES.items()
        }

        def bodies(index: int) -> Iterator[bytes]:
            """Yield the body of each part of an input; write and count its notes."""
            for name in (shard.part for shard in listed if shard.source == index):
                part = read_part(plan.state / PARTS / name)
                if part is None:
                    raise DamagedError(f"{plan.state / PARTS / name} is damaged", "a finished part")
                counts["record"] += part.size
                for record, kind, text in part.notes:
                    counts[kind] += 1
                    row = {"file": plan.sources[index].name, "record": record, kind: text}
                    files[kind].write(f"{as_json_line(row)}\n".encode("utf-8", "replace"))
                yield part.body

        for index, source in enumerate(plan.sources):
            with write_errors(source.out):
                source.out.parent.mkdir(parents=True, exist_ok=True)
            with replacing(source.out) as file, write_errors(source.out):
                file.writelines(bodies(index))
    return BulkSummary(counts["record"], counts["error"], counts["warning"])


def _digests(plan: BulkPlan, listed: Sequence[ListedShard]) -> dict[str, object]:
    """Return a digest of all parts and of the paths of the outputs, and those of the outputs."""
    names = "".join(f"{plan.sources[shard.source].out} {shard.part}\n" for shard in listed)
    digest = hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest()
    outputs = {str(source.out): file_digest(source.out) for source in plan.sources}
    return {"digest": digest, "outputs": outputs}


def _finished(plan: BulkPlan, listed: Sequence[ListedShard]) -> BulkSummary | None:
    """Return the summary of the same job if it is finished and its outputs are unchanged."""
    try:
        record = json.loads((plan.state / FINISHED).read_text("utf-8"))
        if any(record[name] != value for name, value in _digests(plan, listed).items()):
            return None
        return BulkSummary(record["records"], record["errors"], record["warnings"], before=True)
    except (OSError, ValueError, KeyError, TypeError):  # none, or damaged
        return None


def duration(seconds: float) -> str:
    """Return a time as h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"

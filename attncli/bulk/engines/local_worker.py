"""A worker process of the local engine; run as a script.

Standard input and output carry frames: 8 bytes of length (big-endian), then the content. The first
frame is the job, the others are shards. Each answer begins with a letter: P and a part, F and a
user's mistake, B and the traceback of a bug. The process ends as soon as its standard input does,
also in the middle of a shard, so that it never outlives the process that started it.
"""

from __future__ import annotations

import os
import queue
import struct
import sys
import threading
import traceback
from pathlib import Path
from typing import BinaryIO

LENGTH = struct.Struct(">Q")
PART, FAULT, BUG = b"P", b"F", b"B"


def write_frame(stream: BinaryIO, content: bytes) -> None:
    """Write a frame and flush it."""
    stream.write(LENGTH.pack(len(content)) + content)
    stream.flush()


def read_frame(stream: BinaryIO) -> bytes | None:
    """Return the next frame; None at the end of the stream, also in the middle of a frame."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    [length] = LENGTH.unpack(head)
    content = stream.read(length)
    return content if len(content) == length else None


def main() -> None:
    """Process shards until standard input ends."""
    sys.path[0] = str(Path(__file__).resolve().parents[3])  # instead of the folder of this file
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not become an answer
    frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(frames,), daemon=True).start()
    job = frames.get().decode()
    try:
        _process(job, frames, answers)
    except Exception as error:
        write_frame(answers, _described(error))


def _receive(frames: queue.SimpleQueue[bytes]) -> None:
    """Put the frames of standard input into a queue; end the process when they end."""
    while (frame := read_frame(sys.stdin.buffer)) is not None:
        frames.put(frame)
    os._exit(0)


def _process(job: str, frames: queue.SimpleQueue[bytes], answers: BinaryIO) -> None:
    from attncli import console
    from attncli.bulk.job import BulkJob
    from attncli.bulk.shards import part_to_bytes, shard_from_bytes
    from attncli.bulk.work import ShardWorker

    console.be_quiet()  # remarks about the model would be repeated by each worker
    work = ShardWorker(BulkJob.from_json(job))
    while True:
        part = work(shard_from_bytes(frames.get()))
        write_frame(answers, PART + part_to_bytes(part))


def _described(error: Exception) -> bytes:
    from attncli import ModelError

    if isinstance(error, ModelError):
        return FAULT + "\n".join([error.found, error.expected, error.hint]).encode()
    return BUG + traceback.format_exc().encode()


if __name__ == "__main__":
    main()

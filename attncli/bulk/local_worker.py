"""A worker process of the local engine; run as a script.

Standard input and output carry frames: 8 bytes of length (big-endian), then the content. The first
frame is the job, the others are shards, each with one answer (attncli/bulk/work.py). The
process ends as soon as its standard input does, also in the middle of a shard, so that it never
outlives the process that started it.
"""

from __future__ import annotations

import os
import queue
import struct
import sys
import threading
from pathlib import Path
from typing import IO

LENGTH = struct.Struct(">Q")


def write_frame(stream: IO[bytes], content: bytes) -> None:
    """Write a frame and flush it."""
    stream.write(LENGTH.pack(len(content)) + content)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """Return the next frame; None at the end of the stream, also in the middle of a frame."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    [length] = LENGTH.unpack(head)
    content = stream.read(length)
    return content if len(content) == length else None


def main() -> None:
    """Process shards until standard input ends."""
    sys.path[0] = str(Path(__file__).resolve().parents[2])  # instead of the folder of this file
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not become an answer
    frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(frames,), daemon=True).start()

    from attncli.bulk.work import ShardWorker
    from attncli.terminal import console

    console.show_removed_settings()
    console.be_quiet()  # remarks about the model would be repeated by each worker
    worker = ShardWorker(frames.get().decode())
    while True:
        write_frame(answers, worker(frames.get()))


def _receive(frames: queue.SimpleQueue[bytes]) -> None:
    """Put the frames of standard input into a queue; end the process when they end."""
    while (frame := read_frame(sys.stdin.buffer)) is not None:
        frames.put(frame)
    os._exit(0)


if __name__ == "__main__":
    main()

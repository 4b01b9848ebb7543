"""Tasks of a Spark cluster, or of a Spark that is started on this machine.

SPARK_REMOTE, `spark-submit` and spark-defaults.conf name the cluster. Shards are sent in groups of
one shard for each processor, so that finished parts are stored while others are processed; two
groups are under way, so that no processor waits for the slowest shard of a group. A Python worker
keeps its model for the next shard. The machines need attn, pyarrow, and the folders of the models
and images under the same paths.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from itertools import islice
from typing import Any

from attncli.bulk.answers import AnsweringWorker, part_of
from attncli.bulk.engines import DEATHS, Parts
from attncli.bulk.job import BulkJob
from attncli.bulk.shards import Shard, shard_to_bytes
from models.base.errors import NotFoundError, ResourceError
from models.base.processors import processors

GROUPS = 2  # groups of shards under way
THIS_MACHINE = "local[*]"  # master without any setting


def process(job: BulkJob, shards: Iterator[Shard], processes: int) -> Parts:
    """Yield the part of each shard, group by group; see BulkEngine."""
    spark, own = _session(processes)
    width = processes or _parallelism(spark)
    groups = iter(lambda: list(islice(shards, width)), [])
    under_way: deque[Future[list[bytes]]] = deque()
    threads = ThreadPoolExecutor(GROUPS)
    try:
        for group in groups:
            under_way.append(threads.submit(_answers, spark, job.to_json(), group))
            if len(under_way) == GROUPS:
                yield from map(part_of, under_way.popleft().result())
        while under_way:
            yield from map(part_of, under_way.popleft().result())
    finally:
        if own:
            spark.stop()
        threads.shutdown(wait=False, cancel_futures=True)


def answer_batches(job: str, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the answers to batches of shards (Arrow); runs in the Python workers of Spark."""
    import pyarrow

    worker = _worker(job)
    for batch in batches:
        answers = [worker(shard) for shard in batch.column(0).to_pylist()]
        yield pyarrow.RecordBatch.from_arrays(
            [pyarrow.array(answers, pyarrow.binary())], names=["answer"]
        )


@cache
def _worker(job: str) -> AnsweringWorker:
    return AnsweringWorker(job)


def _answers(spark: Any, job: str, group: list[Shard]) -> list[bytes]:
    """Return the answers to a group of shards, which are processed at the same time."""
    rows = [(bytearray(shard_to_bytes(shard)),) for shard in group]
    frame = spark.createDataFrame(rows, "shard binary")
    try:
        found = frame.mapInArrow(partial(answer_batches, job), "answer binary").collect()
    except Exception as error:  # of Spark or of py4j, whose classes share no base
        raise ResourceError(
            f"Spark could not process {len(group)} shards ({type(error).__name__}: "
            f"{str(error).splitlines()[0]})",
            "workers with attn and enough memory",
            "finished parts are kept; the same command continues",
        ) from None
    return [bytes(row.answer) for row in found]


def _session(processes: int) -> tuple[Any, bool]:
    """Return the Spark session, and True if it was made here."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        from pyspark import SparkConf
        from pyspark.sql import SparkSession
    except ImportError:
        raise NotFoundError(
            "--engine spark without Spark",
            "the package pyspark",
            "install it: pip install 'attn[spark]'",
        ) from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active, False
    builder = SparkSession.builder.appName("attn bulk")
    remote = "SPARK_REMOTE" in os.environ
    if not remote and SparkConf().get("spark.master", THIS_MACHINE) == THIS_MACHINE:
        builder = builder.master(f"local[{processes or '*'},{DEATHS}]")
        builder = builder.config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    if not remote:
        spark.sparkContext.setLogLevel("OFF")
    return spark, True


def _parallelism(spark: Any) -> int:
    """Return the number of shards that are processed at the same time."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context
        return processors()

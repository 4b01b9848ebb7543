"""``attn bulk``: process files and folders in shards, on one machine or on a cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from attncli.bulk._job import BulkJob, read_job
from attncli.bulk._run import NOTES, BulkPlan, run_bulk, state_folder
from attncli.bulk._shards import irregular, sources_of
from attncli.data.lines import CHUNK_LINES
from attncli.data.named_files import GROUP
from attncli.data.streams import check_output
from attncli.options.fields import HelpPage
from attncli.options.loading import row_inputs
from attncli.task.table import RUNNERS, find_runner
from attncli.terminal import console
from attncli.terminal.messages import counted
from models.core.errors import InputError

BEFORE_TASK = "--"
WORDS = "attncli.bulk.command.words"  # key of click's context: the words after BEFORE_TASK

Paths = Annotated[
    list[Path], typer.Argument(metavar="IN... OUT", help="Files and folders to read; the output.")
]
Fields = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        help="JSON lines: field of the text, inner ones with a dot: meta.title. The result is "
        "added to each object. To align: twice, source and target.",
    ),
]
Processes = Annotated[
    int,
    typer.Option(
        min=0,
        help="Workers at the same time. Default (0): one for each GPU, or for each processor.",
    ),
]
ShardSize = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Records of a shard, the unit of work and of resume. "
        f"Default: {CHUNK_LINES:,} lines or {GROUP} images.",
    ),
]


class BulkCommand(HelpPage):
    """A command whose words after ``--`` are parsed by the command of a task."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words before ``--`` and keep the others."""
        end = args.index(BEFORE_TASK) if BEFORE_TASK in args else len(args)
        ctx.meta[WORDS] = args[end + 1 :]
        is_help = not args or {"--help", "-h"} & set(args[:end])
        if end == len(args) and not (is_help or ctx.resilient_parsing):
            raise InputError(
                "no task after IN... OUT",
                f"attn bulk IN... OUT -- {'|'.join(RUNNERS)} [OPTIONS OF THE TASK]",
            )
        return super().parse_args(ctx, args[:end] or ["--help"])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line."""
        return ["[OPTIONS]", "IN... OUT", BEFORE_TASK, "TASK", "[OPTIONS OF THE TASK]"]


def bulk(
    context: typer.Context,
    paths: Paths,
    *,
    field: Fields = None,
    processes: Processes = 0,
    shard: ShardSize = None,
) -> None:
    """Process large inputs in shards, here or on a cluster.

    After `--` follow a task (translate, classify, caption, transcribe, align) and the options of
    its command. The output of one file is the file OUT; of folders or several files, a folder OUT
    with a file for each; of images, one file. Its content is that of the command, in the order of
    the input.
    Ray runs the shards: on this machine, or on the cluster that RAY_ADDRESS names.

    The results of each shard are stored as they finish, in OUT.bulk/. The same command continues
    where it stopped, after a kill, a full disk or a power failure. A record that cannot be
    processed gives an empty row and a row in OUT.bulk/errors.jsonl, and exit status 1 at the end;
    remarks go to OUT.bulk/warnings.jsonl. A worker has one processor thread unless the task has
    --threads.

    Example:
      attn bulk corpus.en.zst corpus.de -- translate -m runs/en-de
      attn bulk --processes 4 folder/ translated/ -- translate --to de
      attn bulk photos/*.tar captions.jsonl -- caption --format jsonl
    """
    *inputs, out = paths
    if not inputs:
        raise typer.BadParameter("an input and an output", param_hint="'IN... OUT'")
    check_output(out, *inputs)
    if out.is_file() and not state_folder(out).exists():  # OUT may have been forgotten
        raise InputError(
            f"{out} exists, and no earlier `attn bulk` wrote it",
            "a new name for the output, after all inputs",
            "remove it if it is to be replaced",
        )
    job = _with_input(read_job(context.meta[WORDS]), field or [])
    size = shard or (GROUP if job.input == "images" else CHUNK_LINES)
    left_out = irregular(inputs) if job.input != "images" else []
    for path in left_out:
        console.warn(f"{path} is left out; expected a regular file in a folder")
    plan = BulkPlan(job, sources_of(job, inputs, out), out, size, processes)
    try:
        with console.progress(find_runner(job.task).doing, total=1) as advance:
            summary = run_bulk(plan, advance)
    except KeyboardInterrupt:
        console.warn("interrupted; finished shards are kept, the same command continues")
        raise
    done = "finished before, unchanged" if summary.before else "finished"
    console.say(f"{done}: {counted(summary.records, 'record')}")
    if summary.warnings:
        console.say(f"{counted(summary.warnings, 'warning')}: {plan.state / NOTES['warning']}")
    if summary.errors:
        found = f"{counted(summary.errors, 'record')} without a result"
        console.warn(f"{found}: {plan.state / NOTES['error']}")
    if summary.errors or left_out:
        raise typer.Exit(1)


bulk.command_class = BulkCommand  # type: ignore[attr-defined]


def _with_input(job: BulkJob, fields: list[str]) -> BulkJob:
    """Return the job with its kind of input. fields: of JSON lines."""
    task = find_runner(job.task)
    if not fields and (inputs := row_inputs([Path(model) for model in job.models])):
        return replace(job, input="rows", fields=inputs)
    if not fields:
        return replace(job, input="images" if task.files else "lines")
    if not task.fields:
        raise typer.BadParameter("images have no fields", param_hint="'--field'")
    if len(fields) != task.fields:
        found = f"{task.fields} expected, found {len(fields)}"
        raise typer.BadParameter(found, param_hint="'--field'")
    return replace(job, input="jsonl", fields=tuple(fields))

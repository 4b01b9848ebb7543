"""``attn bulk``: process files and folders in shards, on one machine or on a cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from attncli import console
from attncli.bulk.engines import ENGINES
from attncli.bulk.job import BulkJob
from attncli.bulk.joining import ERRORS, WARNINGS
from attncli.bulk.run import BulkPlan, BulkProgress, BulkSummary, run_bulk
from attncli.bulk.sources import image_source, text_sources
from attncli.bulk.tasks import align as align_task
from attncli.bulk.tasks import caption as caption_task
from attncli.bulk.tasks import classify as classify_task
from attncli.bulk.tasks import translate as translate_task
from attncli.commands.align import Probabilities, ReverseModel
from attncli.commands.caption import Batch
from attncli.commands.classify import Models as Classifiers
from attncli.commands.classify import Nbest
from attncli.commands.translate import (
    Capitals,
    Copy,
    GlossaryFile,
    KeepTags,
    Long,
    Normalise,
    PrecisionName,
    Scores,
    SplitAbove,
)
from attncli.data.glossary import read_glossary
from attncli.data.lines import CHUNK_LINES
from attncli.data.named_images import GROUP
from attncli.data.streams import check_output
from attncli.jobs.line_plans import EVERYDAY
from attncli.jobs.loading import readable
from attncli.options import (
    BatchTokens,
    Device,
    From,
    HardDecode,
    Models,
    To,
    check_search,
    with_settings,
)
from attncli.overrides import AlignOverrides, SearchOverrides
from attncli.plurals import counted
from attncli.render import classifications, hypotheses
from attncli.render.duration import duration
from models.config import BATCH_IMAGES, MAX_BATCH_TOKENS
from models.inference.engines import Engine
from models.installed import chosen_model

if TYPE_CHECKING:
    EngineName = str
else:  # for the command line
    EngineName = Literal[tuple(ENGINES)]

DOING = {
    "translate": "translating",
    "classify": "classifying",
    "caption": "captioning",
    "align": "aligning",
}  # labels of the progress

Paths = Annotated[
    list[Path],
    typer.Argument(metavar="IN... OUT", help="Files and folders to read; the output."),
]
EngineOption = Annotated[
    EngineName,
    typer.Option(
        "--engine", help="local: processes on this machine; ray, spark: an existing cluster."
    ),
]
Processes = Annotated[
    int,
    typer.Option(
        "--processes",
        min=0,
        help="Workers at the same time. Default (0): one for each GPU, or for each processor.",
    ),
]
ShardSize = Annotated[
    int, typer.Option("--shard", min=1, help="Records of a shard, the unit of work and of resume.")
]
ImageShardSize = Annotated[
    int, typer.Option("--shard", min=1, help="Images of a shard, the unit of work and of resume.")
]
Threads = Annotated[
    int, typer.Option(min=0, help="Processor threads of a worker (0: the default of torch).")
]
Fields = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        help="JSON lines: field of the text, inner ones with a dot: meta.title. The result is "
        "added to each object. To align: twice, source and target.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        help="Parquet (needs pyarrow): column of the texts. The results are added as a column. To "
        "align: twice, source and target.",
    ),
]
InferenceEngine = Annotated[
    Engine,
    typer.Option(help="What computes a translation; see --engine of `attn translate`."),
]
LineFormat = Annotated[
    Literal["pharaoh", "talp", "naacl", "jsonl"], typer.Option(help="How to write the links.")
]


def bulk(context: typer.Context) -> None:
    """Process large inputs in shards, here or on a cluster.

    The same command continues where it stopped, after a kill, a full disk or a power failure. The
    output is that of the command for one process, in the order of the input.

    Example:
      attn bulk translate -m runs/en-de corpus.en.zst corpus.de
      attn bulk caption -m runs/cap photos captions.tsv
    """
    print(context.get_help())


@with_settings("max_caption")
def translate(
    paths: Paths,
    *,
    model: Models = None,
    to: To = "",
    source: From = "",
    field: Fields = None,
    column: Columns = None,
    format: Annotated[hypotheses.Format, typer.Option(help="How to write the outputs.")] = "text",
    scores: Scores = False,
    overrides: SearchOverrides,
    hard_decode: HardDecode = None,
    keep_tags: KeepTags = False,
    glossary: GlossaryFile = None,
    long: Long = EVERYDAY.long_lines,
    split_above: SplitAbove = None,
    normalise: Normalise = EVERYDAY.normalise,
    copy: Copy = EVERYDAY.copy,
    capitals: Capitals = EVERYDAY.capitals,
    max_batch_tokens: BatchTokens = MAX_BATCH_TOKENS,
    inference_engine: InferenceEngine = "auto",
    precision: PrecisionName = "fp32",
    engine: EngineOption = "local",
    processes: Processes = 0,
    shard: ShardSize = CHUNK_LINES,
    device: Device = "auto",
    threads: Threads = 1,
) -> None:
    """Translate files and folders of text in shards.

    The output of one file is the file OUT; of folders or several files, a folder OUT with a file
    for each. Its content is that of `attn translate`: one line in, one line out. Files may be
    compressed (gz, xz, zst).

    The results of each shard are stored as they finish, in OUT.bulk/. The same command continues
    where it stopped. A line that cannot be translated gives an empty line and a row in
    OUT.bulk/errors.jsonl, and exit status 1 at the end; remarks go to OUT.bulk/warnings.jsonl.

    Example:
      attn bulk translate -m runs/en-de corpus.en.zst corpus.de
      attn bulk translate -m runs/en-de folder/ translated/ --processes 4
    """
    check_search(overrides)
    terms = read_glossary(glossary).terms if glossary else ()
    lines = {"long_lines": long, "normalise": normalise, "copy": copy, "capitals": capitals}
    settings = translate_task.TranslateSettings(
        to=to,
        source=source,
        search=dict(overrides.values),
        read_mode=hard_decode,
        format=format,
        scores=scores,
        lines={**lines, **({} if split_above is None else {"split_above": split_above})},
        keep_tags=keep_tags,
        glossary=[list(term) for term in terms],
        max_batch_tokens=max_batch_tokens,
        engine=inference_engine,
        precision=precision,
    )
    how = _How(engine, processes, shard, device, threads, _kind(field, column))
    _run("translate", _models(model, "translate"), settings, paths, how)


def classify(
    paths: Paths,
    *,
    model: Classifiers = None,
    field: Fields = None,
    column: Columns = None,
    format: Annotated[
        classifications.Format, typer.Option(help="How to write the labels.")
    ] = "text",
    nbest: Nbest = 1,
    scores: Scores = False,
    hard_decode: HardDecode = None,
    max_batch_tokens: BatchTokens = MAX_BATCH_TOKENS,
    engine: EngineOption = "local",
    processes: Processes = 0,
    shard: ShardSize = CHUNK_LINES,
    device: Device = "auto",
    threads: Threads = 1,
) -> None:
    """Classify files and folders of text in shards.

    Files, folders, resume and errors are those of `attn bulk translate`; the output is that of
    `attn classify`.

    Example:
      attn bulk classify -m runs/intents corpus/ labels/
    """
    settings = classify_task.ClassifySettings(format, nbest, scores, hard_decode, max_batch_tokens)
    models = _models(model, "classify")
    how = _How(engine, processes, shard, device, threads, _kind(field, column))
    _run("classify", models, settings, paths, how)


@with_settings("max_ratio", "max_extra")
def caption(
    paths: Paths,
    *,
    model: Models = None,
    format: Annotated[
        Literal["text", "tsv", "jsonl"], typer.Option(help="How to write the captions.")
    ] = "text",
    scores: Scores = False,
    overrides: SearchOverrides,
    hard_decode: HardDecode = None,
    batch: Batch = BATCH_IMAGES,
    engine: EngineOption = "local",
    processes: Processes = 0,
    shard: ImageShardSize = GROUP,
    device: Device = "auto",
    threads: Threads = 1,
) -> None:
    """Caption images, folders and TAR files in shards.

    OUT is one file with a row for each image, as `attn caption -r` writes it. Resume and errors
    are those of `attn bulk translate`. Every worker reads the images by their paths. An image
    whose file has another size or time than before is captioned again.

    Example:
      attn bulk caption -m runs/cap photos captions.tsv
      attn bulk caption -m runs/cap shards/*.tar captions.jsonl --format jsonl
    """
    check_search(overrides)
    settings = caption_task.CaptionSettings(
        format, scores, dict(overrides.values), hard_decode, batch
    )
    how = _How(engine, processes, shard, device, threads, _Kind("images"))
    _run("caption", _models(model, "caption"), settings, paths, how)


@with_settings()
def align(
    paths: Paths,
    *,
    model: Models = None,
    reverse_model: ReverseModel = None,
    to: To = "",
    source: From = "",
    field: Fields = None,
    column: Columns = None,
    overrides: AlignOverrides,
    format: LineFormat = "pharaoh",
    probabilities: Probabilities = False,
    hard_decode: HardDecode = None,
    max_batch_tokens: BatchTokens = MAX_BATCH_TOKENS,
    engine: EngineOption = "local",
    processes: Processes = 0,
    shard: ShardSize = CHUNK_LINES,
    device: Device = "auto",
    threads: Threads = 1,
) -> None:
    """Align the words of files of sentence pairs in shards.

    A line is source, tab (or ` ||| `) and target. Files, folders, resume and errors are those of
    `attn bulk translate`; the output is that of `attn align`.

    Example:
      attn bulk align -m runs/en-de pairs.tsv links
    """
    settings = align_task.AlignSettings(
        to=to,
        source=source,
        align=dict(overrides.values),
        read_mode=hard_decode,
        format=format,
        probabilities=probabilities,
        max_batch_tokens=max_batch_tokens,
    )
    models = _models(model, "translate")
    if len(models) > 1:
        raise typer.BadParameter("one model", param_hint="'--model'")
    models += [chosen_model(reverse_model, "translate")] if reverse_model else []
    how = _How(engine, processes, shard, device, threads, _kind(field, column, count=2))
    _run("align", models, settings, paths, how)


class _Kind(NamedTuple):
    """The kind of input, and its fields or columns with texts."""

    name: str  # a key of attncli.bulk.inputs.INPUTS
    fields: tuple[str, ...] = ()


def _kind(fields: list[str] | None, columns: list[str] | None, *, count: int = 1) -> _Kind:
    """Return the kind of input that is chosen. count: fields that the task needs."""
    if fields and columns:
        raise typer.BadParameter("either --field or --column", param_hint="'--field'")
    chosen = tuple(fields or columns or ())
    if chosen and len(chosen) != count:
        option = "'--field'" if fields else "'--column'"
        raise typer.BadParameter(f"{count} expected, found {len(chosen)}", param_hint=option)
    return _Kind("jsonl" if fields else "parquet" if columns else "lines", chosen)


class _How(NamedTuple):
    """Where and in what portions records are processed."""

    engine: str
    processes: int
    shard: int
    device: str
    threads: int
    kind: _Kind


def _models(given: Sequence[Path] | None, task: str) -> list[Path]:
    """Return the folders of the models; refuse one that cannot be read before any work."""
    models: Sequence[Path | None] = given or [None]
    return [readable(chosen_model(model, task)) for model in models]


def _run(
    task: str, models: Sequence[Path], settings: Any, paths: Sequence[Path], how: _How
) -> None:
    """Run a job, show its progress and report its end."""
    *inputs, out = paths
    if not inputs:
        raise typer.BadParameter("an input and an output", param_hint="'IN... OUT'")
    check_output(out)
    job = BulkJob(
        task,
        tuple(str(model.resolve()) for model in models),
        dataclasses.asdict(settings),
        how.kind.name,
        how.kind.fields,
        device=how.device,
        threads=how.threads,
    )
    sources_of = image_source if how.kind.name == "images" else text_sources
    sources = sources_of(inputs, out)
    plan = BulkPlan(job, sources, out, how.shard, how.engine, how.processes)
    try:
        summary = _shown(plan)
    except KeyboardInterrupt:
        console.warn("interrupted; finished shards are kept, the same command continues")
        raise
    _report(summary)
    if summary.counts.errors:
        raise typer.Exit(1)


def _shown(plan: BulkPlan) -> BulkSummary:
    """Run a job and show its progress."""
    with console.progress(DOING[plan.job.task], total=1) as advance:
        for event in run_bulk(plan):
            if isinstance(event, BulkSummary):
                return event
            advance(event.records / max(1, event.all_records), _note(event))
    raise AssertionError("a job without a summary")


def _note(event: BulkProgress) -> str:
    """Return the progress over all shards, the rate and the time left."""
    shards = f"{event.shards:,} of {counted(event.all_shards, 'shard')}"
    if not event.new_records:
        return shards
    rate = event.new_records / max(event.seconds, 1e-9)
    left = duration((event.all_records - event.records) / rate)
    return f"{shards}, {rate:,.{0 if rate >= 10 else 1}f} records/s, {left} left"


def _report(summary: BulkSummary) -> None:
    records, errors, warnings = summary.counts
    done = "finished before, unchanged" if summary.before else "finished"
    console.say(f"{done}: {counted(records, 'record')}")
    if warnings:
        console.say(f"{counted(warnings, 'warning')}: {summary.state / WARNINGS}")
    if errors:
        console.warn(f"{counted(errors, 'record')} without a result: {summary.state / ERRORS}")

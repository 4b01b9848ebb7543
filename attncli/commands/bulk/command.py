"""``attn bulk``: process files and folders in shards, on one machine or on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from attncli.commands.bulk.options import ImageWork, InputKind, TextWork
from attncli.commands.bulk.run import BulkTaskCall, models_for, run
from attncli.data.text.glossary import read_glossary
from attncli.options.overrides import AlignOverrides, SearchOverrides
from attncli.options.shared import (
    BatchTokens,
    From,
    HardDecode,
    Models,
    To,
    check_search,
    with_settings,
)
from attncli.tasks.align import bulk as align_task
from attncli.tasks.align.command import Probabilities, ReverseModel
from attncli.tasks.caption import bulk as caption_task
from attncli.tasks.caption.command import Batch
from attncli.tasks.classify import bulk as classify_task
from attncli.tasks.classify import writers as classifications
from attncli.tasks.classify.command import Models as Classifiers
from attncli.tasks.classify.command import Nbest
from attncli.tasks.translate import bulk as translate_task
from attncli.tasks.translate import writers as hypotheses
from attncli.tasks.translate.command import (
    Capitals,
    Copy,
    GlossaryFile,
    KeepTags,
    Long,
    Normalise,
    PrecisionName,
    Scores,
)
from attncli.tasks.translate.line_plans import EVERYDAY
from models.catalogue.installed import chosen_model
from models.config.tables import BATCH_IMAGES, MAX_BATCH_TOKENS
from models.inference.ctranslate2.engines import Engine

Paths = Annotated[
    list[Path],
    typer.Argument(metavar="IN... OUT", help="Files and folders to read; the output."),
]
InferenceEngine = Annotated[
    Engine,
    typer.Option(help="Engine that translates; see --engine of `attn translate`."),
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


@with_settings("max_caption", "views")
def translate(
    paths: Paths,
    *,
    model: Models = None,
    to: To = "",
    source: From = "",
    format: Annotated[hypotheses.Format, typer.Option(help="How to write the outputs.")] = "text",
    scores: Scores = False,
    overrides: SearchOverrides,
    hard_decode: HardDecode = None,
    keep_tags: KeepTags = False,
    glossary: GlossaryFile = None,
    long: Long = EVERYDAY.long_lines,
    normalise: Normalise = EVERYDAY.normalise,
    copy: Copy = EVERYDAY.copy,
    capitals: Capitals = EVERYDAY.capitals,
    max_batch_tokens: BatchTokens = MAX_BATCH_TOKENS,
    inference_engine: InferenceEngine = "auto",
    precision: PrecisionName = "fp32",
    work: TextWork,
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
        lines=lines,
        keep_tags=keep_tags,
        glossary=[list(term) for term in terms],
        max_batch_tokens=max_batch_tokens,
        engine=inference_engine,
        precision=precision,
    )
    task = BulkTaskCall("translate", models_for(model, "translate"), settings)
    run(task, paths, work.kind(), work)


@with_settings()
def classify(
    paths: Paths,
    *,
    model: Classifiers = None,
    format: Annotated[
        classifications.Format, typer.Option(help="How to write the labels.")
    ] = "text",
    nbest: Nbest = 1,
    scores: Scores = False,
    hard_decode: HardDecode = None,
    max_batch_tokens: BatchTokens = MAX_BATCH_TOKENS,
    work: TextWork,
) -> None:
    """Classify files and folders of text in shards.

    Files, folders, resume and errors are those of `attn bulk translate`; the output is that of
    `attn classify`.

    Example:
      attn bulk classify -m runs/intents corpus/ labels/
    """
    settings = classify_task.ClassifySettings(format, nbest, scores, hard_decode, max_batch_tokens)
    task = BulkTaskCall("classify", models_for(model, "classify"), settings)
    run(task, paths, work.kind(), work)


@with_settings("max_ratio", "max_extra", "split_above", "shortlist")
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
    work: ImageWork,
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
    task = BulkTaskCall("caption", models_for(model, "caption"), settings)
    run(task, paths, InputKind("images"), work)


@with_settings()
def align(
    paths: Paths,
    *,
    model: Models = None,
    reverse_model: ReverseModel = None,
    to: To = "",
    source: From = "",
    overrides: AlignOverrides,
    format: LineFormat = "pharaoh",
    probabilities: Probabilities = False,
    hard_decode: HardDecode = None,
    max_batch_tokens: BatchTokens = MAX_BATCH_TOKENS,
    work: TextWork,
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
    models = models_for(model, "translate")
    if len(models) > 1:
        raise typer.BadParameter("one model", param_hint="'--model'")
    models += [chosen_model(reverse_model, "translate")] if reverse_model else []
    run(BulkTaskCall("align", models, settings), paths, work.kind(count=2), work)

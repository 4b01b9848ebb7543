"""``attn evaluate captions``: options for scores of captions; the work is in evaluation.py."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import typer

from attncli.data.streams import write_stdout
from attncli.jobs.loading import OpenOptions
from attncli.options.evaluation import Json, Models, Save, check_save, folders_of
from attncli.options.settings import SetOption
from attncli.options.shared import Beam, Device, HardAttention, Threads, search_settings
from attncli.tasks.caption.command import OF_TEXTS
from attncli.tasks.caption.evaluation import caption_scores_as, evaluate_captions
from attncli.terminal import console
from models.base.settings import option
from models.use_config import SearchConfig


@dataclass(frozen=True)
class CaptionScoreSettings:
    """Scores of captions."""

    attention: bool = option(
        False,
        "score the attention of models over content words, too: its entropy, and the "
        "log-probability that a word loses if its most attended fifth of the image is blurred",
    )


@dataclass(frozen=True)
class ScoredCaptionTables:
    """Tables of `attn evaluate captions`."""

    UNUSED: ClassVar = (*OF_TEXTS, "search.nbest")

    search: SearchConfig = option(SearchConfig, "search; the model has its own defaults")
    scores: CaptionScoreSettings = option(CaptionScoreSettings, "scores")
    attention: HardAttention = option(HardAttention, "attention")


Captions = Annotated[
    Path,
    typer.Argument(
        metavar="CAPTIONS",
        help="References: image, tab, caption; also token files, CSV, and the JSON of Karpathy "
        "and of COCO.",
    ),
]
Images = Annotated[
    Path | None,
    typer.Option(metavar="DIR|TAR", help="The images, which a model needs."),
]
Hypotheses = Annotated[
    list[Path] | None,
    typer.Option(
        help="Captions of another program: a line for each image, or a table or JSON of image "
        "and caption. May be repeated."
    ),
]
Split = Annotated[
    Literal["train", "dev", "test"] | None,
    typer.Option(help="Split of the file, if it has several (default: test)."),
]
Set = Annotated[list[str] | None, SetOption(ScoredCaptionTables, example="scores.attention=true")]


def captions(
    captions: Captions,
    *,
    model: Models = None,
    images: Images = None,
    hypotheses: Hypotheses = None,
    split: Split = None,
    save: Save = None,
    json: Json = False,
    beam: Beam = None,
    device: Device = "auto",
    threads: Threads = 0,
    set: Set = None,
) -> None:
    """Score captions of images against references.

    The scores are those of the COCO tools: BLEU-1 to BLEU-4 with and without the brevity penalty,
    ROUGE-L and CIDEr-D. Search settings default to those saved with the model.

    Example:
      attn evaluate captions captions.tsv -m runs/cap --images photos.tar
      attn evaluate captions captions.tsv --hypotheses other.tsv
      attn evaluate captions captions.tsv -m photos --images photos.tar -s scores.attention=true
    """
    folders = folders_of(model, hypotheses, "caption")
    given = search_settings(ScoredCaptionTables, set, beam)
    check_save(folders, save)
    if folders and not images:
        raise typer.BadParameter("a model needs the images", param_hint="'--images'")
    evaluations, test_set = evaluate_captions(
        captions,
        models=folders,
        images=images,
        hypotheses=hypotheses or [],
        part=split or "",
        attention=given.tables.scores.attention,
        save=save,
        options=OpenOptions.of(given, device, threads, messages=console),
    )
    write_stdout(caption_scores_as(evaluations, test_set, json=json))

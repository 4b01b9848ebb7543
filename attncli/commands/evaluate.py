"""``attn evaluate``: parse, and score translations, alignments or captions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from attncli.commands.evaluate_alignments import (
    Alignments,
    GoldIndex,
    HypothesisIndex,
    Reading,
    ReverseModel,
    SkipBad,
    Wanted,
    evaluate_alignments,
)
from attncli.commands.evaluate_captions import (
    Captions,
    CaptionsPart,
    Images,
    WantedCaptions,
    captions_file,
    score_captions,
)
from attncli.commands.evaluate_options import (
    QUANTILES,
    STEP,
    ByLength,
    Confidence,
    Files,
    Hypotheses,
    Models,
    Plot,
    Quantiles,
    Save,
    Source,
    Step,
    Tokenize,
    check_places,
    refuse,
)
from attncli.commands.evaluate_texts import WantedScores, evaluate_texts
from attncli.jobs.loading import OpenOptions
from attncli.options import (
    MODEL,
    BatchTokens,
    Device,
    From,
    HardDecode,
    Threads,
    To,
    check_search,
    with_settings,
)
from attncli.overrides import SearchOverrides
from attncli.scoring.translations import Lengths, Scoring
from models.config import MAX_BATCH_TOKENS


@with_settings()
def evaluate(
    files: Files = None,
    *,
    model: Models = None,
    hypotheses: Hypotheses = None,
    source: Source = None,
    to: To = "",
    source_language: From = "",
    tokenize: Tokenize = "13a",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    confidence: Confidence = False,
    by_length: ByLength = False,
    length_step: Step = STEP,
    length_quantiles: Quantiles = QUANTILES,
    plot: Plot = None,
    save: Save = None,
    alignments: Alignments = None,
    reverse_model: ReverseModel = None,
    gold_index: GoldIndex = None,
    index: HypothesisIndex = None,
    skip_bad: SkipBad = False,
    images: Images = None,
    captions: Captions = None,
    part: CaptionsPart = None,
    json: Annotated[bool, typer.Option("--json", help="Write JSON instead of tables.")] = False,
    overrides: SearchOverrides,
    hard_decode: HardDecode = None,
    max_batch_tokens: BatchTokens = MAX_BATCH_TOKENS,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Score translations against references.

    The model translates the source and its outputs are compared with one or more references. With
    several models, or outputs of other programs, each gets a row and a curve. A model searches as
    its own settings say, but for what is given here. A length is counted in words between spaces;
    the ratio is output length over reference length. Multilingual models need --to LANGUAGE.

    With --alignments the links between words are scored, those that models find by forced decoding
    and those in --hypotheses: alignment error rate (AER), precision, recall and F. Files of links
    are Pharaoh's `0-0 1-2` (possible links 1p2 or 1?2) or NAACL's `sentence source target S`.

    With --images or --captions it is captions of pictures: BLEU-1 to BLEU-4 with and without the
    brevity penalty, ROUGE-L and CIDEr-D as the COCO tools compute them, METEOR where Java and its
    program are there (pip install pycocoevalcap).

    Example:
      attn evaluate -m runs/a -m runs/b --plot lengths.png test.en test.de
      attn evaluate --hypotheses other.de test.de
      attn evaluate -m runs/demo runs/demo/test.tsv
      attn evaluate --alignments gold.txt -m runs/a --hypotheses fast_align.txt test.en test.de
      attn evaluate -m runs/cap --images photos.tar captions.tsv
      attn evaluate --captions captions.tsv --hypotheses other.tsv
    """
    folders = _folders(model, hypotheses)
    names = _names(folders)
    _check_search(overrides)
    opening = OpenOptions(
        device, threads, hard_decode, overrides, to, source_language, len(folders) > 1
    )
    if images or captions or part:
        refuse(confidence=confidence, by_length=by_length, plot=plot, source=source)
        refuse(lowercase=lowercase, tokenize=tokenize != "13a", alignments=alignments)
        check_places(folders, None, save)
        wanted_captions = WantedCaptions(
            captions_file(captions, files),
            part,
            images,
            folders,
            names,
            hypotheses or [],
            save,
            opening,
        )
        return score_captions(wanted_captions, json=json)
    if alignments:
        refuse(confidence=confidence, by_length=by_length, plot=plot, save=save, source=source)
        wanted = Wanted(
            alignments,
            files or [],
            folders,
            names,
            reverse_model,
            hypotheses or [],
            Reading(gold_index, index, skip_bad),
        )
        return evaluate_alignments(wanted, options=opening, json=json)
    wanted_scores = WantedScores(
        files or [],
        source,
        folders,
        names,
        hypotheses or [],
        Scoring(tokenize, lowercase, confidence),
        Lengths(length_step, length_quantiles) if by_length or plot else None,
        plot,
        save,
        opening,
        max_batch_tokens,
    )
    evaluate_texts(wanted_scores, json=json)


def _folders(models: list[Path] | None, hypotheses: list[Path] | None) -> list[Path]:
    """The models that were named; the one of the environment if nothing was."""
    default = os.environ.get(MODEL, "")
    if models or hypotheses:
        return models or []
    if not default:
        raise typer.BadParameter(
            f"none given (env var: '{MODEL}'), and no --hypotheses", param_hint="'--model' / '-m'"
        )
    return [Path(default)]


def _names(folders: list[Path]) -> list[str]:
    """What the folders are called; their whole paths where two are called the same."""
    names = [folder.resolve().name for folder in folders]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]


def _check_search(overrides: SearchOverrides) -> None:
    check_search(overrides)
    if overrides.get("nbest", 1) > 1:
        raise typer.BadParameter("the best output is scored", param_hint="'--nbest'")

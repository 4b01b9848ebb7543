"""``attn evaluate``: parse, translate the test set, score, write the tables and the picture."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from attncli import console
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
    MODEL_NAME,
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
    check_source,
    refuse,
)
from attncli.data.streams import open_output
from attncli.jobs.device import choose_device, use_threads
from attncli.jobs.evaluate import read_references, read_system, read_test_set, translate_test_set
from attncli.options import (
    MODEL,
    BatchTokens,
    Device,
    HardDecode,
    Threads,
    check_search,
    read_as,
    with_settings,
)
from attncli.render.plots import Bar, Curve, bleu_by_length
from attncli.render.scores import scores_as_json, scores_as_text
from attncli.scoring import (
    Evaluation,
    Lengths,
    Scoring,
    System,
    evaluate_systems,
    looks_tokenised,
    metrics,
)
from models.config import SearchConfig

if TYPE_CHECKING:
    from models.translator import Translator


@with_settings()
def evaluate(
    files: Files = None,
    *,
    model: Models = None,
    hypotheses: Hypotheses = None,
    source: Source = None,
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
    search: SearchConfig,
    hard_decode: HardDecode = None,
    max_batch_tokens: BatchTokens = 4096,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Score translations by sacreBLEU: BLEU, chrF, TER. Or score alignments, or captions.

    The model translates the source and its outputs are compared with one or more references. With
    several models, or outputs of other programs, each gets a row and a curve. A length is counted
    in words between spaces; the ratio is output length over reference length.

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
    if images or captions or part:
        _check_search(search)
        refuse(confidence=confidence, by_length=by_length, plot=plot, source=source)
        refuse(lowercase=lowercase, tokenize=tokenize != "13a", alignments=alignments)
        check_places(folders, None, save)
        wanted_captions = WantedCaptions(
            captions_file(captions, files),
            part,
            images,
            folders,
            _names(folders),
            hypotheses or [],
            save,
            search,
            hard_decode,
            device,
            threads,
        )
        score_captions(wanted_captions, json=json)
        return
    if alignments:
        refuse(confidence=confidence, by_length=by_length, plot=plot, save=save, source=source)
        wanted = Wanted(
            alignments,
            files or [],
            folders,
            _names(folders),
            reverse_model,
            hypotheses or [],
            Reading(gold_index, index, skip_bad, hard_decode),
        )
        evaluate_alignments(wanted, device=device, threads=threads, json=json)
        return
    if not files:
        raise typer.BadParameter("source and references are missing", param_hint="'FILES...'")
    lengths = Lengths(length_step, length_quantiles) if by_length or plot else None
    scoring = Scoring(tokenize, lowercase, confidence)
    _check_search(search)
    check_source(folders, source, lengths)
    check_places(folders, plot, save)
    metrics(scoring)  # a tokenizer that is not installed, before the work
    test_set = read_test_set(files) if folders else read_references(files, source)
    others = [read_system(path, test_set) for path in hypotheses or []]
    work = Work(test_set.sources, search, hard_decode, max_batch_tokens, device, threads)
    systems = [*_translated(folders, work, save), *others]
    _warn_of_tokens(systems, scoring)
    evaluations = evaluate_systems(systems, test_set, scoring, lengths)
    if plot:
        bleu_by_length(plot, *_picture(evaluations))
    rendered = (scores_as_json if json else scores_as_text)(evaluations, len(test_set.references))
    with open_output(None) as write:
        write(rendered.encode())


class Work(NamedTuple):
    """What each model is to do, and with what."""

    sources: list[str]
    search: SearchConfig
    hard_decode: str | None
    max_batch_tokens: int
    device: str
    threads: int


def _translated(folders: list[Path], work: Work, save: Path | None) -> Iterator[System]:
    """The outputs of each model, written as soon as they are there."""
    for name, folder in zip(_names(folders), folders, strict=True):
        loaded = _load(folder, work.device, work.threads)
        translator = read_as(loaded, work.hard_decode, seed=work.search.seed)
        total = sum(map(translator.source_length, work.sources))
        with console.progress(f"translating, {name}", total=total) as advance:
            system = translate_test_set(
                name,
                work.sources,
                translator,
                search=work.search,
                max_batch_tokens=work.max_batch_tokens,
                advance=advance,
            )
        system = system._replace(read=translator.reads)
        for note in system.notes:
            console.warn(f"{name}: {note}")
        if save:
            _write(system, save)
        yield system


def _load(model: Path, device: str, threads: int) -> Translator:
    """The model, whose loading imports torch; so this comes after all cheaper mistakes."""
    from models import load_translator

    use_threads(threads)
    return load_translator(model, device=choose_device(device))


def _write(system: System, save: Path) -> None:
    with open_output(Path(str(save).replace(MODEL_NAME, system.name))) as write:
        write("".join(f"{text}\n" for text in system.hypotheses).encode("utf-8", "replace"))


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


def _check_search(search: SearchConfig) -> None:
    check_search(search)
    if search.nbest > 1:
        raise typer.BadParameter("the best output is scored", param_hint="'--nbest'")


def _warn_of_tokens(systems: list[System], scoring: Scoring) -> None:
    for system in systems:
        if scoring.tokenize == "13a" and looks_tokenised(system):
            console.warn(
                f"{system.name} looks tokenised already; --tokenize none scores it as it is"
            )


def _picture(evaluations: list[Evaluation]) -> tuple[list[Curve], list[Bar]]:
    """A curve for each system, its points at the middle of their ranges; counts as bars."""
    buckets = evaluations[0].buckets
    middles = [(bucket.shortest + bucket.longest) / 2 for bucket in buckets]
    curves = [
        Curve(system.name, middles, [bucket.bleu for bucket in found])
        for system, _, found in evaluations
    ]
    return curves, [Bar(b.shortest - 0.5, b.longest + 0.5, b.sentences) for b in buckets]

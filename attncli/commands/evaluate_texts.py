"""``attn evaluate`` of translations: translate, score, write the tables and the picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from attncli import console
from attncli.commands.evaluate_options import MODEL_NAME, check_places, check_source
from attncli.data.streams import open_output
from attncli.jobs import loading
from attncli.jobs.evaluate import read_references, read_system, read_test_set, translate_test_set
from attncli.jobs.loading import OpenOptions
from attncli.render.plots import Bar, Curve, bleu_by_length
from attncli.render.scores import scores_as_json, scores_as_text
from attncli.scoring.translations import (
    Evaluation,
    Lengths,
    Scoring,
    System,
    evaluate_systems,
    looks_tokenised,
    metrics,
)

if TYPE_CHECKING:
    pass


class WantedScores(NamedTuple):
    """What is to be scored, how, and where it goes."""

    files: list[Path]
    source: Path | None
    models: list[Path]  # folders
    names: list[str]  # of them
    hypotheses: list[Path]
    scoring: Scoring
    lengths: Lengths | None
    plot: Path | None
    save: Path | None
    options: OpenOptions  # of every model
    max_batch_tokens: int


def evaluate_texts(wanted: WantedScores, *, json: bool) -> None:
    """Score the translations of models and files against references."""
    _check(wanted)
    metrics(wanted.scoring)  # a tokenizer that is not installed, before the work
    files, source = wanted.files, wanted.source
    test_set = read_test_set(files) if wanted.models else read_references(files, source)
    others = [read_system(path, test_set) for path in wanted.hypotheses]
    systems = [*_translated(wanted, test_set.sources), *others]
    _warn_of_tokens(systems, wanted.scoring)
    evaluations = evaluate_systems(systems, test_set, wanted.scoring, wanted.lengths)
    if wanted.plot:
        bleu_by_length(wanted.plot, *_picture(evaluations))
    rendered = (scores_as_json if json else scores_as_text)(evaluations, len(test_set.references))
    with open_output(None) as write:
        write(rendered.encode())


def _check(wanted: WantedScores) -> None:
    if not wanted.files:
        raise typer.BadParameter("source and references are missing", param_hint="'FILES...'")
    check_source(wanted.models, wanted.source, wanted.lengths)
    check_places(wanted.models, wanted.plot, wanted.save)


def _translated(wanted: WantedScores, sources: list[str]) -> Iterator[System]:
    """The outputs of each model, written as soon as they are there."""
    for name, folder in zip(wanted.names, wanted.models, strict=True):
        translator = loading.open_translator(folder, wanted.options)
        with console.progress(f"translating, {name}", total=len(sources)) as advance:
            system = translate_test_set(
                name,
                sources,
                translator,
                search=translator.search,
                max_batch_tokens=wanted.max_batch_tokens,
                advance=advance,
            )
        system = system._replace(read=translator.read_mode)
        for note in system.notes:
            console.warn(f"{name}: {note}")
        if wanted.save:
            _write(system, wanted.save)
        yield system


def _write(system: System, save: Path) -> None:
    with open_output(Path(str(save).replace(MODEL_NAME, system.name))) as write:
        write("".join(f"{text}\n" for text in system.hypotheses).encode("utf-8", "replace"))


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

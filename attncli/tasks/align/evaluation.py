"""Score word alignments of models and files against gold links."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attncli.data.alignments.links import UNKNOWN, Index, Lengths, LinkFile, read_links
from attncli.data.text.corpus import read_pairs
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions, model_names
from attncli.scoring.alignments import AlignmentScores, GoldSummary, score_alignments
from attncli.terminal.plurals import counted

if TYPE_CHECKING:
    from models.config.tables import AlignConfig
    from models.inference.translator import Translator

Pairs = tuple[tuple[str, str], ...]


class Gold(NamedTuple):
    """Gold links, and the texts they belong to."""

    name: str
    pairs: Pairs  # empty if the texts are not known
    lengths: tuple[Lengths, ...]  # words of each pair
    links: LinkFile


class AlignmentResults(NamedTuple):
    """Scores of every alignment, and the gold they were computed on."""

    scores: list[AlignmentScores]
    gold: GoldSummary


class Scored(NamedTuple):
    """Scores of a model, and notes on pairs that it did not align."""

    scores: AlignmentScores
    notes: tuple[str, ...]


def evaluate_alignments(
    gold: Path,
    texts: Sequence[Path] = (),
    *,
    models: Sequence[Path] = (),
    hypotheses: Sequence[Path] = (),
    gold_index: Index | None = None,
    index: Index | None = None,
    skip_bad: bool = False,
    options: OpenOptions | None = None,
) -> AlignmentResults:
    """Score the links of models, and of other programs, against gold links.

    texts: source and target, or one table; models need them. hypotheses: files of links.
    gold_index, index: first word number in the gold and in hypotheses, 0 or 1; None: found from the
    file. skip_bad: leave out links to words that do not exist, instead of raising ModelError.
    """
    known = read_gold(gold, texts, index=gold_index, skip_bad=skip_bad)
    files = [score_file(path, known, index=index, skip_bad=skip_bad) for path in hypotheses]
    scores = [*_scores_of_models(models, known, options or OpenOptions()), *files]
    return AlignmentResults(scores, summary_of(known))


def summary_of(gold: Gold) -> GoldSummary:
    """Return the size of the gold, and how it was read."""
    rows = gold.links.rows
    return GoldSummary(
        name=gold.name,
        note=how_read(gold.links),
        pairs=len(rows),
        sure=sum(len(row.sure) for row in rows),
        possible=sum(len(row.possible - row.sure) for row in rows),
    )


def read_gold(
    path: Path, texts: Sequence[Path], *, index: Index | None = None, skip_bad: bool = False
) -> Gold:
    """Read gold links, and the texts they belong to if their files are given."""
    if not texts:
        links = read_links(path, index=index, skip_bad=skip_bad)
        return Gold(path.name, (), (UNKNOWN,) * len(links.rows), links)
    pairs = read_texts(texts)
    lengths = tuple((len(source.split()), len(target.split())) for source, target in pairs)
    links = read_links(path, lengths, index=index, skip_bad=skip_bad)
    return Gold(path.name, pairs, lengths, links)


def read_texts(texts: Sequence[Path]) -> Pairs:
    """Read sentence pairs; of several references, the first."""
    return tuple((pair.source, pair.references[0]) for pair in read_pairs(texts))


def score_file(
    path: Path, gold: Gold, *, index: Index | None = None, skip_bad: bool = False
) -> AlignmentScores:
    """Score the links of another program; its possible links count as links."""
    found = read_links(path, gold.lengths, index=index, option="-s links.index=", skip_bad=skip_bad)
    rows = [row.possible for row in found.rows]
    return score_alignments(path.name, rows, gold.links.rows, how_read(found))


def score_model(name: str, translator: Translator, gold: Gold) -> Scored:
    """Score the links of a model between the words of the gold's texts."""
    from models.alignment import align

    config = dataclasses.replace(translator.alignment, units="word")
    found = align(translator, gold.pairs, config=config)
    notes = tuple(f"pair {number}: {one.note}" for number, one in enumerate(found, 1) if one.note)
    note = how_aligned(config)
    scores = score_alignments(name, [one.links for one in found], gold.links.rows, note)
    return Scored(scores, notes)


def _scores_of_models(
    folders: Sequence[Path], gold: Gold, options: OpenOptions
) -> Iterator[AlignmentScores]:
    """Score each model. Opening one imports torch, so files are read and checked before."""
    for name, folder in zip(model_names(folders), folders, strict=True):
        translator = loading.open_aligner(folder, options)
        scored = score_model(name, translator, gold)
        for note in scored.notes:
            options.messages.warn(f"{name}: {note}; no links")
        yield scored.scores


def how_read(found: LinkFile) -> str:
    """Return the first word number of a file, how it is known, and how many links were left out."""
    left_out = f"; {counted(found.left_out, 'bad link')} left out" if found.left_out else ""
    return f"counts from {found.base} ({found.reason}){left_out}"


def how_aligned(config: AlignConfig) -> str:
    """Return the settings that links depend on, as text."""
    layer = f"layer {config.layer or 'default'}"
    head = f"head {config.head}" if config.head else "mean of heads"
    said = [layer, head, f"shift {config.shift}", config.extract]
    if config.null_threshold < 1:
        said.append(f"null threshold {config.null_threshold:g}")
    return ", ".join(said)

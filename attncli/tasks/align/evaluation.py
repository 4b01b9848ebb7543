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

if TYPE_CHECKING:
    from models.config.tables import AlignConfig


class Gold(NamedTuple):
    """Gold links, and the texts they belong to."""

    name: str
    pairs: Sequence[tuple[str, str]]  # empty if the texts are not known
    lengths: Sequence[Lengths]  # words of each pair
    links: LinkFile

    @property
    def summary(self) -> GoldSummary:
        """Size of the gold, and how it was read."""
        rows = self.links.rows
        return GoldSummary(
            name=self.name,
            note=self.links.note,
            pairs=len(rows),
            sure=sum(len(row.sure) for row in rows),
            possible=sum(len(row.possible - row.sure) for row in rows),
        )


def evaluate_alignments(
    gold: Path,
    texts: Sequence[Path] = (),
    *,
    models: Sequence[Path] = (),
    hypotheses: Sequence[Path] = (),
    gold_index: Index | None = None,
    options: OpenOptions | None = None,
) -> tuple[list[AlignmentScores], GoldSummary]:
    """Score the links of models, and of other programs, against gold links.

    texts: source and target, or one table; models need them. hypotheses: files of links.
    gold_index: first word number in the gold, 0 or 1; None: found from the file.
    """
    known = read_gold(gold, texts, gold_index)
    files = [score_file(path, known) for path in hypotheses]
    scores = [*_scores_of_models(models, known, options or OpenOptions()), *files]
    return scores, known.summary


def read_gold(path: Path, texts: Sequence[Path], index: Index | None) -> Gold:
    """Read gold links, and the texts they belong to if their files are given."""
    if not texts:
        links = read_links(path, index=index)
        return Gold(path.name, (), [UNKNOWN] * len(links.rows), links)
    pairs = [(pair.source, pair.references[0]) for pair in read_pairs(texts)]
    lengths = [(len(source.split()), len(target.split())) for source, target in pairs]
    return Gold(path.name, pairs, lengths, read_links(path, lengths, index=index))


def score_file(path: Path, gold: Gold) -> AlignmentScores:
    """Score the links of another program; its possible links count as links."""
    hint = "" if gold.pairs else "give the texts: source and target"
    found = read_links(path, gold.lengths, hint=hint)
    rows = [row.possible for row in found.rows]
    return score_alignments(path.name, rows, gold.links.rows, found.note)


def _scores_of_models(
    folders: Sequence[Path], gold: Gold, options: OpenOptions
) -> Iterator[AlignmentScores]:
    """Score the links of each model between the words of the texts.

    Opening a model imports torch, so files are read and checked before.
    """
    for name, folder in zip(model_names(folders), folders, strict=True):
        from models.alignment import align

        translator = loading.open_aligner(folder, options)
        config = dataclasses.replace(translator.alignment, units="word")
        found = align(translator, gold.pairs, config=config)
        for number, one in enumerate(found, 1):
            if one.note:
                options.messages.warn(f"{name}: pair {number}: {one.note}; no links")
        links = [one.links for one in found]
        yield score_alignments(name, links, gold.links.rows, how_aligned(config))


def how_aligned(config: AlignConfig) -> str:
    """Return the settings that links depend on, as text."""
    layer = f"layer {config.layer or 'default'}"
    head = f"head {config.head}" if config.head else "mean of heads"
    said = [layer, head, f"shift {config.shift}", config.extract]
    if config.null_threshold < 1:
        said.append(f"null threshold {config.null_threshold:g}")
    return ", ".join(said)

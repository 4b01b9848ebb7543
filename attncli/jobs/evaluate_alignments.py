"""Score alignments against gold: those of files, and those that models make."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attncli.data.corpus import read_pairs
from attncli.data.links import UNKNOWN, Index, Lengths, LinkFile, read_links
from attncli.scoring.alignments import AlignmentScores, score_alignments

if TYPE_CHECKING:
    from models.config import AlignConfig
    from models.inference.translator import Translator

Pairs = tuple[tuple[str, str], ...]


class Gold(NamedTuple):
    """What alignments are measured against."""

    name: str
    pairs: Pairs  # none where the texts are not known
    lengths: tuple[Lengths, ...]  # one for each pair
    links: LinkFile


class Scored(NamedTuple):
    """The scores of a model, and what there is to know of some pairs."""

    scores: AlignmentScores
    notes: tuple[str, ...]


def read_gold(
    path: Path, texts: Sequence[Path], *, index: Index | None = None, skip_bad: bool = False
) -> Gold:
    """The gold, and the texts it speaks of if there are files of them."""
    if not texts:
        links = read_links(path, index=index, skip_bad=skip_bad)
        return Gold(path.name, (), (UNKNOWN,) * len(links.rows), links)
    pairs = read_texts(texts)
    lengths = tuple((len(source.split()), len(target.split())) for source, target in pairs)
    links = read_links(path, lengths, index=index, skip_bad=skip_bad)
    return Gold(path.name, pairs, lengths, links)


def read_texts(texts: Sequence[Path]) -> Pairs:
    """Sentence pairs, of the first reference where there are several."""
    return tuple((pair.source, pair.references[0]) for pair in read_pairs(texts))


def score_file(
    path: Path, gold: Gold, *, index: Index | None = None, skip_bad: bool = False
) -> AlignmentScores:
    """Scores of links that another program made; its possible links count as links."""
    found = read_links(path, gold.lengths, index=index, option="--index", skip_bad=skip_bad)
    rows = [row.possible for row in found.rows]
    return score_alignments(path.name, rows, gold.links.rows, how_read(found))


def score_model(
    name: str,
    translator: Translator,
    gold: Gold,
    *,
    reverse: Translator | None = None,
) -> Scored:
    """Scores of the links that a model makes between the words of the gold's texts."""
    from models.alignment import align

    config = dataclasses.replace(translator.alignment, units="word")
    found = align(translator, gold.pairs, config=config, reverse=reverse)
    notes = tuple(f"pair {number}: {one.note}" for number, one in enumerate(found, 1) if one.note)
    note = how_aligned(config, both=reverse is not None)
    scores = score_alignments(name, [one.links for one in found], gold.links.rows, note)
    return Scored(scores, notes)


def how_read(found: LinkFile) -> str:
    """What a file of links counts from, how that is known, and what was left out of it."""
    left_out = f"; {found.left_out:,} bad links left out" if found.left_out else ""
    return f"counts from {found.base} ({found.reason}){left_out}"


def how_aligned(config: AlignConfig, *, both: bool) -> str:
    """The settings that links depend on."""
    layer = f"layer {config.layer or 'default'}"
    head = f"head {config.head}" if config.head else "mean of heads"
    said = [layer, head, f"shift {config.shift}", config.extract]
    if config.null_threshold < 1:
        said.append(f"null threshold {config.null_threshold:g}")
    if both:
        said.append(f"both directions by {config.symmetrise} ({config.flavour})")
    return ", ".join(said)

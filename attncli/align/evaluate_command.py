"""``attn evaluate alignments``: scores of word alignments against gold links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from attncli.align.pairs import AlignOptions
from attncli.data.alignments import UNKNOWN, Index, Lengths, LinkFile, read_links
from attncli.data.corpus import PairLine, read_pairs
from attncli.data.streams import write_stdout
from attncli.jobs.evaluate import evaluated
from attncli.options.settings import SetOption
from attncli.options.shared import Device, From, Json, ScoredModels, Threads, To, folders_of
from attncli.render.rows import columns, scores_as_json, scores_as_text
from attncli.scoring.score import MetricScore, System
from attncli.scoring.sequences import AlignmentScores, GoldSummary, score_alignments
from attncli.terminal import console
from attncli.terminal.messages import counted

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Texts of the gold links, which models align: source and target, or one TSV."
    ),
]
GoldFile = Annotated[
    Path, typer.Option(help="Gold links between words: Pharaoh or NAACL, sure and possible.")
]
GoldIndex = Annotated[
    Index | None,
    typer.Option(help="Index of the first word in --gold, if the file does not show it."),
]
Hypotheses = Annotated[
    list[Path] | None, typer.Option(help="Links of another program. May be repeated.")
]


class ScoredAlignOptions(AlignOptions):
    """Options of `attn evaluate alignments`."""

    TABLES = "attention"


Set = Annotated[
    list[str] | None, SetOption(ScoredAlignOptions, example="attention.read_decode=expected")
]


def alignments(
    files: Files = None,
    *,
    gold: GoldFile,
    model: ScoredModels = None,
    hypotheses: Hypotheses = None,
    to: To = "",
    source: From = "",
    gold_index: GoldIndex = None,
    json: Json = False,
    device: Device = "auto",
    threads: Threads = 0,
    set: Set = None,
) -> None:
    """Score word alignments against gold links.

    The scores are alignment error rate (AER), precision, recall and F. The links of a model come
    from its attention weights under teacher forcing, with the settings saved in it. Files of links
    are Pharaoh's `0-0 1-2` (possible links 1p2 or 1?2) or NAACL's `sentence source target S`.

    Example:
      attn evaluate alignments --gold gold.talp --hypotheses fast_align.links test.en test.de
      attn evaluate alignments --gold gold.talp -m runs/en-de test.en test.de
    """
    folders = folders_of(model, hypotheses)
    if folders and not files:
        raise typer.BadParameter(
            "a model needs the texts that the gold links: source and target",
            param_hint="'FILES...'",
        )
    mixed = len(folders) > 1
    options = ScoredAlignOptions.of_command(locals(), mixed=mixed, messages=console)
    options = replace(options, given=(*options.given, "align.units"))  # words, as in the gold
    known = read_gold(gold, files or [], gold_index)
    others = [score_file(path, known) for path in hypotheses or ()]  # before torch is imported
    scores = [*_scores_of_models(folders, known, options), *others]
    write_stdout(alignment_scores(scores, known.summary, json=json))


def alignment_scores(
    rows: Sequence[AlignmentScores], gold: GoldSummary, *, json: bool = False
) -> str:
    """Return the size of the gold, a row of percentages for each alignment, and how it was read."""
    systems = []
    for row in rows:
        values = {"AER": row.error_rate, "precision": row.precision, "recall": row.recall}
        shares = {**values, "F": row.f}
        scores = [MetricScore(name, 100 * value) for name, value in shares.items()]
        scores.append(MetricScore("links", row.links, digits=0))
        systems.append(System(row.name, scores=tuple(scores), facts={"note": row.note}))
    if json:
        return scores_as_json({"gold": gold._asdict()}, systems, "pairs")
    read = [("gold", gold.note), *((row.name, row.note) for row in rows)]
    counts = f"{gold.sure:,} sure and {counted(gold.possible, 'possible link')}"
    head = f"{counted(gold.pairs, 'sentence pair')}, {counts} in {gold.name}"
    return scores_as_text(head, systems, "pairs", [columns(read, left=2)])


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


def read_gold(path: Path, texts: Sequence[Path], index: Index | None) -> Gold:
    """Read gold links, and texts if given. index: of the first word; None: found in the file."""
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
    folders: Sequence[Path], gold: Gold, options: AlignOptions
) -> Iterator[AlignmentScores]:
    """Score the links of each model between the words of the texts; state how they were made."""
    lines = [PairLine(number, *pair) for number, pair in enumerate(gold.pairs, 1)]
    for (name, *_), runner, results in evaluated("align", folders, lines, options):
        for one in results:
            if one.note:
                options.messages.warn(f"{name}: pair {one.number}: {one.note}; no links")
        config = runner.model[0].config
        head = f"head {config.head}" if config.head else "mean of heads"
        how = [f"layer {config.layer or 'default'}", head, f"shift {config.shift}", config.extract]
        how += [f"null threshold {config.null_threshold:g}"] if config.null_threshold < 1 else []
        links = [one.panels[0].links for one in results]
        yield score_alignments(name, links, gold.links.rows, ", ".join(how))

"""``attn evaluate alignments``: scores of word alignments against gold links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

from attncli.align.pairs import AlignOptions
from attncli.data.alignments import UNKNOWN, Lengths, LinkFile, read_links
from attncli.data.corpus import PairLine, read_pairs
from attncli.options.evaluation import Evaluation, ModelOutputs, command
from attncli.options.shared import From, GoldIndex, To
from attncli.render.rows import columns
from attncli.scoring.score import MetricScore, System
from attncli.scoring.sequences import score_alignments
from attncli.terminal.messages import counted
from models.core.types import Link


class ScoredAlignOptions(AlignOptions):
    """Options of `attn evaluate alignments`."""

    TABLES = "attention"


@command
@dataclass(kw_only=True)
class AlignmentEvaluation(Evaluation):
    """Score word alignments against gold links.

    The scores are alignment error rate (AER), precision, recall and F. The links of a model come
    from its attention weights under teacher forcing, with the settings saved in it. Files of links
    are Pharaoh's `0-0 1-2` (possible links 1p2 or 1?2) or NAACL's `sentence source target S`.

    Example:
      attn evaluate alignments --gold gold.talp --hypotheses fast_align.links test.en test.de
      attn evaluate alignments --gold gold.talp -m runs/en-de test.en test.de
    """

    task, unit, options_of = "align", "pair", ScoredAlignOptions
    EXAMPLE = "attention.read_decode=expected"

    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Texts of the gold links, which models align: source and target, or one TSV."
        ),
    ] = None
    gold: Annotated[
        Path, typer.Option(help="Gold links between words: Pharaoh or NAACL, sure and possible.")
    ]
    gold_index: GoldIndex = None
    to: To = ""
    source: From = ""
    lengths: Sequence[Lengths] = field(init=False)  # words of each pair
    links: LinkFile = field(init=False)  # the gold

    def read(self, folders: Sequence[Path]) -> None:
        """Read the gold links, and the texts if they are given."""
        if folders and not self.files:
            raise typer.BadParameter(
                "a model needs the texts that the gold links: source and target",
                param_hint="'FILES...'",
            )
        given = (*self.options.given, "align.units")  # words, as in the gold
        self.options = replace(self.options, given=given)
        texts = read_pairs(self.files) if self.files else ()
        pairs = [(one.source, one.references[0]) for one in texts]
        self.items = [PairLine(number, *pair) for number, pair in enumerate(pairs, 1)]
        self.lengths = [(len(source.split()), len(target.split())) for source, target in pairs]
        self.links = read_links(self.gold, self.lengths or None, index=self.gold_index)
        rows = self.links.rows
        self.lengths = self.lengths or [UNKNOWN] * len(rows)
        sure = sum(len(row.sure) for row in rows)
        possible = sum(len(row.possible - row.sure) for row in rows)
        sizes = {"pairs": len(rows), "sure": sure, "possible": possible}
        self.counts = {"gold": {"name": self.gold.name, "note": self.links.note} | sizes}
        links = f"{sure:,} sure and {counted(possible, 'possible link')}"
        self.head = f"{counted(len(rows), 'sentence pair')}, {links} in {self.gold.name}"

    def of_model(self, outputs: ModelOutputs) -> System:
        """Score the links of a model; state how they were made."""
        (name, *_), runner, results = outputs
        for one in results:
            if one.note:
                self.options.messages.warn(f"{name}: pair {one.number}: {one.note}; no links")
        config = runner.model[0].config
        head = f"head {config.head}" if config.head else "mean of heads"
        how = [f"layer {config.layer or 'default'}", head, f"shift {config.shift}", config.extract]
        how += [f"null threshold {config.null_threshold:g}"] if config.null_threshold < 1 else []
        return self._system(name, [one.panels[0].links for one in results], ", ".join(how))

    def of_file(self, path: Path) -> System:
        """Score the links of another program; its possible links count as links."""
        hint = "" if self.files else "give the texts: source and target"
        found = read_links(path, self.lengths, hint=hint)
        return self._system(path.name, [row.possible for row in found.rows], found.note)

    def _system(self, name: str, links: Iterable[frozenset[Link]], note: str) -> System:
        found = score_alignments(links, self.links.rows)
        shares = {"AER": found.error_rate, "precision": found.precision, "recall": found.recall}
        shares["F"] = found.f
        scores = [MetricScore(name, 100 * value) for name, value in shares.items()]
        scores.append(MetricScore("links", found.links, digits=0))
        return System(name, scores=tuple(scores), facts={"note": note})

    def tables(self, systems: Sequence[System]) -> list[str]:
        """Return how the gold and the links of each system were read."""
        read = [("gold", self.links.note), *((one.name, one.facts["note"]) for one in systems)]
        return [columns(read, left=2)]

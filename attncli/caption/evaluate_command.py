"""``attn evaluate captions``: scores of captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from attncli.caption._attention import attention_scores
from attncli.caption._captions import parts_of, read_captions
from attncli.caption._scores import caption_scores
from attncli.caption.runner import OF_TEXTS, CaptionedImage, CaptionOptions
from attncli.data.lines import open_text
from attncli.data.named_files import last_part
from attncli.data.streams import check_files
from attncli.options.evaluation import Evaluation, ModelOutputs, command, files_of
from attncli.render.rows import columns
from attncli.scoring.score import MetricScore, System
from attncli.terminal.messages import counted
from models.core.errors import ModelError
from models.core.settings import option, parse_json

PLAIN, RATIO = "bleu_without_brevity_penalty", "length_ratio"  # facts of a system
SCALES = (
    "BLEU-1 to BLEU-4 and ROUGE-L are in percent; CIDEr-D is as the COCO tools give it "
    "(some papers write it times 100).\n"
)


@dataclass(frozen=True)
class CaptionScoreSettings:
    """Scores of captions."""

    attention: bool = option(
        False,
        "score the attention of models over content words, too: its entropy, and the "
        "log-probability that a word loses if its most attended fifth of the image is blurred",
    )


@dataclass(frozen=True)
class ScoredCaptionOptions(CaptionOptions):
    """Options of `attn evaluate captions`."""

    TABLES = "search scores attention"
    UNUSED = f"{OF_TEXTS} search.nbest"

    scores: CaptionScoreSettings = option(CaptionScoreSettings, "scores")


@command
@dataclass(kw_only=True)
class CaptionEvaluation(Evaluation):
    """Score captions of images against references.

    The scores are those of the COCO tools: BLEU-1 to BLEU-4 with and without the brevity penalty,
    ROUGE-L and CIDEr-D. --hypotheses: a line for each image, or a table or JSON of image and
    caption. Search settings default to those saved with the model.

    Example:
      attn evaluate captions captions.tsv -m runs/cap --images photos.tar
      attn evaluate captions captions.tsv --hypotheses other.tsv
      attn evaluate captions captions.tsv -m photos --images photos.tar -s scores.attention=true
    """

    task, unit, options_of = "caption", "image", ScoredCaptionOptions
    EXAMPLE = "scores.attention=true"

    captions: Annotated[
        Path,
        typer.Argument(
            metavar="CAPTIONS",
            help="References: image, tab, caption; also token files, CSV, and the JSON of Karpathy "
            "and of COCO.",
        ),
    ]
    images: Annotated[
        Path | None, typer.Option(metavar="DIR|TAR", help="The images, which a model needs.")
    ] = None
    split: Annotated[
        Literal["train", "dev", "test"] | None,
        typer.Option(help="Split of the file, if it has several (default: test)."),
    ] = None

    def read(self, folders: Sequence[Path]) -> None:
        """Read the references, and find the images."""
        check_files([self.captions])
        part = self.split or ("test" if parts_of(self.captions) else "")
        rows = read_captions(self.captions, part=part)
        self.names = [row.image for row in rows]
        self.references = [list(row.captions) for row in rows]
        captions = sum(map(len, self.references))
        self.counts = {"images": len(rows), "references": captions}
        found = f"{counted(len(rows), 'image')}, {counted(captions, 'reference caption')}"
        self.head = f"{found} in {self.captions.name}"
        if folders:
            self.items = files_of(self.names, self.images, "--images", self.captions.name)

    def watch(self, result: CaptionedImage) -> None:
        """Raise ModelError if an image cannot be read."""
        if not result.hypotheses:
            raise ModelError(result.note)

    def of_model(self, outputs: ModelOutputs) -> System:
        """Return the captions of a model, and the scores of its attention if they are wanted."""
        system, runner, _ = outputs
        if not (self.options.scores.attention and system.read):
            return system
        label = f"scoring attention, {system.name}"
        with self.options.messages.progress(label, total=len(self.items)) as advance:
            scores = attention_scores(runner.model, self.items, advance)
        return system._replace(facts={"attention": {**scores._asdict(), "ratio": scores.ratio}})

    def of_file(self, path: Path) -> System:
        """Read the captions of another program.

        The file has one line for each image of the test set, in its order; or rows of image and
        caption in any order: a table, JSON lines or a JSON array, as ``attn caption`` writes them.
        """
        with open_text(path, as_written=True) as lines:
            rows = list(lines)
        if rows and rows[0].lstrip()[:1] in ("{", "["):
            found = _of_json(path, "\n".join(rows))
        elif rows and all("\t" in row for row in rows):
            cells = [row.split("\t") for row in rows]
            found = {cell[0]: cell[1] for cell in reversed(cells)}  # of several, the first
        elif len(rows) != len(self.names):
            raise ModelError(
                f"{path} has {counted(len(rows), 'line')}",
                f"{len(self.names):,}, one for each image of {self.captions.name}",
                "or write image, tab, caption",
            )
        else:
            return System(path.name, rows)
        alone = {last_part(name): text for name, text in found.items()}  # without folders
        captions = [found.get(name, alone.get(last_part(name))) for name in self.names]
        for name, caption in zip(self.names, captions, strict=True):
            if caption is None:
                wanted = f"one for each of {self.captions.name}"
                raise ModelError(f"{path} has no caption for {name}", wanted)
        return System(path.name, [caption or "" for caption in captions])

    def scored(self, systems: list[System]) -> list[System]:
        """Return the systems with their scores."""
        scored = []
        for system in systems:
            found = caption_scores(system.hypotheses, self.references)
            bleu = found.bleu
            values = [
                MetricScore(f"BLEU-{order}", value, bleu.signature if order == 4 else "")
                for order, value in enumerate(bleu.penalised, 1)
            ]
            values.append(MetricScore("ROUGE-L", found.rouge_l))
            values.append(MetricScore("CIDEr-D", found.cider, digits=3))
            facts = {PLAIN: bleu.plain, RATIO: bleu.length_ratio, **system.facts}
            scored.append(system._replace(scores=tuple(values), facts=facts))
        return scored

    def tables(self, systems: Sequence[System]) -> list[str]:
        """Return BLEU without brevity penalty, and the scores of the attention."""
        plain = [["without brevity penalty", *(f"BLEU-{n}" for n in range(1, 5)), "length ratio"]]
        for system in systems:
            values = [f"{value:.2f}" for value in system.facts[PLAIN]]
            plain.append([system.name, *values, f"{system.facts[RATIO]:.3f}"])
        return [columns(plain), columns(_attention_table(systems)), SCALES]


def _of_json(path: Path, text: str) -> dict[str, str]:
    """Return the caption of each image, given an array of objects or one object a line."""
    try:
        if text.lstrip().startswith("["):
            records = parse_json(text)
        else:
            records = [parse_json(row) for row in text.split("\n") if row.strip()]
        return {str(record["image"]): str(record["caption"] or "") for record in records}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(
            f"{path} has no JSON of captions ({error})",
            '{"image": name, "caption": text}, one for each image',
        ) from None


def _attention_table(systems: Sequence[System]) -> list[list[str]]:
    head = ["attention, content words", "words", "entropy/max", "lost", "lost, random", "ratio"]
    table = [[*head, "copied"]]
    for system in systems:
        if found := system.facts.get("attention"):
            row = [system.name, f"{found['words']:,}", f"{found['entropy']:.1%}"]
            row += [f"{found[name]:.3f}" for name in ("attended", "random")]
            copied = found["copied"]
            table.append([*row, f"{found['ratio']:.2f}", "" if copied is None else f"{copied:.1%}"])
    return table if len(table) > 1 else []

"""``attn evaluate captions``: scores of captions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from attncli.caption.attention import attention_scores
from attncli.caption.runner import OF_TEXTS, CaptionOptions
from attncli.caption.writers import CaptionedImage
from attncli.data.captions import parts_of, read_captions
from attncli.data.lines import open_text
from attncli.data.named_files import find_images, last_part, open_images
from attncli.data.streams import check_files, write_stdout
from attncli.jobs.evaluate import evaluated
from attncli.options import shared
from attncli.options.settings import SetOption
from attncli.render.rows import columns, scores_as_json, scores_as_text
from attncli.scoring.captions import CaptionScores, caption_scores
from attncli.scoring.score import MetricScore, System
from attncli.terminal import console
from attncli.terminal.messages import counted
from models.core.errors import ModelError
from models.core.settings import option, parse_json

if TYPE_CHECKING:
    pass


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


class CaptionSet(NamedTuple):
    """Images and their reference captions."""

    name: str
    images: list[str]  # names in the file of captions
    references: list[list[str]]


def _captioned(
    folders: Sequence[Path],
    test_set: CaptionSet,
    images: Path,
    options: ScoredCaptionOptions,
    save: Path | None,
) -> Iterator[System]:
    """Caption with each model; raise ModelError if an image cannot be read."""
    files = find_images(test_set.images, open_images(images), test_set.name) if folders else []

    def watch(result: CaptionedImage) -> None:
        if not result.hypotheses:
            raise ModelError(result.note)

    names = test_set.images
    for system, runner, _ in evaluated(
        "caption", folders, files, options, save=save, names=names, watch=watch
    ):
        facts = {}
        if options.scores.attention and system.read:
            label = f"scoring attention, {system.name}"
            with options.messages.progress(label, total=len(files)) as advance:
                scores = attention_scores(runner.model, files, advance)
            facts["attention"] = {**scores._asdict(), "ratio": scores.ratio}
        yield system._replace(facts=facts)


def read_caption_system(path: Path, test: CaptionSet) -> System:
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
    elif len(rows) != len(test.images):
        raise ModelError(
            f"{path} has {counted(len(rows), 'line')}",
            f"{len(test.images):,}, one for each image of {test.name}",
            "or write image, tab, caption",
        )
    else:
        return System(path.name, rows)
    return System(path.name, _by_name(path, found, test))


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


def _by_name(path: Path, found: dict[str, str], test: CaptionSet) -> list[str]:
    """Return the captions in the order of the test set; names match with or without folders."""
    alone = {last_part(name): text for name, text in found.items()}
    captions = []
    for image in test.images:
        caption = found.get(image, alone.get(last_part(image)))
        if caption is None:
            raise ModelError(f"{path} has no caption for {image}", f"one for each of {test.name}")
        captions.append(caption)
    return captions


PLAIN, RATIO = "bleu_without_brevity_penalty", "length_ratio"  # facts of a system
SCALES = (
    "BLEU-1 to BLEU-4 and ROUGE-L are in percent; CIDEr-D is as the COCO tools give it "
    "(some papers write it times 100).\n"
)


def caption_scores_as(systems: Sequence[System], test: CaptionSet, *, json: bool = False) -> str:
    """Return the scores, BLEU without brevity penalty and scores of the attention."""
    captions = sum(map(len, test.references))
    if json:
        counts = {"images": len(test.images), "references": captions}
        return scores_as_json(counts, systems, "images")
    images, references = counted(len(test.images), "image"), counted(captions, "reference caption")
    plain = [["without brevity penalty", *(f"BLEU-{n}" for n in range(1, 5)), "length ratio"]]
    for system in systems:
        values = [f"{value:.2f}" for value in system.facts[PLAIN]]
        plain.append([system.name, *values, f"{system.facts[RATIO]:.3f}"])
    tables = [columns(plain), columns(_attention_table(systems)), SCALES]
    head = f"{images}, {references} in {test.name}"
    return scores_as_text(head, systems, "images", tables)


def _scored(system: System, scores: CaptionScores) -> System:
    """Return a system with its scores."""
    bleu = scores.bleu
    values = [
        MetricScore(f"BLEU-{order}", value, bleu.signature if order == 4 else "")
        for order, value in enumerate(bleu.penalised, 1)
    ]
    values.append(MetricScore("ROUGE-L", scores.rouge_l))
    values.append(MetricScore("CIDEr-D", scores.cider, digits=3))
    facts = {PLAIN: bleu.plain, RATIO: bleu.length_ratio, **system.facts}
    return system._replace(scores=tuple(values), facts=facts)


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


Captions = Annotated[
    Path,
    typer.Argument(
        metavar="CAPTIONS",
        help="References: image, tab, caption; also token files, CSV, and the JSON of Karpathy "
        "and of COCO.",
    ),
]
Images = Annotated[
    Path | None, typer.Option(metavar="DIR|TAR", help="The images, which a model needs.")
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
Set = Annotated[list[str] | None, SetOption(ScoredCaptionOptions, example="scores.attention=true")]


def captions(
    captions: Captions,
    *,
    model: shared.ScoredModels = None,
    images: Images = None,
    hypotheses: Hypotheses = None,
    split: Split = None,
    save: shared.Save = None,
    json: shared.Json = False,
    device: shared.Device = "auto",
    threads: shared.Threads = 0,
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
    folders = shared.folders_of(model, hypotheses, "caption")
    options = ScoredCaptionOptions.of_command(locals(), messages=console)
    shared.check_save(folders, save)
    if folders and not images:
        raise typer.BadParameter("a model needs the images", param_hint="'--images'")
    check_files([captions])
    rows = read_captions(captions, part=split or ("test" if parts_of(captions) else ""))
    references = [list(row.captions) for row in rows]
    test_set = CaptionSet(captions.name, [row.image for row in rows], references)
    others = [read_caption_system(path, test_set) for path in hypotheses or ()]
    found = _captioned(folders, test_set, images, options, save) if images else ()
    systems = [
        _scored(each, caption_scores(each.hypotheses, references)) for each in (*found, *others)
    ]
    write_stdout(caption_scores_as(systems, test_set, json=json))

"""Writers of caption scores: tables for a person, JSON for a program."""

from __future__ import annotations

from collections.abc import Sequence

from attncli.data.json import as_json
from attncli.render.columns import columns, read_modes, speed_cells
from attncli.tasks.caption.evaluation import CaptionEvaluation, CaptionSet
from attncli.terminal.messages import counted

SCALES = (
    "BLEU-1 to BLEU-4 and ROUGE-L are in percent; CIDEr-D is as the COCO tools give it "
    "(some papers write it times 100)."
)


def caption_scores_as_text(evaluations: Sequence[CaptionEvaluation], test: CaptionSet) -> str:
    """Return a table of scores, a table of BLEU without brevity penalty, and the read modes."""
    captions = sum(map(len, test.references))
    bleu = evaluations[0].scores.bleu
    parts = [
        f"{counted(len(test.images), 'image')}, "
        f"{counted(captions, 'reference caption')} in {test.name}\n",
        columns(_score_table(evaluations)),
        columns(_plain_table(evaluations)),
        columns(_attention_table(evaluations)),
        f"{SCALES}\nBLEU  {bleu.signature}\n",
        read_modes((each.system.name, each.system.read) for each in evaluations),
    ]
    return "\n".join(part for part in parts if part)


def caption_scores_as_json(evaluations: Sequence[CaptionEvaluation], test: CaptionSet) -> str:
    """Return an object with one entry for each system."""
    record = {
        "images": len(test.images),
        "references": sum(map(len, test.references)),
        "systems": [_record(evaluation) for evaluation in evaluations],
    }
    return as_json(record)


def _score_table(evaluations: Sequence[CaptionEvaluation]) -> list[list[str]]:
    timed = any(system.seconds for system, _ in evaluations)
    head = ["", *(f"BLEU-{n}" for n in range(1, 5)), "ROUGE-L", "CIDEr-D"]
    table = [head + ["seconds", "images/s"] * timed]
    for system, scores in evaluations:
        row = [system.name, *map(_percent, scores.bleu.penalised), _percent(scores.rouge_l)]
        row += [f"{scores.cider:.3f}"]
        table.append(row + speed_cells(len(system.captions), system.seconds) * timed)
    return table


def _plain_table(evaluations: Sequence[CaptionEvaluation]) -> list[list[str]]:
    table = [["without brevity penalty", *(f"BLEU-{n}" for n in range(1, 5)), "length ratio"]]
    for system, scores in evaluations:
        ratio = f"{scores.bleu.length_ratio:.3f}"
        table.append([system.name, *map(_percent, scores.bleu.plain), ratio])
    return table


def _attention_table(evaluations: Sequence[CaptionEvaluation]) -> list[list[str]]:
    head = ["attention, content words", "words", "entropy/max", "lost", "lost, random", "ratio"]
    table = [[*head, "copied"]]
    for system, _ in evaluations:
        if found := system.attention:
            row = [system.name, f"{found.words:,}", f"{found.entropy:.1%}"]
            row += [f"{found.attended:.3f}", f"{found.random:.3f}", f"{found.ratio:.2f}"]
            table.append([*row, "" if found.copied is None else f"{found.copied:.1%}"])
    return table if len(table) > 1 else []


def _percent(value: float) -> str:
    return f"{value:.2f}"


def _record(evaluation: CaptionEvaluation) -> dict[str, object]:
    system, scores = evaluation
    record: dict[str, object] = {
        "name": system.name,
        "bleu": scores.bleu.penalised,
        "bleu_without_brevity_penalty": scores.bleu.plain,
        "length_ratio": scores.bleu.length_ratio,
        "bleu_signature": scores.bleu.signature,
        "rouge_l": scores.rouge_l,
        "cider_d": scores.cider,
    }
    if system.attention:
        record["attention"] = {**system.attention._asdict(), "ratio": system.attention.ratio}
    if system.read:
        record["read"] = system.read
    if system.seconds:
        record["seconds"] = round(system.seconds, 3)
        record["images_per_second"] = round(len(system.captions) / system.seconds, 3)
    return record

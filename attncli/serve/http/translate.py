"""POST /translate: LibreTranslate's protocol; `alignments`, `heads` and `model` are additions.

POST /align: which words of a text and of its translation belong together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from attncli.data.lines import TranslatedLine
from attncli.data.panels import AlignedPair
from attncli.documents.document import LINE_END
from attncli.serve.catalogue import ServedDirection
from attncli.serve.http.documents import translated_html
from attncli.serve.http.media import AUTO, Detected, recognised
from attncli.serve.models import AlignJob, TranslateJob
from attncli.serve.requests import Parameters, RequestError, invalid
from attncli.serve.service import Call, call_of
from attncli.tags.checks import NAMES
from models.text.languages import Term

MOST_ALTERNATIVES = 20
FORMATS = ("text", "html")


class Wanted(NamedTuple):
    """The outputs that a client requests for each text."""

    alternatives: int
    html: bool
    weights: bool
    heads: bool
    notes: bool
    model: str
    terms: tuple[Term, ...]
    read_mode: str


class Translated(NamedTuple):
    """The answer for one text."""

    text: str
    alternatives: list[str]
    alignments: list[dict[str, Any]]  # one for each line
    notes: list[str]  # what the client should know about the text
    checks: list[dict[str, str]]  # that the best output fails: name, found


async def translate(request: Request) -> Response:
    """Translate a text or a list of texts."""
    call = await call_of(request)
    given, texts = call.given, call.texts()
    wanted = _wanted(given)
    known = partial(call.service.catalogue.language, model=wanted.model)
    source, target = known(given.text("source")), known(given.text("target"))
    languages = await _sources(call, texts, source, target, wanted.model)
    found = [Translated(text, [], [], [], []) for text in texts]  # in the target language already
    for language in {one.language for one in languages} - {target}:
        direction = call.service.catalogue.direction(language, target, wanted.model)
        numbers = [n for n, one in enumerate(languages) if one.language == language]
        translated = _of_html if wanted.html else _of_lines
        results = await translated(call, [texts[n] for n in numbers], direction, wanted)
        for n, result in zip(numbers, results, strict=True):
            found[n] = result
    columns = _columns(found, languages if source == AUTO else [], wanted)
    return JSONResponse(
        {name: values if call.is_list else values[0] for name, values in columns.items()}
    )


async def align(request: Request) -> Response:
    """Align a text `q` with its `translation`, or a list with a list."""
    call = await call_of(request)
    given, texts = call.given, call.texts()
    translations = given.texts("translation")
    if len(texts) != len(translations):
        raise invalid(f"{len(texts)} texts and {len(translations)} translations")
    call.service.check_length([*texts, *translations])
    direction = call.service.catalogue.direction(
        given.text("source"), given.text("target"), given.text("model", "")
    )
    sides = [[" ".join(text.split()) for text in side] for side in (texts, translations)]
    job = AlignJob(direction.languages, given.flag("heads"), given.read_mode())
    found = await call.run(direction.model, job, list(zip(*sides, strict=True)))
    return call.answer([alignment(pair) for pair in found])


def _wanted(given: Parameters) -> Wanted:
    format = given.text("format", "text")
    if format not in FORMATS:
        raise RequestError(400, f"{format[:40]} format is not supported")
    heads = given.flag("heads")
    if format == "html" and (heads or given.flag("alignments")):
        raise RequestError(400, "alignments are of texts; send them without format=html")
    return Wanted(
        given.number("alternatives", 0, MOST_ALTERNATIVES),
        format == "html",
        heads or given.flag("alignments"),
        heads,
        given.flag("notes"),
        given.text("model", ""),
        given.terms("glossary"),
        given.read_mode(),
    )


async def _sources(
    call: Call, texts: list[str], source: str, target: str, model: str
) -> list[Detected]:
    """Return the source language of each text. Raises RequestError for an impossible direction."""
    known = call.service.catalogue.directions(model)
    if source != AUTO:
        if source != target or not any(source in pair for pair in known):
            call.service.catalogue.direction(source, target, model)
        return [Detected(source, 100.0)] * len(texts)
    if not any(target in pair for pair in known):
        raise RequestError(400, f"{target[:40]} is not supported")
    candidates = {pair[0] for pair in known if pair[1] == target} | {target}
    return await recognised(call, texts, candidates)


async def _of_html(
    call: Call, texts: Sequence[str], direction: ServedDirection, wanted: Wanted
) -> list[Translated]:
    nbest = 1 + wanted.alternatives
    found = await translated_html(call, texts, direction, nbest, wanted.terms, wanted.read_mode)
    return [Translated(outputs[0], outputs[1:], [], [], []) for outputs in found]


async def _of_lines(
    call: Call, texts: Sequence[str], direction: ServedDirection, wanted: Wanted
) -> list[Translated]:
    """Translate texts line by line."""
    job = TranslateJob(
        direction.languages,
        1 + wanted.alternatives,
        weights=wanted.weights,
        heads=wanted.heads,
        terms=wanted.terms,
        read_mode=wanted.read_mode,
    )
    ends = [LINE_END.findall(text) for text in texts]
    lines = [line for text in texts for line in LINE_END.split(text)]
    results = iter(await call.run(direction.model, job, lines))
    found = [[next(results) for _ in range(len(each) + 1)] for each in ends]
    return [_joined(text, each, job.nbest) for text, each in zip(found, ends, strict=True)]


def _joined(outcomes: Sequence[TranslatedLine], ends: Sequence[str], nbest: int) -> Translated:
    """Return the answer for a text from the outcomes of its lines."""
    outputs = [
        "".join(output(one, rank) + end for one, end in zip(outcomes, [*ends, ""], strict=True))
        for rank in range(nbest)
    ]
    pairs = [pair for outcome in outcomes for pair in outcome.alignments[:1]]
    notes = list(dict.fromkeys(note for outcome in outcomes for note in _notes(outcome)))
    others = list(dict.fromkeys(output for output in outputs[1:] if output != outputs[0]))
    checks = [check._asdict() for outcome in outcomes for check in outcome.checks]
    return Translated(outputs[0], others, [*map(alignment, pairs)], notes, checks)


def _notes(outcome: TranslatedLine) -> Iterator[str]:
    """Yield what the model could not do with a line."""
    if outcome.foreign:
        yield "The model knows none of the letters."
    if outcome.lost:
        yield f"The output lacks {' '.join(outcome.lost)}, which the model does not know."
    if outcome.translation and outcome.translation.hypotheses[0].truncated:
        yield "The output was cut at its length limit."
    for check in outcome.checks:
        yield f"The output has {NAMES[check.name]}: {check.found}."


def _columns(
    found: Sequence[Translated], languages: Sequence[Detected], wanted: Wanted
) -> dict[str, list[Any]]:
    """Return the columns of the answer. languages: those that were detected."""
    columns: dict[str, list[Any]] = {"translatedText": [one.text for one in found]}
    if languages:
        columns["detectedLanguage"] = [one.record() for one in languages]
    if wanted.alternatives:
        columns["alternatives"] = [one.alternatives for one in found]
    if wanted.notes:
        columns["notes"] = [one.notes for one in found]
        columns["checks"] = [one.checks for one in found]
    if wanted.weights:
        columns["alignments"] = [one.alignments for one in found]
    return columns


def output(outcome: TranslatedLine, rank: int = 0) -> str:
    """Return an output of a line; its last one if it has fewer. Raises RequestError without any."""
    if outcome.translation is None:
        raise invalid(outcome.note)
    hypotheses = outcome.translation.hypotheses
    return hypotheses[min(rank, len(hypotheses) - 1)].text


def alignment(pair: AlignedPair) -> dict[str, Any]:
    """Return words, links and weights (J, I); if computed also those of heads (L, H, J, I).

    source_heads (L, H, I, I) and target_heads (L, H, J, J) are self-attention. shown: the layer and
    head of `weights`.
    """
    panel = pair.panels[0]
    found: dict[str, Any] = {
        "source": list(pair.source),
        "target": list(pair.target),
        "links": sorted(map(list, panel.links)),
    }
    if panel.weights is not None:
        found["weights"] = panel.weights.astype(float).round(3).tolist()
    if panel.shown:
        found["shown"] = panel.shown
    for name in ("heads", "source_heads", "target_heads"):
        if (weights := getattr(panel, name)) is not None:
            found[name] = weights.astype(float).round(3).tolist()
    if pair.note:
        found["note"] = pair.note
    return found

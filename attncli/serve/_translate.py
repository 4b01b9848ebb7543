"""POST /translate: LibreTranslate's protocol; `alignments`, `heads` and `model` are additions.

POST /alternatives: the words that a translation can go on with.
POST /align: which words of a text and of its translation belong together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from attncli.faithful.checks import NAMES
from attncli.faithful.pieces import LINE_END
from attncli.faithful.result import Line, TranslatedLine, text_line
from attncli.faithful.steer import divided_steering
from attncli.render.alignment import entries_of
from attncli.serve._labels import AUTO, Detected, recognised
from attncli.serve._requests import RequestError, invalid
from attncli.serve._service import Call, call_of
from attncli.serve.models import Job
from attncli.task.panels import AlignedPair
from attncli.task.runner import JsonObject
from attncli.translate.chunks import joined
from models.core.annexes import entries, find_part

MAX_ALTERNATIVES = 20
WORDS_SHOWN, MAX_WORDS = 8, 20  # of /alternatives
# characters of a line times those of its translation, of all lines; with every head, HEADS times
MAX_WEIGHTS, HEADS = 16_000_000, 8
FORMATS = ("text", *entries("service text"))
WORDS = ("align.units=word",)  # also of a model that saves other units

EMPTY: JsonObject = {"alternatives": [], "alignments": [], "notes": [], "checks": [], "memory": ""}
EMPTY |= {"confidence": None, "doubtful": []}


async def translate(request: Request) -> Response:
    """Translate a text or a list of texts."""
    call = await call_of(request)
    given, texts = call.given, call.texts()
    job, model = _job(call), given.text("model", "")
    heads: bool = job.options.heads
    if job.weights:
        lines = [line for text in texts for line in LINE_END.split(text)]
        _check_weights(heads, lines, lines)
    source, target = _languages(call)
    languages = await _sources(call, texts, source, target, model)
    found = [EMPTY | {"translatedText": text} for text in texts]  # in the target language already
    for language in {one.language for one in languages} - {target}:
        direction = call.service.catalogue.direction(language, target, model)
        numbers = [n for n, one in enumerate(languages) if one.language == language]
        own = job.in_direction(direction.languages)
        html = find_part("service text", "html")
        translated = html if own.options.document else _translated
        if given.values.get("prefix") or given.looks():
            translated = _steered
        results = await translated(call, direction.model, own, [texts[n] for n in numbers])
        for n, result in zip(numbers, results, strict=True):
            found[n] = EMPTY | result
    for record, one in zip(found, languages, strict=True):
        record["detectedLanguage"] = one.record()
    shown = _shown(call, job, found) | {"detectedLanguage": source == AUTO}
    columns = {
        name: [record[name] for record in found] for name, is_shown in shown.items() if is_shown
    }
    return JSONResponse(
        {name: values if call.is_list else values[0] for name, values in columns.items()}
    )


def _shown(call: Call, job: Job, found: Sequence[JsonObject]) -> dict[str, bool]:
    """Return which fields the answer has, by name."""
    notes = call.given.flag("notes")
    is_judged = any(record["confidence"] is not None for record in found)
    return {
        "translatedText": True,
        "detectedLanguage": True,
        "alternatives": job.options.search.nbest > 1,
        "notes": notes,
        "checks": notes or any(record["checks"] for record in found),
        "alignments": job.weights,
        "memory": bool(job.options.memory),
        "confidence": is_judged,
        "doubtful": is_judged and notes,
    }


async def alternatives(request: Request) -> Response:
    """Return the words that the translation of a text can go on with behind a prefix."""
    call = await call_of(request)
    given, model = call.given, call.given.text("model", "")
    count = max(1, given.number("n", WORDS_SHOWN, MAX_WORDS))
    [language] = await _sources(call, [_one_text(call)], *_languages(call), model)
    target = call.service.catalogue.language(given.text("target"), model)
    direction = call.service.catalogue.direction(language.language, target, model)
    job = call.job("translate", settings=(call.address,))._replace(words=count)
    lines = _lines(call)
    line = lines[min(len(LINE_END.findall(given.text("prefix", ""))), len(lines) - 1)]
    [found] = await call.run(direction.model, job.in_direction(direction.languages), [line])
    words = [{"word": one.word, "probability": round(one.probability, 5)} for one in found]
    return JSONResponse({"alternatives": words})


def _languages(call: Call) -> tuple[str, str]:
    """Return the codes of source and target language that a client gives."""
    known = partial(call.service.catalogue.language, model=call.given.text("model", ""))
    return known(call.given.text("source")), known(call.given.text("target"))


def _one_text(call: Call) -> str:
    """Return the text `q`. Raises RequestError for several, and for HTML, which are not steered."""
    texts = call.texts()
    if len(texts) > 1 or call.is_list or call.given.text("format", "text") != "text":
        raise invalid("prefix and look are for one text q, which is no list and no HTML")
    return texts[0]


def _lines(call: Call) -> list[Line]:
    """Return the lines of the text `q`, each with its part of the prefix and its looks."""
    text, prefix = _one_text(call), call.given.text("prefix", "")
    call.service.check_length([prefix])
    whole = text_line(1, text)._replace(prefix=prefix, looks=call.given.looks())
    parts = divided_steering(whole, LINE_END.split(text))
    return [line._replace(number=number) for number, line in enumerate(parts, 1)]


async def _steered(call: Call, model: str, job: Job, texts: Sequence[str]) -> list[JsonObject]:
    """Translate the one text `q`, whose output is steered."""
    found = await call.run(model, job, _lines(call))
    return [_joined(found, LINE_END.findall(texts[0]))]


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
    heads = given.flag("heads")
    job = call.job("align", settings=WORDS, heads=heads, weights=heads)
    _check_weights(heads, *sides)
    pairs = list(zip(*sides, strict=True))
    found = await call.run(direction.model, job.in_direction(direction.languages), pairs)
    return call.answer([alignment(pair) for pair in found])


def _check_weights(heads: bool, lines: list[str], others: list[str]) -> None:
    """Raise RequestError for texts with too many weights between their words."""
    cells = sum(len(line) * len(other) for line, other in zip(lines, others, strict=True))
    if cells * (HEADS if heads else 1) > MAX_WEIGHTS:
        raise invalid("the lines are too long for alignments; divide the text into shorter lines")


def _job(call: Call) -> Job:
    """Return the options that a client gives, still without languages."""
    given = call.given
    format = given.text("format", "text")
    if format not in FORMATS:
        raise RequestError(400, f"{format[:40]} format is not supported")
    heads = given.flag("heads")
    weights = heads or given.flag("alignments")
    if format == "html" and weights:
        raise RequestError(400, "alignments are of texts; send them without format=html")
    return call.job(
        "translate",
        weights=weights,
        settings=(*WORDS, call.address),
        nbest=1 + given.number("alternatives", 0, MAX_ALTERNATIVES),
        document=format == "html",
        heads=heads,
        glossary=call.terms(),
        memory=call.terms("memory"),
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


async def _translated(call: Call, model: str, job: Job, texts: Sequence[str]) -> list[JsonObject]:
    """Translate texts line by line."""
    ends = [LINE_END.findall(text) for text in texts]
    lines = [line for text in texts for line in LINE_END.split(text)]
    results = iter(await call.run(model, job, lines))
    found = [[next(results) for _ in range(len(each) + 1)] for each in ends]
    return [_joined(text, each) for text, each in zip(found, ends, strict=True)]


def _joined(outcomes: Sequence[TranslatedLine], ends: Sequence[str]) -> JsonObject:
    """Return the answer for a text from the outcomes of its lines."""
    whole = joined(text_line(1, ""), ends, outcomes)
    if whole.translation is None:
        raise invalid(whole.note)
    first, *others = dict.fromkeys(one.text for one in whole.hypotheses)
    return {
        "translatedText": first,
        "alternatives": others,
        "alignments": [alignment(p) for outcome in outcomes for p in outcome.alignments[:1]],
        **doubts(outcomes),
        "memory": whole.memory,
    }


def doubts(outcomes: Sequence[TranslatedLine]) -> JsonObject:
    """Return the notes about the lines of a text, failed checks, confidence and doubtful words."""
    known = [round(one.confidence.value, 4) for one in outcomes if one.confidence]
    return {
        "notes": list(dict.fromkeys(note for outcome in outcomes for note in _notes(outcome))),
        "checks": [check._asdict() for outcome in outcomes for check in outcome.checks],
        "confidence": min(known, default=None),
        "doubtful": [word for one in outcomes for part in one.doubts for word in part.words],
    }


def _notes(outcome: TranslatedLine) -> Iterator[str]:
    """Yield what the model could not do with a line."""
    if outcome.foreign:
        yield "The model knows none of the letters."
    if outcome.lost:
        yield f"The output lacks {' '.join(outcome.lost)}, which the model does not know."
    if outcome.translation and outcome.translation.hypotheses[0].truncated:
        yield "The output was cut at its length limit."
    if outcome.confidence and (why := outcome.doubt):
        yield f"Perhaps another sense ({outcome.confidence.value:.0%} certain): {why}."
    for check in outcome.checks:
        yield f"The output has {NAMES[check.name]}: {check.found}."


def alignment(pair: AlignedPair) -> JsonObject:
    """Return words, links and weights (J, I); if computed also those of heads (L, H, J, I).

    source_heads (L, H, I, I) and target_heads (L, H, J, J) are self-attention. shown: the layer and
    head of `weights`.
    """
    panel = pair.panels[0]
    found: JsonObject = {
        "source": list(pair.source),
        "target": list(pair.target),
        "links": sorted(map(list, panel.links)),
    }
    if (table := panel.table) is not None:
        found["weights"] = table.astype(float).round(3).tolist()
    if panel.shown:
        found["shown"] = panel.shown
    for name in ("heads", "source_heads", "target_heads"):
        if (weights := getattr(panel, name)) is not None:
            found[name] = weights.astype(float).round(3).tolist()
    if pair.note:
        found["note"] = pair.note
    return found | entries_of(panel.entries)

"""Explanations of lines: a text, a pair of a text and its translation, or the path of an image."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import torch

from attncli.data.corpus import pair_of
from attncli.data.lines import input_chunks
from attncli.data.named_files import listed_images
from attncli.faithful.result import Line, TranslatedLine
from attncli.jobs import loading
from attncli.render.image_maps import AttentionMaps
from attncli.translate.engine import TranslateOptions
from attncli.translate.runner import TranslateRunner
from models.alignment.weights import encode, encoded_translation
from models.core.errors import InputError, ModelError, NotFoundError
from models.engines.captioner import Captioner
from models.engines.classifier import Classifier
from models.engines.transcriber import Transcriber
from models.engines.translator import Translator
from models.explain import ExplainOptions
from models.explain.explanation import (
    Explanation,
    OutputWords,
    explain_caption,
    explain_label,
    explain_pair,
    explain_transcript,
    joined,
)
from models.signals.images import open_image, to_square
from models.signals.sound_features import log_mel
from models.storage.settings import task_of


class ExplainedLine(NamedTuple):
    """A line with its explanation."""

    line: Line  # of an image: its path
    output: str = ""  # translation, label or caption
    explanation: Explanation | None = None  # None for an empty line, or `note` says why
    maps: AttentionMaps | None = None  # of an image: a map for each word and method
    note: str = ""  # why there is no explanation; empty for an empty line
    remark: str = ""  # about an output without words


Explain = Callable[[Line], ExplainedLine]
ReadLines = Callable[[BinaryIO], Iterator[list[Line]]]


def open_explainer(
    folder: Path, opening: TranslateOptions, options: ExplainOptions
) -> tuple[Explain, ReadLines]:
    """Open the model of a folder; return how it explains a line, and how lines are read."""
    task = task_of(loading.readable(folder))
    if opening.to and task in ("classify", "caption", "transcribe"):
        raise ModelError(
            f"--to {opening.to} with {folder.name}, which does not translate",
            "a model that translates",
            "leave out --to",
        )
    if task == "classify":
        classifier = loading.open_model("classify", folder, opening)
        return _guarded(lambda line: of_label(classifier, line, options)), input_chunks
    if task == "caption":
        captioner = loading.open_model("caption", folder, opening)
        return _guarded(lambda line: of_caption(captioner, line, options)), image_lines
    if task == "transcribe":
        transcriber = loading.open_model("transcribe", folder, opening)
        return _guarded(lambda line: of_transcript(transcriber, line, options)), image_lines
    runner = TranslateRunner.open([folder], opening)
    return _guarded(lambda line: of_pair(runner, line, options)), input_chunks


def of_pair(runner: TranslateRunner, line: Line, options: ExplainOptions) -> ExplainedLine:
    """Explain a translation: that of the line, or that of `attn translate` if the line has none."""
    pair, [translator] = pair_of(line), runner.in_torch
    if not pair.fault:
        encoded = encode(translator, pair.source, pair.target)
        return ExplainedLine(line, pair.target, explain_pair(translator, encoded, options))
    [[found]] = runner.run([[line]])
    if not found.text.strip():
        return empty_output(line, "translation")
    if not found.parts:
        return ExplainedLine(line, found.text, remark=f"line {line.number} is copied")
    return ExplainedLine(line, found.text, of_parts(translator, found, options))


def of_parts(translator: Translator, found: TranslatedLine, options: ExplainOptions) -> Explanation:
    """Explain a translation in the parts in which it was made.

    The words are those of the line and its output, not what the model reads and writes for them.
    """
    pairs = [
        (_restored(part.source, own), _restored(part.text, own, output=True))
        for part, own in zip(found.parts, found.stand_ins, strict=True)
    ]
    source = _as_in([word for words, _ in pairs for word in words], found.line.text)
    target = _as_in([word for _, words in pairs for word in words], found.text)
    OutputWords(tuple(target), torch.zeros(len(target), 0)).chosen(options.word)
    explained, at, start = [], 0, 0
    for part, (words, written) in zip(found.parts, pairs, strict=True):
        end, behind = at + len(written), start + len(words)
        if written and (not options.word or at < options.word <= end):
            own = options._replace(word=options.word and options.word - at)
            one = explain_pair(translator, encoded_translation(translator, part), own)
            shown = target[options.word - 1 : options.word] if options.word else target[at:end]
            explained.append(one._replace(source=tuple(source[start:behind]), target=tuple(shown)))
        at, start = end, behind
    return joined(explained)


def _restored(
    text: str, stand_ins: Sequence[tuple[str, str, str]], *, output: bool = False
) -> list[str]:
    """Return the words of a text as the model has it, with the protected parts in their places."""
    words = text.split()
    for stand_in, raw, shown in stand_ins:
        words = [word.replace(stand_in, shown if output else raw) for word in words]
    return words


def _as_in(words: list[str], text: str) -> list[str]:
    """Return words as a text has them, in its case, if it has as many."""
    known = text.split()
    for same in (known, [word for word in known if any(map(str.isalnum, word))]):
        if len(same) == len(words):
            return same
    return words


def of_label(classifier: Classifier, line: Line, options: ExplainOptions) -> ExplainedLine:
    """Explain the most probable label of a line."""
    found = explain_label(classifier, line.text, options)
    return ExplainedLine(line, found.target[0], found)


def of_caption(captioner: Captioner, line: Line, options: ExplainOptions) -> ExplainedLine:
    """Explain the caption of an image; the line is its path."""
    config = captioner.config.image
    opened = open_image(Path(line.text), name=line.text, least=config.size)
    image = to_square(opened, config)
    best = captioner.caption([image])[0].hypotheses[0]
    if not best.text.strip():
        return empty_output(line, "caption")
    found = explain_caption(captioner, image, best.ids, options)
    maps = maps_of(line.text, image, found, captioner) if found.rows else None
    return ExplainedLine(line, best.text, found, maps)


def of_transcript(transcriber: Transcriber, line: Line, options: ExplainOptions) -> ExplainedLine:
    """Explain the transcript of a recording of one piece; the line is its path."""
    if transcriber.config.audio.padded:
        raise InputError(
            f"{line.text} for Whisper",
            "a model of speech that `attn train` made",
            "`attn transcribe --picture` draws its attention",
        )
    pieces = list(islice(transcriber.pieces(Path(line.text)), 2))
    if len(pieces) != 1:
        raise InputError(
            f"{line.text}, of several pieces", f"at most {transcriber.longest_piece:g} seconds"
        )
    features = log_mel(pieces[0].samples, transcriber.config.audio)
    [[best, *_]] = transcriber.outputs([features])
    if not best.text.strip():
        return empty_output(line, "transcript")
    return ExplainedLine(
        line, best.text, explain_transcript(transcriber, features, best.ids, options)
    )


def empty_output(line: Line, what: str) -> ExplainedLine:
    """Return the result for an output without words."""
    return ExplainedLine(line, remark=f"line {line.number}: the {what} is empty")


def maps_of(name: str, image: Any, found: Explanation, captioner: Captioner) -> AttentionMaps:
    """Return a map for each word and method: the positive relevances, which sum to 1."""
    words = tuple(f"{word} ({row.method})" for word in found.target for row in found.rows)
    values = torch.stack([row.values for row in found.rows], 1).flatten(0, 1).clamp_min(0)
    shares = values / values.sum(1, keepdim=True).clamp_min(1e-12)  # (W, I)
    entropy = (-torch.special.xlogy(shares, shares).sum(1)).clamp_min(0)
    grid = captioner.encoder.grid
    drawn = shares.unflatten(1, grid).numpy()
    return AttentionMaps(
        name,
        image,
        words,
        maps=drawn,
        gates=None,
        entropy=entropy.numpy(),
        read=captioner.read_mode,
    )


def image_lines(stream: BinaryIO) -> Iterator[list[Line]]:
    """Yield the paths of images in a stream."""
    number = 0
    for files in listed_images(stream):
        yield [Line(n, file.name, fault=file.fault) for n, file in enumerate(files, number + 1)]
        number += len(files)


def _guarded(explain: Explain) -> Explain:
    """Return a function that turns the faults of a line into notes."""

    def guarded(line: Line) -> ExplainedLine:
        if line.fault:
            return ExplainedLine(line, note=f"line {line.number} is {line.fault}; not explained")
        if not line.text.strip():
            return ExplainedLine(line)
        try:
            return explain(line)
        except (InputError, NotFoundError) as error:
            return ExplainedLine(line, note=f"line {line.number}: {error}")

    return guarded

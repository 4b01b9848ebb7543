"""Explanations of lines: a text, a pair of a text and its translation, or the path of a file.

They are written as text with heat maps or as JSON lines; see docs/explain.md. A heat map has a row
for each method. A cell is the share of the largest relevance of the row; negative ones are 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import torch
from torch import Tensor

from attncli.caption.runner import CaptionRunner
from attncli.classify.runner import ClassifyRunner
from attncli.data.corpus import pair_of
from attncli.data.named_files import listed_images
from attncli.data.streams import as_json_line
from attncli.explain._options import ExplainedOptions
from attncli.faithful.result import Line, TranslatedLine, text_line
from attncli.options import loading
from attncli.options.settings import Options
from attncli.render.alignment import entries_of, heat_maps
from attncli.render.image_maps import AttentionMaps, maps_as_text
from attncli.render.rows import columns
from attncli.task.panels import AlignedPair
from attncli.task.runner import AnyRunner, JsonObject, Models, Runner
from attncli.task.table import find_runner
from attncli.terminal.messages import Screen, current_screen, printable
from attncli.translate.runner import TranslateRunner
from models.alignment.weights import encode, encoded_translation
from models.core.annexes import need_part
from models.core.errors import ConfigurationError, InputError, ModelError, NotFoundError
from models.explain import ExplainOptions
from models.explain.explanation import (
    Explanation,
    Measure,
    OutputWords,
    explain_caption,
    explain_label,
    explain_pair,
    joined,
)
from models.explain.methods import TOLERANCE
from models.signals.images import in_shape, open_image, to_square
from models.storage.settings import task_of
from models.text.alignment import Alignment, labelled

if TYPE_CHECKING:
    from PIL.Image import Image

    from models.engines.captioner import Captioner
    from models.engines.translator import Translator

DIGITS = 4
LOSS = "comprehensiveness"
CLEAR, MIN_GAIN = 2.0, 0.1  # an explanation is trusted from so many times random and this value on
KEY = "share of the largest relevance of a method"
REFERENCE = "erasure"  # method that the others are correlated with in text


class ExplainedLine(NamedTuple):
    """A line with its explanation."""

    line: Line  # of an image: its path
    output: str = ""  # translation, label or caption
    explanation: Explanation | None = None  # None for an empty line, or `note` says why
    maps: AttentionMaps | None = None  # of an image: a map for each word and method
    note: str = ""  # why there is no explanation; empty for an empty line
    remark: str = ""  # about an output without words


class ExplainRunner(Runner[Line, ExplainedLine, AnyRunner, ExplainedOptions]):
    """Explains the outputs of `model`, the runner of another task."""

    task, shipped, doing, unit, into = "explain", "translate", "explaining", "line", "explanation"
    options_of, item, formats = ExplainedOptions, staticmethod(text_line), ("text", "jsonl")

    def __init__(self, model: AnyRunner, options: ExplainedOptions) -> None:
        super().__init__(model, options)
        self._told = set[str]()  # methods that are left out

    @staticmethod
    def load(models: Models, options: ExplainedOptions) -> AnyRunner:
        """Open the runner of the model in a folder."""
        [folder] = loading.as_folders(models)
        task = task_of(loading.readable(folder))
        if options.to and task != "translate":
            raise ModelError(
                f"--to {options.to} with {folder.name}, which does not translate",
                "a model that translates",
                "leave out --to",
            )
        runner = find_runner(task)
        common = {one.name: getattr(options, one.name) for one in fields(Options)}
        return runner.open([folder], runner.options_of(**common))

    @classmethod
    def of(cls, model: AnyRunner, options: ExplainedOptions) -> ExplainRunner:
        """Return the runner that explains the outputs of another one."""
        return cls(model, options)

    def run(
        self, chunks: Iterable[Sequence[Line]], *, weights: bool = False
    ) -> Iterator[list[ExplainedLine]]:
        """Explain lines one by one; report methods that are left out, and sums that are wrong."""
        for line in (line for chunk in chunks for line in chunk):
            result = self._explained(line)
            if result.explanation is not None:
                self._report(line, result.explanation)
            yield [result]
            if result.remark:
                self.options.messages.say(result.remark)

    def _explained(self, line: Line) -> ExplainedLine:
        if line.fault:
            return ExplainedLine(line, note=f"line {line.number} is {line.fault}; not explained")
        if not line.text.strip():
            return ExplainedLine(line)
        try:
            task = self.model.task
            explained = EXPLAINED.get(task) or need_part("explained", task, f"a model for {task}")
            found: ExplainedLine = explained(self.model, line, self.options.explained)
            return found
        except (InputError, NotFoundError) as error:
            return ExplainedLine(line, note=f"line {line.number}: {error}")

    def _report(self, line: Line, found: Explanation) -> None:
        say = self.options.messages.say
        for method, reason in found.unsupported.items():
            if method not in self._told:
                say(f"{method} is left out: {reason}")
                self._told.add(method)
        if not found.rows:
            raise ConfigurationError("no method that the model supports", "another --method")
        for row in found.rows:  # whose relevances do not sum to what they must
            for word, gap in zip(found.target, [] if row.gaps is None else row.gaps, strict=False):
                if gap > 1.5 * TOLERANCE:
                    said = f"{word}: the sum of {row.method} is {gap:.1%} off"
                    say(f"line {line.number}, {said}")

    def rows(self, results: Sequence[ExplainedLine]) -> bytes:
        """Return heat maps and a table of measures, or a JSON object, for each line."""
        rows, is_json = [], self.options.format == "jsonl"
        for one in results:
            if is_json and (one.explanation or one.note):
                rows.append(as_json_line(self.record(one)))
            elif one.explanation and not is_json:
                found = one.explanation
                rows.append(self.heat_map(one) + measure_table(found) + closing_sentence(found))
            else:
                rows.append("")
        return "".join(f"{row}\n" for row in rows).encode("utf-8", "replace")

    def record(self, result: ExplainedLine) -> JsonObject:
        """Return source, target, and for each method relevances and measures; or the error."""
        found = result.explanation
        if found is None:
            return {"error": result.note}
        source: JsonObject = {"source": found.source}
        if result.maps is not None:
            source = {"image": result.line.text, "grid": result.maps.maps.shape[1:]}
        return {
            **source,
            **entries_of(found.entries),
            "target": found.target,
            "log_probs": rounded(found.log_probs),
            "methods": {
                row.method: {
                    "relevances": rounded(row.values),
                    **({} if row.gaps is None else {"gaps": rounded(row.gaps)}),
                    **measured(row.measures),
                }
                for row in found.rows
            },
            "random": measured(found.control),
            "correlations": {
                one.method: {
                    other.method: None if math.isnan(value) else round(value, DIGITS)
                    for other in found.rows
                    for value in [found.correlation(one, other)]
                }
                for one in found.rows
            },
            "unsupported": found.unsupported,
        }

    def heat_map(self, result: ExplainedLine) -> str:
        """Return the heat map of a text; the name of a file, with the maps if they are wanted."""
        screen = current_screen() if self.options.show else Screen(current_screen().width)
        if result.explanation and result.explanation.source:
            return heat_maps(heat_map_pair(result), screen)
        maps = result.maps if self.options.show else None
        head = f"{result.line.number}  {printable(result.line.text)}  {result.output}\n"
        return head + (maps_as_text(maps, screen) if maps else "")

    def drawn(self, result: ExplainedLine) -> Sequence[AlignedPair]:
        """Return the heat map of a text."""
        return [heat_map_pair(result)] if result.explanation and result.maps is None else []

    def text(self, result: ExplainedLine) -> str | None:
        """Return the output that is explained."""
        return None if result.note else result.output


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


def of_label(runner: ClassifyRunner, line: Line, options: ExplainOptions) -> ExplainedLine:
    """Explain the most probable label of a line."""
    found = explain_label(runner.model, line.text, options)
    return ExplainedLine(line, found.target[0], found)


def of_caption(runner: CaptionRunner, line: Line, options: ExplainOptions) -> ExplainedLine:
    """Explain the caption of an image; the line is its path."""
    captioner: Captioner = runner.model
    config = captioner.config.image
    opened = open_image(Path(line.text), name=line.text, least=config.size)
    image = to_square(opened, config)
    best = captioner.caption([image])[0].hypotheses[0]
    if not best.text.strip():
        return empty_output(line, "caption")
    found = explain_caption(captioner, image, best.ids, options)
    drawn = in_shape(opened, config)
    maps = maps_of(line.text, drawn, found, captioner) if found.rows else None
    return ExplainedLine(line, best.text, found, maps)


def empty_output(line: Line, what: str) -> ExplainedLine:
    """Return the result for an output without words."""
    return ExplainedLine(line, remark=f"line {line.number}: the {what} is empty")


def maps_of(name: str, image: Image, found: Explanation, captioner: Captioner) -> AttentionMaps:
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
        text=" ".join(found.target),
    )


EXPLAINED: Mapping[str, Callable[[Any, Line, ExplainOptions], ExplainedLine]] = {  # by task
    "translate": of_pair,
    "classify": of_label,
    "caption": of_caption,
}


def file_lines(stream: BinaryIO) -> Iterator[list[Line]]:
    """Yield the paths of files in a stream."""
    number = 0
    for files in listed_images(stream):
        yield [Line(n, file.name, fault=file.fault) for n, file in enumerate(files, number + 1)]
        number += len(files)


def heat_map_pair(outcome: ExplainedLine) -> AlignedPair:
    """Return a line as it is drawn: methods down, source words across, a panel for each word."""
    found = outcome.explanation
    assert found is not None
    methods = tuple(row.method for row in found.rows)
    panels = []
    for number, word in enumerate(found.target):  # relevances (M, I) as shares of the largest
        values = torch.stack([row.values[number] for row in found.rows]).clamp_min(0)
        shades = (values / values.amax(1, keepdim=True).clamp_min(1e-12)).numpy()
        panels.append(Alignment(found.source, methods, shades, entries=found.entries, name=word))
    return AlignedPair(outcome.line.number, tuple(panels), outcome.output, key=KEY)


def measure_table(found: Explanation) -> str:
    """Return the means of the measures over the words, a row for each method."""
    names = [measure.name for measure in found.control]
    reference = next((row for row in found.rows if row.method == REFERENCE), None)
    rows = [["", *names, *([f"correlation with {REFERENCE}"] if reference else [])]]
    for row in found.rows:
        correlation = [] if reference is None else [found.correlation(row, reference)]
        rows.append([row.method, *map(_number, [*means(row.measures), *correlation])])
    rows.append(["random", *map(_number, means(found.control)), *([""] if reference else [])])
    return columns(rows)


def closing_sentence(found: Explanation) -> str:
    """Return which words decided, by the most faithful method, and how far to trust it."""
    names = [measure.name for measure in found.control]
    at, sign = (names.index(LOSS), 1) if LOSS in names else (names.index("deletion"), -1)
    best = max(found.rows, key=lambda row: sign * means(row.measures)[at])
    gain, chance = means(best.measures)[at], means(found.control)[at]
    clear = gain >= max(CLEAR * chance, MIN_GAIN) if sign > 0 else gain * CLEAR <= chance
    first = zip(found.target, best.values.argmax(1).tolist(), strict=True)
    source = labelled(found.source, found.entries)
    decided = ", ".join(f"{word} \u2190 {source[i]}" for word, i in first if source)
    verdict = "this can be trusted" if clear else "trust it little"
    said = f"{names[at]} {gain:.2f}, at random {chance:.2f}: {verdict}"
    return f"What decided, by {best.method}{f': {decided}' if decided else ''} ({said}).\n"


def means(measures: Sequence[Measure]) -> list[float]:
    """Return the mean of each measure over the words."""
    return [float(measure.values.mean()) for measure in measures]


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value + 0.0:.3f}".replace("-0.000", "0.000")


def measured(measures: Sequence[Measure]) -> JsonObject:
    """Return the measures of each word by name, and the curves whose areas the measures are."""
    record = {measure.name: rounded(measure.values) for measure in measures}
    curves = {f"{m.name}_curve": rounded(m.curve) for m in measures if m.curve is not None}
    return {**record, **curves}


def rounded(values: Tensor) -> object:
    """Return numbers with a few digits, as lists."""
    return (values.double() * 10**DIGITS).round().div(10**DIGITS).tolist()

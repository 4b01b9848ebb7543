"""Explanations of lines: a text, a pair of a text and its translation, or a file.

They are written as text with heat maps or as JSON lines; see docs/explain.md. A heat map has a row
for each method. A cell is the share of the largest relevance of the row; negative ones are 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import torch
from torch import Tensor

from attncli.caption.runner import BELOW, CaptionRunner
from attncli.classify.runner import ClassifyRunner
from attncli.data.corpus import PairLine, pair_of
from attncli.data.named_files import NamedFile
from attncli.data.streams import as_json_line
from attncli.explain._options import BRIEF, ExplainedOptions, checked, chosen
from attncli.explain.result import (
    DIGITS,
    ExplainedLine,
    ExplainItem,
    closing_sentence,
    empty_output,
    heat_map_pair,
    measure_table,
    measured,
    rounded,
)
from attncli.faithful.result import Line, TranslatedLine, text_line
from attncli.options import loading
from attncli.options.settings import Options
from attncli.render.alignment import entries_of, heat_maps, page
from attncli.render.image_maps import SIDE, AttentionMaps, fitting, html_page, maps_as_text
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
    OutputWords,
    explain_caption,
    explain_label,
    explain_pair,
    joined,
)
from models.explain.methods import TOLERANCE
from models.signals.images import in_shape, to_square
from models.storage.settings import task_of

if TYPE_CHECKING:
    from PIL.Image import Image

    from models.engines.captioner import Captioner
    from models.engines.translator import Translator

ACROSS, ABOVE = 3, 150  # heat maps side by side; pixels above the first ones of a page


class ExplainRunner(Runner[Any, ExplainedLine, AnyRunner, ExplainedOptions]):
    """Explains the outputs of `model`, the runner of another task."""

    task, shipped, doing, unit, into = "explain", "translate", "explaining", "line", "explanation"
    options_of, formats = ExplainedOptions, ("text", "jsonl")

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

    @staticmethod
    def item(number: int, value: str | tuple[str, str] | NamedFile) -> ExplainItem:
        """Return an input: a text, a text and its translation, or a file."""
        if isinstance(value, NamedFile):
            return ExplainItem(Line(number, value.name), file=value)
        if isinstance(value, str):
            return ExplainItem(text_line(number, value))
        return ExplainItem(Line(number, value[0]), PairLine(number, *value))

    @classmethod
    def of(cls, model: AnyRunner, options: ExplainedOptions) -> ExplainRunner:
        """Return the runner that explains the outputs of another one."""
        return cls(model, options)

    def run(
        self, chunks: Iterable[Sequence[Line | NamedFile | ExplainItem]], *, weights: bool = False
    ) -> Iterator[list[ExplainedLine]]:
        """Explain inputs one by one; report methods that are left out, and sums that are wrong.

        A line is a text, a pair with bars or a tab between its texts, or the path of a file.
        """
        for number, given in enumerate(chain.from_iterable(chunks), 1):
            item = self._item(given) if isinstance(given, Line) else given
            item = self.item(number, item) if isinstance(item, NamedFile) else item
            result = replace(self._explained(item), by=self)
            if result.explanation is not None:
                self._report(item.line, result.explanation)
            yield [result]
            if result.remark:
                self.options.messages.say(result.remark)

    def _item(self, line: Line) -> ExplainItem:
        if self.model.files:
            return ExplainItem(line, file=NamedFile(line.text, Path(line.text)))
        pair = pair_of(line)
        return ExplainItem(line, None if pair.fault else pair)

    def _explained(self, item: ExplainItem) -> ExplainedLine:
        line = item.line
        if line.fault:
            return ExplainedLine(line, note=f"line {line.number} is {line.fault}; not explained")
        if not (item.file or line.text.strip()):
            return ExplainedLine(line)
        place = "" if item.file else f"line {line.number}: "
        try:
            if item.file and item.file.fault:
                raise InputError(item.file.fault)
            task = self.model.task
            explained = EXPLAINED.get(task) or need_part("explained", task, f"a model for {task}")
            found: ExplainedLine = explained(self.model, item, self.options.explained)
            return found
        except (InputError, NotFoundError) as error:
            return ExplainedLine(line, note=f"{place}{error}", fault=error)

    def _report(self, line: Line, found: Explanation) -> None:
        say = self.options.messages.say
        for method, reason in found.unsupported.items():
            if method not in self._told:
                say(f"{method} is left out: {reason}")
                self._told.add(method)
        if not found.rows:
            reasons = "; ".join(f"{name}: {why}" for name, why in found.unsupported.items())
            none = f"no method that the model supports ({reasons})"
            raise ConfigurationError(none, "another method", "`all` is each that it supports")
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
        source: JsonObject = {self.model.unit: result.line.text} if self.model.files else {}
        if result.maps is None:
            source["source"] = found.source
        else:
            source["grid"] = result.maps.maps.shape[1:]
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

    def page(self, result: ExplainedLine) -> tuple[bytes, int] | None:
        """Return the maps of an image, or the heat maps of a text, as HTML."""
        if maps := result.maps:
            return html_page(maps), fitting(maps.image, SIDE)[1] + BELOW
        if not result.source:
            return None
        pair = heat_map_pair(result)
        content, height = page(pair)
        return content, height + (len(pair.panels) - 1) // ACROSS * (height - ABOVE)

    def drawn(self, result: ExplainedLine) -> Sequence[AlignedPair]:
        """Return the heat map of a text."""
        return [heat_map_pair(result)] if result.explanation and result.maps is None else []

    def text(self, result: ExplainedLine) -> str | None:
        """Return the output that is explained."""
        return None if result.note else result.output


class ExplainSettings(TypedDict, total=False):
    """Options of `explain` of the models for Python."""

    method: str | Sequence[str]
    word: int


def explain(
    runner: AnyRunner,
    inputs: Sequence[str | tuple[str, str] | NamedFile],
    *,
    alone: bool,
    method: str | Sequence[str] = BRIEF,
    word: int = 0,
) -> ExplainedLine | list[ExplainedLine]:
    """Return the explanations of the outputs of a task's runner, as `attn explain` gives them.

    inputs: texts, texts with their translations, or files. alone: True for one input, which has
    one result. method: a name or several, or all. word: number of the only output word that is
    explained, from 1; 0: all. Raises ModelError for an unknown method, for methods of which the
    model supports none, and for what cannot be explained.
    """
    options = ExplainedOptions(methods=chosen(method), word=checked(word), show=True)
    results = []
    items = [ExplainRunner.item(number, one) for number, one in enumerate(inputs, 1)]
    for [result] in ExplainRunner.of(runner, options).run([items]):
        if result.fault:
            raise result.fault
        results.append(result)
    return results[0] if alone else results


def of_pair(runner: TranslateRunner, item: ExplainItem, options: ExplainOptions) -> ExplainedLine:
    """Explain a translation: the given one, or that of `attn translate` if there is none."""
    line, pair, [translator] = item.line, item.pair, runner.in_torch
    if pair:
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


def of_label(runner: ClassifyRunner, item: ExplainItem, options: ExplainOptions) -> ExplainedLine:
    """Explain the most probable label of a text."""
    found = explain_label(runner.model, item.line.text, options)
    return ExplainedLine(item.line, found.target[0], found)


def of_caption(runner: CaptionRunner, item: ExplainItem, options: ExplainOptions) -> ExplainedLine:
    """Explain the caption of an image."""
    captioner: Captioner = runner.model
    line, config = item.line, captioner.config.image
    assert item.file
    opened = runner.opened(item.file)
    if isinstance(opened, Tensor):
        raise InputError("features of an image", "an image, whose cells can be blurred")
    image = to_square(opened, config)
    best = captioner.caption([image])[0].hypotheses[0]
    if not best.text.strip():
        return empty_output(line, "caption")
    found = explain_caption(captioner, image, best.ids, options)
    drawn = in_shape(opened, config)
    maps = maps_of(line.text, drawn, found, captioner) if found.rows else None
    return ExplainedLine(line, best.text, found, maps)


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


EXPLAINED: Mapping[str, Callable[[Any, ExplainItem, ExplainOptions], ExplainedLine]] = {  # by task
    "translate": of_pair,
    "classify": of_label,
    "caption": of_caption,
}

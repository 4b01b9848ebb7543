"""Explanations of translations, labels and captions: relevances of several methods, and measures.

The numbers depend on the model and the pair alone, because every input is computed by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pkgutil import resolve_name
from typing import NamedTuple

import torch
from PIL import Image
from torch import Tensor

from models.alignment.encoded import Encoded, both_units, why_unaligned
from models.base.errors import InputError
from models.config import AlignConfig
from models.explain import METHODS, ExplainOptions
from models.explain.gradients import completeness_gaps
from models.explain.measures import Measure, curves, faithfulness, rank_correlation
from models.explain.subject import ImageSubject, Subject, TextSubject, UnsupportedMethodError
from models.inference.captioner import Captioner, words
from models.inference.classifier import Classifier
from models.inference.translator import Translator
from models.text.units import Units, units

RANDOM = "random"  # name of the control: units in random order
RANDOM_ORDERS = 3
WORDS = AlignConfig(units="word", marks=True)


class Relevances(NamedTuple):
    """Relevances of one method and their measures."""

    method: str
    values: Tensor  # (J, I)
    measures: tuple[Measure, ...]
    gaps: Tensor | None = None  # (J,) of a method whose sums are f(x) - f(b): shares of it


class Explanation(NamedTuple):
    """Relevances of I source units for J output words, by several methods."""

    source: tuple[str, ...]  # I units; empty for an image, whose units are cells
    target: tuple[str, ...]  # J words
    log_probs: Tensor  # (J,) in nats, of the words
    rows: tuple[Relevances, ...]  # of the methods that the model supports
    control: tuple[Measure, ...]  # of units in random order: the mean of several orders
    unsupported: dict[str, str]  # the other methods, and why

    def correlation(self, one: Relevances, other: Relevances) -> float:
        """Return the mean rank correlation over the words; words without one are left out."""
        pairs = zip(one.values, other.values, strict=True)
        return float(torch.tensor([rank_correlation(*pair) for pair in pairs]).nanmean())


class OutputWords(NamedTuple):
    """The words of an output, and the tokens of each."""

    texts: tuple[str, ...]  # J
    members: Tensor  # (J, T): 1 for the tokens of a word

    def chosen(self, number: int) -> OutputWords:
        """Return word `number`, from 1; all of them for 0. Raises InputError for another."""
        if not number:
            return self
        if number > len(self.texts):
            raise InputError(
                f"word {number} of an output of {len(self.texts)} words: {' '.join(self.texts)}",
                f"1 to {len(self.texts)}",
                "leave out --word for all of them",
            )
        return OutputWords(self.texts[number - 1 : number], self.members[number - 1 : number])


def explain_pair(translator: Translator, pair: Encoded, options: ExplainOptions) -> Explanation:
    """Explain a translation (models.alignment.encoded makes pairs).

    Raises InputError for an empty side, a source that is too long, and an unknown word.
    """
    if note := why_unaligned(translator, pair):
        raise InputError(f"a pair with {note}", "a sentence and its translation")
    source, target = both_units(translator.tokenizer, pair, WORDS)
    output = OutputWords(target.texts, members(target)).chosen(options.word)
    subject = TextSubject(
        translator.model, pair.source, pair.target, owners(source), output.members
    )
    return _explained(subject, source.texts, output.texts, options, faithfulness)


def explain_label(classifier: Classifier, text: str, options: ExplainOptions) -> Explanation:
    """Explain the most probable label of a text.

    Raises InputError for an empty text, and for one that is too long.
    """
    [label] = [found.label for found in classifier.classify([text])]
    if not label:
        raise InputError("an empty text", "a text to classify")
    ids = classifier.tokenizer.encode(text)
    source = units(
        classifier.tokenizer.source, ids, classifier.tokenizer.normalise(text), marks=True
    )
    number = classifier.tokenizer.encode_target(label)
    output = OutputWords((label,), torch.ones(1, 1)).chosen(options.word)
    subject = TextSubject(classifier.model, ids, number, owners(source), output.members)
    return _explained(subject, source.texts, output.texts, options, faithfulness)


def explain_caption(
    captioner: Captioner, image: Image.Image, ids: Sequence[int], options: ExplainOptions
) -> Explanation:
    """Explain the words of a caption, given as token ids; image: the square that the model reads.

    Raises InputError for an empty caption, and for an unknown word.
    """
    if not ids:
        raise InputError("an empty caption", "a caption with words")
    groups = words(captioner.tokenizer.pieces(ids))
    table = torch.zeros(len(groups), len(ids))
    for row, (start, end) in enumerate(groups):
        table[row, start:end] = 1
    texts = tuple(captioner.tokenizer.decode(ids[start:end]).strip() for start, end in groups)
    output = OutputWords(texts, table).chosen(options.word)
    subject = ImageSubject(captioner, image, ids, output.members)
    return _explained(subject, (), output.texts, options, curves)


def owners(source: Units) -> Tensor:
    """Return the unit (S,) of each token; -1 for a token of no unit."""
    found = source.shares.max(1)
    return found.indices.where(found.values > 0, torch.tensor(-1))


def members(target: Units) -> Tensor:
    """Return 1 for the tokens of each unit, (J, T)."""
    return (owners(target) == torch.arange(len(target.texts))[:, None]).float()


def _explained(
    subject: Subject,
    source: tuple[str, ...],
    target: tuple[str, ...],
    options: ExplainOptions,
    measure: Callable[..., list[tuple[Measure, ...]]],
) -> Explanation:
    """Return the relevances of the chosen methods, with their measures."""
    found, unsupported = {}, {}
    for name in options.methods:
        try:
            found[name] = resolve_name(METHODS[name])(subject)  # (J, I)
        except UnsupportedMethodError as error:
            unsupported[name] = str(error)
    every = torch.ones(1, subject.units, dtype=torch.bool)
    rng = torch.Generator().manual_seed(1)  # the same orders in every run
    controls = [torch.rand(len(target), subject.units, generator=rng) for _ in range(RANDOM_ORDERS)]
    measures = measure(
        [*found.values(), *controls], lambda kept: subject.kept_log_probs(kept).exp()
    )
    rows = zip(found.items(), measures, strict=False)
    return Explanation(
        source,
        target,
        subject.kept_log_probs(every)[0],
        tuple(
            Relevances(
                name,
                values,
                own,
                completeness_gaps(subject, values) if name == "integrated" else None,
            )
            for (name, values), own in rows
        ),
        mean_measures(measures[len(found) :]),
        unsupported,
    )


def mean_measures(given: Sequence[tuple[Measure, ...]]) -> tuple[Measure, ...]:
    """Return the mean of the measures of several orders."""
    found = []
    for same in zip(*given, strict=True):
        curve = None if same[0].curve is None else torch.stack([m.curve for m in same]).mean(0)
        found.append(Measure(same[0].name, torch.stack([m.values for m in same]).mean(0), curve))
    return tuple(found)

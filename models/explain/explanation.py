"""Explanations of outputs, and measures of how far each can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pkgutil import resolve_name
from typing import NamedTuple

import torch
from PIL import Image
from torch import Tensor

from models.alignment.weights import Encoded, both_units, why_unaligned
from models.core.errors import InputError
from models.core.use_config import AlignConfig
from models.engines.captioner import Captioner, words
from models.engines.classifier import Classifier
from models.engines.translator import Translator
from models.explain import METHODS, ExplainOptions
from models.explain.methods import completeness_gaps
from models.explain.subject import (
    ImageSubject,
    Subject,
    TextSubject,
    UnsupportedMethodError,
)
from models.text.lexicon import UnitEntry
from models.text.tokenizer import Tokenizer
from models.text.units import Units, units

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the units, at least one unit (DeYoung et al. 2020)
POINTS = 11  # of a curve: 0, 10, .. 100 % of the units
Probabilities = Callable[[Tensor], Tensor]  # kept units (N, I) to the words' probabilities (N, J)
RANDOM = "random"  # name of the control: units in random order
RANDOM_ORDERS = 3
WORDS = AlignConfig(units="word", marks=True)


class Measure(NamedTuple):
    """One measure of an order of units."""

    name: str
    values: Tensor  # (J,) of each word
    curve: Tensor | None = None  # (J, P), if the measure is the area below a curve


def rank_correlation(one: Tensor, other: Tensor) -> float:
    """Return Spearman's rank correlation of two vectors (I,); NaN if one of them is constant.

    Equal values have their mean rank. Source: Spearman 1904.
    """
    ranked = torch.stack([ranks(one), ranks(other)])
    return float(torch.corrcoef(ranked)[0, 1]) if one.numel() > 1 else float("nan")


def ranks(values: Tensor) -> Tensor:
    """Return the ranks (I,) of values, from 1; equal values have their mean rank."""
    table = values[None].double()
    less, equal = (table < table.T).sum(1), (table == table.T).sum(1)
    return less + (equal + 1) / 2


def faithfulness(
    orders: Sequence[Tensor], probabilities: Probabilities
) -> list[tuple[Measure, ...]]:
    """Return comprehensiveness and sufficiency of each of several relevances (J, I).

    comprehensiveness = p(y | x) - p(y | x without the top share of units)
    sufficiency       = p(y | x) - p(y | the top share of units alone)

    DeYoung et al. 2020, eq. 1 and 2; the mean over the shares (their eq. 3). A faithful order has a
    high comprehensiveness and a low sufficiency.
    """
    units = orders[0].shape[1]
    counts = [max(1, round(share * units)) for share in SHARES]
    full, removed, kept = _erased(orders, counts, probabilities)
    return [
        (
            Measure("comprehensiveness", (full[:, None] - less).mean(1)),
            Measure("sufficiency", (full[:, None] - rest).mean(1)),
        )
        for less, rest in zip(removed, kept, strict=True)
    ]


def curves(orders: Sequence[Tensor], probabilities: Probabilities) -> list[tuple[Measure, ...]]:
    """Return the deletion and the insertion curve of each of several relevances (J, I).

    They are p(y) after the units were erased in their order, and after they were added to an input
    without units. Petsiuk, Das and Saenko 2018, section 3.3. A faithful order has a small area
    below its deletion curve and a large one below its insertion curve.
    """
    units = orders[0].shape[1]
    counts = [round(units * point / (POINTS - 1)) for point in range(POINTS)]
    _, removed, kept = _erased(orders, counts, probabilities)
    return [
        (Measure("deletion", area(less), less), Measure("insertion", area(rest), rest))
        for less, rest in zip(removed, kept, strict=True)
    ]


def area(curve: Tensor) -> Tensor:
    """Return the area (J,) below curves (J, P) over the interval from 0 to 1."""
    return torch.trapezoid(curve, dx=1 / (curve.shape[1] - 1), dim=1)


def _erased(
    orders: Sequence[Tensor], counts: Sequence[int], probabilities: Probabilities
) -> tuple[Tensor, Tensor, Tensor]:
    """Return p(y | x) (J,), and p(y) without and with only the first units, (M, J, P) each.

    Every input that occurs several times is computed once.
    """
    words, units = orders[0].shape
    top = torch.stack([first_units(order, counts) for order in orders])  # (M, J, P, I)
    every = torch.ones(1, units, dtype=torch.bool)
    masks = torch.cat([every, (~top).flatten(0, 2), top.flatten(0, 2)])
    different, places = masks.unique(dim=0, return_inverse=True)
    found = probabilities(different)[places]  # (N, J)
    each = found[1:].view(2, len(orders), words, len(counts), words)
    removed, kept = each.diagonal(dim1=2, dim2=4).movedim(-1, 2)  # (2, M, J, P)
    return found[0], removed, kept


def first_units(relevances: Tensor, counts: Sequence[int]) -> Tensor:
    """Return True for the most relevant units of each word, (J, P, I), for P counts."""
    order = relevances.argsort(dim=1, descending=True, stable=True)
    place = torch.empty_like(order).scatter_(
        1, order, torch.arange(order.shape[1]).expand_as(order)
    )
    return place[:, None] < torch.tensor(counts)[None, :, None]


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
    entries: tuple[UnitEntry, ...] = ()  # of a lexicon, that the model read in the source

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
    """Explain a translation (models.alignment.weights makes pairs).

    Raises InputError for an empty side, a source that is too long, and an unknown word.
    """
    if note := why_unaligned(translator, pair):
        raise InputError(f"a pair with {note}", "a sentence and its translation")
    source, target = both_units(translator.tokenizer, pair, WORDS)
    output = OutputWords(target.texts, members(target)).chosen(options.word)
    subject = TextSubject(
        translator.model, pair.source, pair.target, owners(source), output.members
    )
    found = explained_by(subject, source.texts, output.texts, options, faithfulness)
    return found._replace(entries=source.entries)


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
    return explained_by(subject, source.texts, output.texts, options, faithfulness)


def explain_caption(
    captioner: Captioner, image: Image.Image, ids: Sequence[int], options: ExplainOptions
) -> Explanation:
    """Explain the words of a caption, given as token ids; image: the square that the model reads.

    Raises InputError for an empty caption, and for an unknown word.
    """
    output = words_of(captioner.tokenizer, ids, "caption").chosen(options.word)
    subject = ImageSubject(captioner, image, ids, output.members)
    return explained_by(subject, (), output.texts, options, curves)


def words_of(tokenizer: Tokenizer, ids: Sequence[int], what: str) -> OutputWords:
    """Return the words of an output, given as token ids; raise InputError if there are none."""
    if not ids:
        raise InputError(f"an empty {what}", f"a {what} with words")
    groups = words(tokenizer.pieces(ids))
    table = torch.zeros(len(groups), len(ids))
    for row, (start, end) in enumerate(groups):
        table[row, start:end] = 1
    texts = tuple(tokenizer.decode(ids[start:end]).strip() for start, end in groups)
    return OutputWords(texts, table)


def owners(source: Units) -> Tensor:
    """Return the unit (S,) of each token; -1 for a token of no unit."""
    found = source.shares.max(1)
    return found.indices.where(found.values > 0, torch.tensor(-1))


def members(target: Units) -> Tensor:
    """Return 1 for the tokens of each unit, (J, T)."""
    return (owners(target) == torch.arange(len(target.texts))[:, None]).float()


def explained_by(
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


def joined(parts: Sequence[Explanation]) -> Explanation:
    """Join the explanations of the parts of a text; no part depends on another."""
    if len(parts) == 1:
        return parts[0]
    rows, entries, start = [], list[UnitEntry](), 0
    for part in parts:
        entries += [one._replace(unit=one.unit + start) for one in part.entries]
        start += len(part.source)
    for same in zip(*(part.rows for part in parts), strict=True):
        gaps = [row.gaps for row in same if row.gaps is not None]
        values = torch.block_diag(*(row.values for row in same))
        measures = _measures([row.measures for row in same])
        rows.append(Relevances(same[0].method, values, measures, torch.cat(gaps) if gaps else None))
    return Explanation(
        tuple(word for part in parts for word in part.source),
        tuple(word for part in parts for word in part.target),
        torch.cat([part.log_probs for part in parts]),
        tuple(rows),
        _measures([part.control for part in parts]),
        parts[0].unsupported,
        tuple(entries),
    )


def _measures(parts: Sequence[tuple[Measure, ...]]) -> tuple[Measure, ...]:
    """Return the measures of texts, each with the words of all parts."""
    return tuple(
        Measure(same[0].name, torch.cat([one.values for one in same]))
        for same in zip(*parts, strict=True)
    )

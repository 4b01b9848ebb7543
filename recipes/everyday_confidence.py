"""Fit and measure the confidence of `everyday`: the probability that an output keeps the sense.

    python recipes/everyday_confidence.py translate MODEL
    python recipes/everyday_confidence.py fit MODEL
    python recipes/everyday_confidence.py score MODEL --labels FILE

`confidence.tsv` has lines of direction, source, output and label, whose sources are in no other
set. A label is 1 if a careful reader of the output gets the sense of the source, and 0 if a fact, a
number, a negation, an agent or a word of content is wrong; clumsy grammar is no fault.

Labels belong to outputs. `translate` writes the outputs of MODEL into the table, leaves the label
of another output than before empty, and prints these lines: read them and write their labels.
`fit` writes the section "confidence" of MODEL/config.json; its threshold is the highest one at
which at most SHARE of the named lines are right. `score` measures it on labels of other sets.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from attncli.faithful.result import TranslatedLine
from attncli.translate.engine import TranslateOptions
from attncli.translate.runner import TranslateRunner
from models.core.settings import to_dict
from models.core.use_config import ConfidenceConfig
from models.engines._confidence import FEATURES, compared, features
from models.storage.settings import write_section

TABLE = Path(__file__).with_name("confidence.tsv")
RIDGE = 3.0  # of standardised features
FOLDS, UPDATES, DIGITS = 10, 30, 4
SHARE = 0.1  # half of what is wanted, because labels of other sets are less strict


class Row(NamedTuple):
    """A line of the table."""

    direction: str
    source: str
    output: str = ""
    label: str = ""  # 1, 0, or empty: to be judged


class Labelled(NamedTuple):
    """An output of a model with its label."""

    direction: str
    values: tuple[float, ...]  # FEATURES
    is_right: bool
    confidence: float  # by the calibration of the model; 0 without one


def main() -> None:
    """Parse the command line and run the step."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("step", choices=("translate", "fit", "score"))
    parser.add_argument("model", type=Path)
    parser.add_argument("--labels", type=Path, default=TABLE)
    options = parser.parse_args()
    rows = read_rows(options.labels)
    results = translated(options.model, rows)
    if options.step == "translate":
        write_rows(options.labels, rows, results)
        return
    found = [*labelled(options.model, rows, results)]
    print(f"{len(found)} of {len(rows)} lines have the output that was judged")
    if options.step == "fit":
        fit_model(options.model, found)
    else:
        calibration = runner_of(options.model, rows[0].direction).model.calibration
        report(found, [one.confidence for one in found], calibration.threshold)


def read_rows(path: Path) -> list[Row]:
    """Return the lines of a table."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [Row(*line.split("\t")) for line in lines]


def write_rows(path: Path, rows: Sequence[Row], results: Sequence[TranslatedLine]) -> None:
    """Write the outputs of a model, with the labels of those that are as before."""
    lines = []
    for row, found in zip(rows, results, strict=True):
        is_same = found.text == row.output and row.label
        new = row._replace(output=found.text, label=row.label if is_same else "")
        lines.append("\t".join(new) + "\n")
        if not is_same:
            print(lines[-1], end="")
    path.write_text("".join(lines), encoding="utf-8")


def runner_of(model: Path, direction: str) -> TranslateRunner:
    """Return the model for a direction."""
    source, to = direction.split("-")
    options = TranslateOptions(source=source, to=to, precision="int8")
    return TranslateRunner.open([model], options)


def translated(model: Path, rows: Sequence[Row]) -> list[TranslatedLine]:
    """Return the results of all lines, in order."""
    results: dict[int, TranslatedLine] = {}
    for direction in dict.fromkeys(row.direction for row in rows):
        numbers = [n for n, row in enumerate(rows) if row.direction == direction]
        found = runner_of(model, direction).results(rows[n].source for n in numbers)
        results |= zip(numbers, found, strict=True)
    return [results[n] for n in range(len(rows))]


def labelled(model: Path, rows: Sequence[Row], results: Sequence[TranslatedLine]) -> list[Labelled]:
    """Return the lines of one part whose output is the one that was judged."""
    lexicons = {each: runner_of(model, each).model.lexicon for each in {r.direction for r in rows}}
    found = []
    for row, result in zip(rows, results, strict=True):
        if result.text != row.output or not row.label or len(result.parts) != 1:
            continue
        [part], lexicon = result.parts, lexicons[row.direction]
        words = compared(part.source, part.text, row.direction, lexicon)
        value = part.confidence.value if part.confidence else 0.0
        numbers = features(part.hypotheses[0], words)
        found.append(Labelled(row.direction, numbers, row.label == "1", value))
    return found


def fit_model(model: Path, found: Sequence[Labelled]) -> None:
    """Fit, measure by cross-validation, and store the calibration in the model."""
    values = torch.tensor([one.values for one in found], dtype=torch.float64)
    labels = torch.tensor([one.is_right for one in found], dtype=torch.float64)
    held = torch.zeros_like(labels)
    folds = torch.randperm(len(found), generator=torch.Generator().manual_seed(1)) % FOLDS
    for fold in range(FOLDS):
        inside = folds == fold
        weights, bias = fitted(values[~inside], labels[~inside])
        held[inside] = (values[inside] @ weights + bias).sigmoid()
    threshold = highest(held, labels)
    report(found, held.tolist(), threshold)
    weights, bias = fitted(values, labels)
    numbers = {
        name: round(one, DIGITS) for name, one in zip(FEATURES, weights.tolist(), strict=True)
    }
    config = ConfidenceConfig(
        directions=tuple(dict.fromkeys(one.direction for one in found)),
        threshold=threshold,
        bias=round(float(bias), DIGITS),
        **numbers,
    )
    write_section(model, "confidence", to_dict(config))
    print(config)


def fitted(values: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return weights and bias of a logistic regression with a ridge, by Newton's method."""
    mean, deviation = values.mean(0), values.std(0) + 1e-9
    inputs = torch.cat(((values - mean) / deviation, torch.ones(len(values), 1).double()), 1)
    ridge = torch.diag(torch.tensor([RIDGE] * len(FEATURES) + [0.0], dtype=torch.float64))
    weights = torch.zeros(len(FEATURES) + 1, dtype=torch.float64)
    for _ in range(UPDATES):
        chances = (inputs @ weights).sigmoid()
        gradient = inputs.T @ (chances - labels) + ridge @ weights
        curvature = inputs.T @ (inputs * (chances * (1 - chances))[:, None]) + ridge
        weights = weights - torch.linalg.solve(curvature, gradient)
    scaled = weights[:-1] / deviation
    return scaled, weights[-1] - scaled @ mean


def highest(chances: Tensor, labels: Tensor) -> float:
    """Return the highest threshold, in hundredths, that names at most SHARE right lines."""
    steps = [n / 100 for n in range(1, 100)]
    named = [(step, labels[chances < step]) for step in steps]
    return max(step for step, right in named if not len(right) or right.mean() <= SHARE)


def report(found: Sequence[Labelled], chances: Sequence[float], threshold: float) -> None:
    """Print the area under the ROC curve, and what a threshold names."""
    directions = [*dict.fromkeys(one.direction for one in found)]
    for direction in ["", *directions] if len(directions) > 1 else [""]:
        pairs = [
            (chance, one.is_right)
            for chance, one in zip(chances, found, strict=True)
            if direction in ("", one.direction)
        ]
        right = [chance for chance, is_right in pairs if is_right]
        wrong = [chance for chance, is_right in pairs if not is_right]
        named, false = (sum(one < threshold for one in each) for each in (wrong, right))
        print(
            f"{direction or 'all':6} area {area(right, wrong):.3f}, below {threshold}: "
            f"{named} of {len(wrong)} wrong lines, {false} of {len(right)} right ones "
            f"({false / max(1, named + false):.0%} of those named)"
        )


def area(right: Sequence[float], wrong: Sequence[float]) -> float:
    """Return the probability that a right line has more confidence than a wrong one."""
    wins = sum((a > b) + (a == b) / 2 for a in right for b in wrong)
    return wins / max(1, len(right) * len(wrong))


if __name__ == "__main__":
    main()

"""Train variants with one budget on the same data; yield a row of scores for each run.

OUT/train.tsv dev.tsv test.tsv    sentences of the embedded grammar, if no data were given
OUT/VARIANT/seed-N/             a run folder as of `attn train`, and measured.json
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from attncli.data import corpus
from attncli.data.labels import read_labelled
from attncli.data.links import Index, PairLinks, read_links
from attncli.jobs.measure import Sets, measure, measured
from attncli.jobs.train import StopRequested, fingerprints, reporter, train
from attncli.jobs.variants import Variant
from attncli.scoring.comparison import RunScores
from attncli.training.config import DataConfig, RunConfig
from attncli.training.data import Progress
from attncli.training.events import RunEvent
from attncli.training.folder import RunFolder, claim
from attncli.training.lock import locked
from attncli.training.sources import label_data
from attncli.training.sources.text_data import as_tsv, read_dev, sample_grammar
from attncli.training.sources.text_dev import DevTexts
from attncli.training.validation import check_buildable
from models.errors import ModelError
from models.files import write_errors, write_folder, write_text


class Planned(NamedTuple):
    """One run of a comparison."""

    variant: str
    config: RunConfig
    folder: Path
    first: bool  # True for the first seed of the variant


class Begun(NamedTuple):
    """Start of a run that is not measured yet."""

    run: Planned
    number: int  # from 1
    total: int


class Failed(NamedTuple):
    """A run that failed; the comparison continues without it."""

    run: Planned
    error: ModelError


class ComparedTexts(NamedTuple):
    """The sentences of a comparison."""

    data: DataConfig  # for training and dev
    test: Sequence[Path]
    gold: tuple[PairLinks, ...] | Path | None = None  # of the test set, or of dev if there is none
    gold_index: Index | None = None  # first word number in the file, if given


def embedded(base: RunConfig, out: Path) -> ComparedTexts:
    """Write sentences of the embedded grammar to files that all runs share."""
    data = base.data
    parts = sample_grammar(data, base.train.seed)
    paths = [(out / f"{name}.tsv").absolute() for name in parts._fields]
    for path, pairs in zip(paths, parts, strict=True):
        write_same(path, as_tsv(pairs))
    train, dev, test = paths
    named = replace(data, train=(str(train),), dev=(str(dev),))
    links = [frozenset(pair.links) for pair in parts.test]
    return ComparedTexts(named, [test], tuple(PairLinks(sure, sure) for sure in links))


def label_texts(base: RunConfig, out: Path, test: Sequence[Path]) -> ComparedTexts:
    """Write labelled texts for training and evaluation to files that all runs share.

    Without a file they are sentences of the embedded grammar, a test set included.
    """
    parts: Any
    if base.data.labels:
        parts = label_data.read_rows(base.data, base.train.seed)
    else:
        parts = label_data.demo_rows(base.data, base.train.seed)
    paths = [(out / f"{name}.tsv").absolute() for name in parts._fields]
    for path, rows in zip(paths, parts, strict=True):
        write_same(path, label_data.as_table(rows))
    train, dev = map(str, paths[:2])
    return ComparedTexts(replace(base.data, labels=train, dev_labels=dev), test or paths[2:])


def write_same(path: Path, text: str) -> None:
    """Write a file; raise a ModelError if it exists with other content."""
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        write_text(path, text)
    elif path.read_text("utf-8") != text:
        raise ModelError(
            f"{path} contains sentences of other settings", "the same settings", "choose another -o"
        )


def read_sets(texts: ComparedTexts) -> Sets:
    """Return dev set, test set and gold links; raise a ModelError without a dev set."""
    if texts.data.labels:
        return read_label_sets(texts)
    dev = read_dev(texts.data)
    if dev is None:
        raise ModelError("no dev set", "a dev set, which selects the weights", "give --dev FILE...")
    test = read_dev(replace(texts.data, dev=tuple(map(str, texts.test))))
    gold = texts.gold
    if isinstance(gold, Path):
        gold = read_gold(gold, test or dev, texts.gold_index)
    marks = [corpus.fingerprint(paths) for paths in (texts.data.dev, texts.test) if paths]
    known = [[sorted(row.sure), sorted(row.possible)] for row in gold or ()]
    mark = hashlib.sha256(f"{marks} {known}".encode()).hexdigest()
    return Sets(dev, test, gold, mark)


def read_label_sets(texts: ComparedTexts) -> Sets:
    """Return dev set and test set of labelled texts."""
    paths = [Path(texts.data.dev_labels), *texts.test]
    dev, *test = (label_data.dev_labels(read_labelled(path)) for path in paths)
    mark = hashlib.sha256(f"{[corpus.fingerprint([path]) for path in paths]}".encode())
    return Sets(dev, test[0] if test else None, None, mark.hexdigest())


def read_gold(path: Path, pairs: DevTexts, index: Index | None) -> tuple[PairLinks, ...]:
    """Return the gold links between sources and their first references."""
    texts = zip(pairs.sources, pairs.references[0], strict=True)
    lengths = [(len(source.split()), len(target.split())) for source, target in texts]
    return read_links(path, lengths, index=index).rows


def plan(variants: Sequence[Variant], data: DataConfig, seeds: int, out: Path) -> list[Planned]:
    """Return the runs: every variant with the first seed, then with the next."""
    return [planned(variant, data, n, out) for n in range(seeds) for variant in variants]


def planned(variant: Variant, data: DataConfig, number: int, out: Path) -> Planned:
    """Return the run of a variant with one of its seeds."""
    config = variant.config
    seed = config.train.seed + number
    config = replace(config, data=data, train=replace(config.train, seed=seed))
    return Planned(variant.name, config, out / variant.folder / f"seed-{seed}", not number)


def check_all(variants: Iterable[Variant]) -> None:
    """Raise a ModelError for a variant that no model can use, before training starts."""
    for name, config in variants:
        try:
            check_buildable(config)
        except ModelError as error:
            found = f"variant {name}: {error.found}"
            raise type(error)(found, error.expected, error.hint) from None


def compare(
    runs: Sequence[Planned],
    sets: Sets,
    *,
    best: int = 0,
    device: str,
    progress: Progress,
    stop_requested: StopRequested,
) -> Iterator[RunEvent | Begun | RunScores | Failed]:
    """Train and measure the runs not measured yet; yield the scores of each run, or Failed.

    best: number of variants that are trained with further seeds; 0: all. Raises Interrupted like
    `train`; the same call continues from there.
    """
    claimed([run for run in runs if run.first or not best])
    total = planned_count(runs, best)
    rows: list[RunScores] = []
    for number, run in enumerate(in_turn(runs, rows, best), 1):
        row = measured(run.folder, sets)
        if row is None:
            yield Begun(run, number, total)
            try:
                if best and not run.first:
                    claimed([run])
                share_data(run, runs)
                row = yield from train_and_measure(run, sets, device, progress, stop_requested)
            except ModelError as error:
                yield Failed(run, error)
                continue
        rows.append(row)
        yield row


def train_and_measure(
    run: Planned, sets: Sets, device: str, progress: Progress, stop_requested: StopRequested
) -> Generator[RunEvent, None, RunScores]:
    """Train one run, yielding its events, and return its scores."""
    yield from train(
        run.config, run.folder, device=device, progress=progress, stop_requested=stop_requested
    )
    report = reporter(progress, stop_requested)
    return measure(run.variant, run.config, run.folder, sets, device=device, report=report)


def planned_count(runs: Sequence[Planned], best: int) -> int:
    """Return the number of runs if the `best` variants get further seeds; 0: all of them."""
    first = sum(run.first for run in runs)
    return first + (len(runs) - first) * min(best or first, first) // first


def in_turn(runs: Sequence[Planned], rows: Sequence[RunScores], best: int) -> Iterator[Planned]:
    """Yield the first seed of every variant, then the further seeds of the best ones.

    best: number of variants with the highest dev score in `rows`, which is complete by then; 0:
    all. The test set does not affect the choice.
    """
    yield from (run for run in runs if run.first)
    ranked = sorted(rows, key=lambda row: -row.dev_score)
    chosen = {row.variant for row in ranked[:best]}
    yield from (run for run in runs if not run.first and (not best or run.variant in chosen))


def claimed(runs: Sequence[Planned]) -> None:
    """Start every run in its folder; raise a ModelError if a folder contains another run."""
    prints = fingerprints(runs[0].config)  # the same data for all
    for run in runs:
        with locked(run.folder):
            claim(RunFolder(run.folder), run.config, prints)


def share_data(run: Planned, runs: Sequence[Planned]) -> None:
    """Copy the tokenised data of another run with the same data settings, if there is one."""
    place = RunFolder(run.folder).data
    if place.exists():
        return
    for other in runs:
        source = RunFolder(other.folder).data
        if source.exists() and same_data(other.config, run.config):
            with locked(run.folder):
                write_folder(
                    place,
                    lambda part, whole=source: _copy(whole, part),  # type: ignore[misc]
                )
            return


def _copy(source: Path, part: Path) -> None:
    shutil.copytree(source, part, dirs_exist_ok=True)


def same_data(one: RunConfig, other: RunConfig) -> bool:
    """Return True if two runs tokenise the same data in the same way.

    Runs of one comparison may differ in their seed, which only samples lines for the tokenizer.
    """
    return (one.data, one.tokenizer, one.model.max_source) == (
        other.data,
        other.tokenizer,
        other.model.max_source,
    )

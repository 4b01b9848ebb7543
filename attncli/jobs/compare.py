"""Train mechanisms under one budget on the same data, and measure each: a row for a finished run.

OUT/train.tsv dev.tsv test.tsv    the embedded grammar's sentences, where no data was given
OUT/MECHANISM/seed-N/             a run folder as of `attn train`, and measured.json
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from attncli.data import corpus
from attncli.data.links import Index, Links, read_links
from attncli.jobs.measure import Sets, measure, measured
from attncli.jobs.mechanisms import Mechanism
from attncli.jobs.train import StopRequested, fingerprints, reporter, train
from attncli.scoring.comparison import Row
from attncli.training.config import DataConfig, RunConfig
from attncli.training.data import Progress
from attncli.training.events import RunEvent
from attncli.training.folder import RunFolder, claim
from attncli.training.lock import locked
from attncli.training.sources.text_data import as_tsv, read_dev, sample_grammar
from attncli.training.sources.text_dev import DevTexts
from attncli.training.validation import check_buildable
from models.errors import ModelError
from models.files import write_errors, write_folder, write_text


class Planned(NamedTuple):
    """One run of a comparison."""

    mechanism: str
    config: RunConfig
    folder: Path
    first: bool  # whether it is the mechanism's first seed


class Begun(NamedTuple):
    """A run that is not measured yet comes next."""

    run: Planned
    number: int  # from 1
    total: int


class Failed(NamedTuple):
    """A run that could not end; the others go on."""

    run: Planned
    error: ModelError


class Texts(NamedTuple):
    """The sentences of a comparison."""

    data: DataConfig  # for training and dev
    test: Sequence[Path]
    gold: tuple[Links, ...] | Path | None = None  # of the test set, or of dev if there is none
    gold_index: Index | None = None  # what its file counts words from, where the user says so


def embedded(base: RunConfig, out: Path) -> Texts:
    """The embedded grammar's sentences as files for all runs, whatever their seeds."""
    data = base.data
    parts = sample_grammar(data, base.train.seed)
    paths = [(out / f"{name}.tsv").absolute() for name in parts._fields]
    for path, pairs in zip(paths, parts, strict=True):
        write_same(path, as_tsv(pairs))
    train, dev, test = paths
    named = replace(data, train=(str(train),), dev=(str(dev),))
    links = [frozenset(pair.links) for pair in parts.test]
    return Texts(named, [test], tuple(Links(sure, sure) for sure in links))


def write_same(path: Path, text: str) -> None:
    """Write a file, or see that it is written already."""
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        write_text(path, text)
    elif path.read_text("utf-8") != text:
        raise ModelError(f"{path} holds other sentences", "those of these settings", "another -o")


def read_sets(texts: Texts) -> Sets:
    """Dev and test set and the gold links; a ModelError without a dev set."""
    dev = read_dev(texts.data)
    if dev is None:
        raise ModelError("no dev set", "files after --dev, to compare on")
    test = read_dev(replace(texts.data, dev=tuple(map(str, texts.test))))
    gold = texts.gold
    if isinstance(gold, Path):
        gold = read_gold(gold, test or dev, texts.gold_index)
    marks = [corpus.fingerprint(paths) for paths in (texts.data.dev, texts.test) if paths]
    known = [[sorted(row.sure), sorted(row.possible)] for row in gold or ()]
    mark = hashlib.sha256(f"{marks} {known}".encode()).hexdigest()
    return Sets(dev, test, gold, mark)


def read_gold(path: Path, pairs: DevTexts, index: Index | None) -> tuple[Links, ...]:
    """The links between the words of sentence pairs and their first references."""
    texts = zip(pairs.sources, pairs.references[0], strict=True)
    lengths = [(len(source.split()), len(target.split())) for source, target in texts]
    return read_links(path, lengths, index=index).rows


def plan(mechanisms: Sequence[Mechanism], data: DataConfig, seeds: int, out: Path) -> list[Planned]:
    """The runs: every mechanism with the first seed, then with the next."""
    return [planned(mechanism, data, n, out) for n in range(seeds) for mechanism in mechanisms]


def planned(mechanism: Mechanism, data: DataConfig, number: int, out: Path) -> Planned:
    """The run of a mechanism with one of its seeds."""
    config = mechanism.config
    seed = config.train.seed + number
    config = replace(config, data=data, train=replace(config.train, seed=seed))
    return Planned(mechanism.name, config, out / mechanism.folder / f"seed-{seed}", not number)


def check_all(mechanisms: Iterable[Mechanism]) -> None:
    """Refuse a mechanism that no model can be made of, before any is trained."""
    for name, config in mechanisms:
        try:
            check_buildable(config)
        except ModelError as error:
            found = f"mechanism {name}: {error.found}"
            raise type(error)(found, error.expected, error.hint) from None


def compare(
    runs: Sequence[Planned],
    sets: Sets,
    *,
    best: int = 0,
    device: str,
    progress: Progress,
    stop_requested: StopRequested,
) -> Iterator[RunEvent | Begun | Row | Failed]:
    """Train and measure what is not measured yet; a Row for each run, Failed where that is not.

    best: so many mechanisms go on to further seeds; 0 for all. Raises Interrupted as `train` does;
    the same call goes on from there.
    """
    first = [run for run in runs if run.first]
    going = min(best or len(first), len(first))
    total = len(first) + (len(runs) - len(first)) * going // len(first)
    claimed(first if best else runs)
    rows: list[Row] = []
    for number, run in enumerate(in_turn(runs, rows, best), 1):
        row = measured(run.folder, sets)
        if row is None:
            yield Begun(run, number, total)
            try:
                if best and not run.first:
                    claimed([run])
                share_data(run, runs)
                yield from train(
                    run.config,
                    run.folder,
                    device=device,
                    progress=progress,
                    stop_requested=stop_requested,
                )
                report = reporter(progress, stop_requested)
                row = measure(
                    run.mechanism, run.config, run.folder, sets, device=device, report=report
                )
            except ModelError as error:
                yield Failed(run, error)
                continue
        rows.append(row)
        yield row


def in_turn(runs: Sequence[Planned], rows: Sequence[Row], best: int) -> Iterator[Planned]:
    """The first seed of every mechanism, then the further seeds: of the best ones, if so many.

    The best are those of the highest dev BLEU in `rows`, which is full by then. The test set has
    no say in it.
    """
    yield from (run for run in runs if run.first)
    ranked = sorted(rows, key=lambda row: -row.dev_bleu)
    chosen = {row.mechanism for row in ranked[:best]}
    yield from (run for run in runs if not run.first and (not best or run.mechanism in chosen))


def claimed(runs: Sequence[Planned]) -> None:
    """Make every folder that of its run; one of another run is a ModelError before the work."""
    prints = fingerprints(runs[0].config)  # the same data for all
    for run in runs:
        with locked(run.folder):
            claim(RunFolder(run.folder), run.config, prints)


def share_data(run: Planned, runs: Sequence[Planned]) -> None:
    """Copy the tokenised data of another run that has the same, where there is one."""
    place = RunFolder(run.folder).data
    if place.exists():
        return
    for other in runs:
        source = RunFolder(other.folder).data
        if source.exists() and _same_data(other.config, run.config):
            with locked(run.folder):
                write_folder(
                    place,
                    lambda part, whole=source: _copy(whole, part),  # type: ignore[misc]
                )
            return


def _copy(source: Path, part: Path) -> None:
    shutil.copytree(source, part, dirs_exist_ok=True)


def _same_data(one: RunConfig, other: RunConfig) -> bool:
    """Whether the same tokenised data are made of both; the seed draws what pieces are from."""
    return (one.data, one.tokenizer, one.model.max_source) == (
        other.data,
        other.tokenizer,
        other.model.max_source,
    )

"""Sentence pairs as training data: from text files to a tokenizer and a tokenised corpus."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from attncli.data.batching import Examples
from attncli.data.dev_split import described, held_out
from attncli.data.text import corpus
from attncli.data.text.mixture import Direction, Mixture, Variation
from attncli.embedded import Splits, grammar
from attncli.tasks.translate.training.dev import read_texts
from attncli.tasks.translate.training.linked_pairs import with_links, write_links
from attncli.tasks.translate.training.source import TextData
from attncli.training.interfaces import Data, Prepared, Progress
from attncli.training.pairs import PairTable, prepare_pairs
from attncli.training.sources import (
    Preparation,
    count_words,
    read_forms,
    reading,
    size_for,
    write_forms,
    write_vocabulary,
)
from models.base.files import write_text
from models.text.normalise import with_apostrophes
from models.text.tokenizer import Tokenizer
from models.text.tokenizer import train as train_tokenizer
from models.use_config import VERBATIM, PrepareConfig, TokenizerConfig

DEMO_SIZE = 8000  # pairs of the embedded grammar, train
DEV_PAIRS = 500  # of the embedded grammar, dev and test each


def load(settings: Preparation, variation: Variation, folder: Path, progress: Progress) -> Data:
    """Return the run's data; prepare them in the run folder the first time.

    The dev set is read first, so that a mistake in it is reported before long work.
    """
    data, held = settings.data, cast("Collection[str]", frozenset())
    remarks: tuple[str, ...] = ()
    if not data.train:
        data = demonstration(data, settings.seed, folder)
    elif not data.dev:
        few = bool(settings.start_from)
        data, held = split_dev(data, folder, few=few)
    dev = read_texts(data.dev) if data.dev else None
    files = settings._replace(data=data)
    prepared = prepare(files, variation, folder / "data", progress, held)
    if dev and not settings.data.dev and settings.data.train:
        remarks = (described(len(dev), "sources"),)
    return Data(prepared._replace(remarks=remarks), dev)


def demonstration(data: TextData, seed: int, folder: Path) -> TextData:
    """Write sentences of the embedded grammar; return settings that name the files.

    The files are train.tsv, dev.tsv and test.tsv, and their links in *.links.
    """
    if not (folder / "data").exists():  # data/ is written after these files
        for name, pairs in sample_grammar(data, seed)._asdict().items():
            write_text(folder / f"{name}.tsv", as_tsv(pairs))
            write_text(folder / f"{name}.links", as_links(pairs))
    return replace(data, train=(str(folder / "train.tsv"),), dev=(str(folder / "dev.tsv"),))


def split_dev(
    data: TextData, folder: Path, *, few: bool = False
) -> tuple[TextData, Collection[str]]:
    """Hold out dev.tsv the first time; a run that was prepared without a dev set has none.

    Return settings that name the dev set, and the sources to leave out of training. The dev set has
    the first pair of each source that is held out.
    """
    path = folder / "dev.tsv"
    named = replace(data, dev=(str(path),))
    if (folder / "data").exists():  # written after dev.tsv
        return named if path.exists() else data, frozenset()
    held = held_out(pairs_of(data.train), data.dev_share, few=few)
    if not held:
        return data, held
    write_held(path, held)
    return named, held


def write_held(path: Path, held: Mapping[str, str], forms: PrepareConfig = VERBATIM) -> None:
    """Write the pairs that are held out, as a table; those without a target are left out."""
    cells = (
        [with_apostrophes(cell.replace("\t", " "), forms) for cell in row]
        for row in held.items()
        if row[1].strip()
    )
    write_text(path, "".join(f"{source}\t{target}\n" for source, target in cells))


def sample_grammar(data: TextData, seed: int) -> Splits:
    """Sample a training set and two held-out sets from the embedded grammar."""
    return grammar.split(data.demo_size or DEMO_SIZE, DEV_PAIRS, DEV_PAIRS, seed=seed)


def as_tsv(pairs: Iterable[grammar.Pair]) -> str:
    """Return sentence pairs as a table: source, tab, target."""
    return "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs)


def as_links(pairs: Iterable[grammar.Pair]) -> str:
    """Return the true links of sentence pairs, one Pharaoh line each."""
    return "".join(" ".join(f"{i}-{j}" for i, j in pair.links) + "\n" for pair in pairs)


def prepare(
    settings: Preparation,
    variation: Variation,
    folder: Path,
    progress: Progress,
    held: Collection[str] = frozenset(),
) -> Prepared:
    """Return the tokenizer and the memory-mapped corpus; prepare them the first time.

    held: sources to leave out, because they are the dev set.
    """
    files, links = settings.data.train, settings.data.links

    def learn(part: Path, source: list[str], target: list[str]) -> Tokenizer:
        write_forms(part, settings.start_from, source, target)
        return write_tokenizer(settings, source, target, part, progress)

    def finish(part: Path, tokenizer: Tokenizer, kept: np.ndarray) -> None:
        if links:
            write_links(Path(links), pairs_of(files), held, kept, tokenizer, part)

    table = PairTable(" ".join(files), partial(pairs_of, files), held)
    pairs, dropped = prepare_pairs(settings, table, folder, progress, learn=learn, finish=finish)
    with reading(f"the tokenised corpus in {folder} is"):
        examples: Examples = with_links(pairs, folder)
        forms = read_forms(folder)
    tokenizer = Tokenizer.read(folder)
    if variation.noise or variation.concatenate or variation.sampling:
        direction = Direction("", pairs.source, pairs.target)
        examples = Mixture.of([direction], tokenizer, variation)
    return Prepared(tokenizer, examples, dropped, prepare=forms)


def pairs_of(
    files: Sequence[str], held: Collection[str] = frozenset(), forms: PrepareConfig = VERBATIM
) -> Iterator[tuple[str, str]]:
    """Yield each source with its first reference.

    held: sources to leave out. forms: of a trained model, whose apostrophes both sides get, so that
    it does not learn to write others.
    """
    for source, references in corpus.read_pairs(files):
        if source not in held:
            yield with_apostrophes(source, forms), with_apostrophes(references[0], forms)


def write_tokenizer(
    settings: Preparation, source: list[str], target: list[str], folder: Path, progress: Progress
) -> Tokenizer:
    """Train a tokenizer, or take that of the initial model; write and return it."""
    config = settings.tokenizer

    def learn() -> Tokenizer:
        return train_tokenizer(
            source, target, config.size or chosen_size(source, target, config), config
        )

    return write_vocabulary(folder, settings, learn, progress)


def chosen_size(source: list[str], target: list[str], config: TokenizerConfig) -> int:
    """Return a vocabulary size for a corpus; separate vocabularies follow the longer side."""
    sides = [count_words(source), count_words(target)]
    return size_for(sum(sides) if config.joint else max(sides))


def variation_of(settings: Preparation, sampling: float) -> Variation:
    """Return how a run varies its examples. sampling: train.subword_sampling."""
    data = settings.data
    return Variation(
        seed=settings.seed,
        temperature=data.temperature,
        concatenate=data.concatenate,
        noise=data.noise,
        sampling=sampling,
        kind=settings.tokenizer.kind,
        longest=settings.longest,
    )

"""Sentence pairs as training data: from text files to a tokenizer and a tokenised corpus."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from attncli.data.batching import Examples
from attncli.data.dev_split import described, held_out
from attncli.data.text import corpus, tokens
from attncli.data.text.mixture import Direction, Mixture, Variation
from attncli.embedded import Splits, grammar
from attncli.tasks.translate.training.dev import read_texts
from attncli.tasks.translate.training.linked_pairs import read_linked, write_links
from attncli.tasks.translate.training.source import TextData
from attncli.training.interfaces import Data, Prepared, Progress
from attncli.training.sources import (
    MOST_LINES,
    Preparation,
    count_words,
    prepare_folder,
    read_forms,
    read_made,
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
    data, held = settings.data, frozenset[str]()
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
) -> tuple[TextData, frozenset[str]]:
    """Hold out dev.tsv the first time; a run that was prepared without a dev set has none.

    Return settings that name the dev set, and the sources to leave out of training. The dev set has
    the first pair of each source that is held out.
    """
    path = folder / "dev.tsv"
    named = replace(data, dev=(str(path),))
    if (folder / "data").exists():  # written after dev.tsv
        return named if path.exists() else data, frozenset()
    held = held_out((source for source, _ in pairs_of(data.train)), data.dev_share, few=few)
    if not held:
        return data, held
    write_held(path, pairs_of(data.train), held)
    return named, held


def write_held(
    path: Path,
    pairs: Iterable[tuple[str, str]],
    held: frozenset[str],
    forms: PrepareConfig = VERBATIM,
) -> None:
    """Write the first pair of each source that is held out, as a table."""
    rows: dict[str, str] = {}
    for source, target in pairs:
        if source in held and target.strip():
            rows.setdefault(source, target)
    cells = (
        [with_apostrophes(cell.replace("\t", " "), forms) for cell in row] for row in rows.items()
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
    held: frozenset[str] = frozenset(),
) -> Prepared:
    """Return the tokenizer and the memory-mapped corpus; prepare them the first time.

    held: sources to leave out, because they are the dev set.
    """
    prepare_folder(folder, lambda part: _make(settings, part, progress, held))
    with reading(f"the tokenised corpus in {folder} is"):
        dropped, pairs = tokens.Dropped(**read_made(folder)), read_linked(folder)
        forms = read_forms(folder)
    tokenizer = Tokenizer.read(folder)
    examples: Examples = pairs
    if variation.noise or variation.concatenate or variation.sampling:
        direction = Direction("", pairs.source, pairs.target)
        examples = Mixture.of([direction], tokenizer, variation)
    return Prepared(tokenizer, examples, dropped, prepare=forms)


def _make(settings: Preparation, folder: Path, progress: Progress, held: frozenset[str]) -> None:
    progress("reading", 0, 0)
    files = settings.data.train
    source, target, total = sampled_lines(pairs_of(files, held), MOST_LINES, settings.seed)
    write_forms(folder, settings.start_from, source, target)
    tokenizer = write_tokenizer(settings, source, target, folder, progress)
    kept: list[np.ndarray] = []
    dropped = tokens.write_pairs(
        pairs_of(files, held),
        tokenizer,
        folder,
        name=" ".join(files),
        max_length=settings.longest,
        advance=lambda done: progress("tokenising", done, total),
        take_kept=kept.append,
    )
    if path := settings.data.links:
        whole = np.concatenate(kept)
        write_links(Path(path), pairs_of(files), held, whole, tokenizer, folder)
    write_text(folder / "made.json", json.dumps(dropped._asdict()))


def pairs_of(
    files: Sequence[str], held: frozenset[str] = frozenset(), forms: PrepareConfig = VERBATIM
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


def sampled_lines(
    pairs: Iterable[tuple[str, str]], most: int, seed: int
) -> tuple[list[str], list[str], int]:
    """Return the sides of up to `most` pairs, sampled uniformly, and the number of all pairs.

    Source: Vitter 1985, algorithm R.
    """
    source: list[str] = []
    target: list[str] = []
    rng, total = random.Random(seed), 0
    for total, (text, translation) in enumerate(pairs, 1):
        if total <= most:
            source.append(text)
            target.append(translation)
        elif (place := rng.randrange(total)) < most:
            source[place], target[place] = text, translation
    return source, target, total


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

"""Training data of text models."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from pathlib import Path
from typing import cast

import numpy as np
import torch

from attncli.data import corpus
from attncli.data.alignments import read_word_links, target_weights, token_links
from attncli.data.batching import Examples
from attncli.data.corpus import described, held_out
from attncli.data.mixture import Direction, Mixture, Variation, shares_of
from attncli.data.tokens import Side, SideWriter, TokenPairs, read_side
from attncli.training.interfaces import Data, Progress
from attncli.training.pairs import PairTable, prepare_pairs
from attncli.training.settings.corpora import CorpusConfig
from attncli.training.sources import (
    Preparation,
    read_forms,
    reading,
    write_forms,
)
from attncli.training.vocabulary import count_words, learn_tokenizer, size_for, write_vocabulary
from attncli.translate.dev import read_texts
from attncli.translate.settings import TextData
from models.core.errors import ModelError
from models.core.files import write_text
from models.core.types import Batch
from models.core.use_config import VERBATIM, PrepareConfig, TokenizerConfig
from models.storage.replay import read_replay
from models.text.normalise import with_apostrophes
from models.text.tokenizer import Tokenizer

# Sentence pairs with word links, which a model learns to attend to: guided alignment.
#
# The loss gets  -w sum_t sum_s G_ts log a_ts,  where G are the links as token weights, a the mean
# of the heads of the layer that `attn align` reads by default, and w is train.attention.regions. A
# token without links adds nothing. Sources: Chen et al. 2016; Garg et al. 2019, section 3.3.


NAME = "links"


@dataclass(frozen=True)
class LinkedPairs(TokenPairs):
    """A tokenised parallel corpus with the links of each pair."""

    links: Side  # of each pair: source token, target token, source token, target token, ..

    def batch(self, numbers: np.ndarray) -> Batch:
        """Return the padded batch of some pairs with where attention should be, (B, T, S)."""
        batch = super().batch(numbers)
        shape = batch.target_out.shape[1], batch.source.shape[1]
        pairs = [self.links[number].reshape(-1, 2) for number in numbers]
        return batch._replace(regions=torch.from_numpy(target_weights(pairs, shape)))


def write_links(
    path: Path,
    pairs: Iterable[tuple[str, str]],
    held: Collection[str],
    kept: np.ndarray,
    tokenizer: Tokenizer,
    folder: Path,
) -> None:
    """Write the token links of the pairs that are trained on.

    path: file of word links, a line for each of `pairs`. held: sources that are left out. kept
    (N,): True for each other pair that is written.
    """
    pairs = list(pairs)
    rows = zip(pairs, read_word_links(path, len(pairs)), strict=True)
    chosen = compress((row for row in rows if row[0][0] not in held), kept)
    writer = SideWriter(folder, NAME, np.dtype(np.uint32))
    for (source, target), links in chosen:
        ids = tokenizer.encode(source), tokenizer.encode_target(target)
        writer.add([token_links(links, *ids, tokenizer).flatten().tolist()])
    writer.close()


def with_links(pairs: TokenPairs, folder: Path) -> TokenPairs:
    """Return the tokenised corpus of a run with its links, if it has some."""
    if not (folder / f"{NAME}.ids").exists():
        return pairs
    return LinkedPairs(pairs.source, pairs.target, read_side(folder, NAME))


def load(settings: Preparation, variation: Variation, folder: Path, progress: Progress) -> Data:
    """Return the run's data; prepare them in the run folder the first time.

    The dev set is read first, so that a mistake in it is reported before long work.
    """
    data, held = settings.data, cast("Collection[str]", frozenset())
    remarks: tuple[str, ...] = ()
    if not data.dev:
        few = bool(settings.start_from)
        data, held = split_dev(data, folder, few=few)
    dev = read_texts(data.dev) if data.dev else None
    files = settings._replace(data=data)
    examples = prepare(files, variation, folder / "data", progress, held)
    if dev and not settings.data.dev:
        remarks = (described(len(dev), "sources"),)
    return examples._replace(dev=dev, remarks=remarks)


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


def prepare(
    settings: Preparation,
    variation: Variation,
    folder: Path,
    progress: Progress,
    held: Collection[str] = frozenset(),
) -> Data:
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
    return Data(tokenizer, examples, dropped, prepare=forms)


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
        size = config.size or chosen_size(source, target, config)
        return learn_tokenizer(source, target, size, config)

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


# The replay set of an initial model as corpora of a run, a part of them to measure what is kept.
#
# replay/en-de.tsv      pairs to train on: references and outputs of the initial model
# replay/dev.en-de.tsv  the first TESTED sources of the direction with their references


TESTED = 30  # sources of a direction; they are decoded at the end of the run


def replay_corpora(start_from: str, folder: Path) -> tuple[list[CorpusConfig], list[CorpusConfig]]:
    """Write the replay set of a model into a run folder; return its training and dev corpora."""
    pairs = read_replay(Path(start_from)) if start_from else []
    if not pairs:
        raise ModelError(
            f"data.replay with {start_from or 'no initial model'}, which has no replay set",
            "--start-from with a model that has one",
            "set data.replay=0",
        )
    place = folder / "replay"
    place.mkdir(exist_ok=True)
    train, dev = [], []
    for direction in dict.fromkeys(pair.direction for pair in pairs):
        rows = [(pair.source, pair.target) for pair in pairs if pair.direction == direction]
        references = dict(reversed(rows))  # the first target of each source
        tested = list(dict.fromkeys(source for source, _ in rows))[:TESTED]
        kept = [row for row in dict(rows).items() if row[0] not in tested]
        train.append(_write(place / f"{direction}.tsv", direction, kept))
        measured = [(source, references[source]) for source in tested]
        dev.append(_write(place / f"dev.{direction}.tsv", direction, measured))
    return train, dev


def _write(path: Path, direction: str, rows: Sequence[tuple[str, str]]) -> CorpusConfig:
    if not path.exists():
        write_text(path, "".join(f"{source}\t{target}\n" for source, target in rows))
    return CorpusConfig(direction, (str(path),), both=False)


def example_share(directions: Sequence[Direction], own: int, share: float) -> float:
    """Return the share of the examples that has a share of the target tokens.

    The sentences of the replay set may be much shorter than those of the run's corpora.
    """
    lengths = [
        np.concatenate([direction.target.lengths for direction in part]).mean()
        for part in (directions[:own], directions[own:])
    ]
    ratio = share / (1 - share) * lengths[0] / lengths[1]
    return float(ratio / (1 + ratio))


def with_replay_share(
    directions: Sequence[Direction], own: int, share: float, temperature: float
) -> list[Direction]:
    """Return directions with weights that give those of the replay set their share of an epoch.

    own: number of directions of the run's corpora, which come first. Replay directions that the
    corpora have too, which lose the most, get half of the share; within a half all are equal.
    """
    parts = shares_of(directions, temperature)
    names = [direction.name for direction in directions]
    repeated = np.isin(names[own:], names[:own])
    halves = [1 / np.maximum(1, group.sum()) * group for group in (repeated, ~repeated)]
    replayed = sum(halves) / sum(half.sum() for half in halves)
    factors = np.ones(len(parts))
    factors[own:] = share / (1 - share) * parts[:own].sum() * replayed / parts[own:]
    return [
        direction._replace(weight=direction.weight * float(factor))
        for direction, factor in zip(directions, factors, strict=True)
    ]

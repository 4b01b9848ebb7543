"""From text files to a tokenizer and a tokenised corpus in the run folder."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from attncli.data import corpus, grammar, tokens
from attncli.training.config import DataConfig, RunConfig
from models.config import TokenizerConfig
from models.errors import ModelError
from models.files import write_bytes, write_folder, write_text
from models.tokenizer import Tokenizer
from models.tokenizer import train as train_tokenizer

LARGEST, SMALLEST = 32_000, 400
DEV_PAIRS = 500  # of the embedded grammar, dev and test each

Show = Callable[[str, float, float], None]  # what is going on, how much is done, of how much


class Prepared(NamedTuple):
    """Data ready for training."""

    tokenizer: Tokenizer
    pairs: tokens.TokenPairs
    dropped: tokens.Dropped


class DevSet(NamedTuple):
    """Sentences that are translated and scored while training."""

    sources: list[str]
    references: list[list[str]]  # one list per reference, each as long as the sources


def write_demonstration(data: DataConfig, seed: int, folder: Path) -> DataConfig:
    """Draw the embedded grammar's sentences into TSV files; the data settings that name them."""
    parts = grammar.split(
        data.demo_pairs,
        DEV_PAIRS,
        DEV_PAIRS,
        source=data.demo_source,
        target=data.demo_target,
        seed=seed,
    )
    for name, pairs in zip(("train", "dev", "test"), parts, strict=True):
        lines = (f"{pair.source}\t{pair.target}\n" for pair in pairs)
        write_text(folder / f"{name}.tsv", "".join(lines))
    return DataConfig(
        train=(str(folder / "train.tsv"),),
        dev=(str(folder / "dev.tsv"),),
        max_length=data.max_length,
    )


def prepare(config: RunConfig, data: DataConfig, folder: Path, show: Show) -> Prepared:
    """The tokenizer and the memory-mapped corpus; made once, then read."""
    if not (folder / "made.json").exists():
        write_folder(folder, lambda part: _make(config, data, part, show))
    made = json.loads((folder / "made.json").read_text("utf-8"))
    pairs = tokens.read_pairs(folder)
    if pairs.count == 0:
        raise ModelError(f"no usable pair in {' '.join(data.train)}", "text on both sides")
    return Prepared(Tokenizer.read(folder), pairs, tokens.Dropped(**made))


def read_dev(data: DataConfig) -> DevSet | None:
    """The dev set, if there is one."""
    if not data.dev:
        return None
    pairs = list(corpus.read_pairs(data.dev))
    most = max(len(pair.references) for pair in pairs)
    # a sentence with fewer references than others repeats its first: no reference counts as empty
    columns = [
        [pair.references[i] if i < len(pair.references) else pair.references[0] for pair in pairs]
        for i in range(most)
    ]
    return DevSet([pair.source for pair in pairs], columns)


def _make(config: RunConfig, data: DataConfig, folder: Path, show: Show) -> None:
    source, target, total = sampled_lines(data, config.tokenizer.sample, config.train.seed)
    show("learning pieces", 0, 1)
    size = config.tokenizer.size or chosen_size(source, target, config.tokenizer)
    tokenizer = train_tokenizer(source, target, size, config.tokenizer)
    show("learning pieces", 1, 1)
    for name, content in tokenizer.files().items():
        write_bytes(folder / name, content)
    dropped = tokens.write_pairs(
        ((pair.source, pair.references[0]) for pair in corpus.read_pairs(data.train)),
        tokenizer,
        folder,
        max_length=min(data.max_length, config.model.max_source),
        advance=lambda done: show("tokenising", done, total),
    )
    write_text(folder / "made.json", json.dumps(dropped._asdict()))


def sampled_lines(data: DataConfig, most: int, seed: int) -> tuple[list[str], list[str], int]:
    """Up to `most` pairs' sides, drawn evenly from the whole corpus, and the count of all pairs."""
    reservoir: list[corpus.Pair] = []
    chance, total = random.Random(seed), 0
    for pair in corpus.read_pairs(data.train):
        total += 1
        if len(reservoir) < most:
            reservoir.append(pair)
        elif (place := chance.randrange(total)) < most:
            reservoir[place] = pair
    if not total:
        raise ModelError(f"no sentence pair in {' '.join(data.train)}", "text on both sides")
    return [p.source for p in reservoir], [p.references[0] for p in reservoir], total


def chosen_size(source: list[str], target: list[str], config: TokenizerConfig) -> int:
    """A vocabulary size for a corpus: ten times the root of its running words, in hundreds.

    8,600 for the 30,000 pairs of Multi30k, 32,000 from some ten million words on; separate
    vocabularies are counted by side, the larger one deciding.
    """
    sides = [_words(source), _words(target)]
    words = sum(sides) if config.joint else max(sides)
    size = round(10 * math.sqrt(words) / 100) * 100
    return max(SMALLEST, min(LARGEST, size))


def _words(lines: Iterable[str]) -> int:
    return sum(len(line.split()) for line in islice(lines, None))

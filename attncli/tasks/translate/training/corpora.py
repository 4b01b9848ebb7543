"""Corpora of several languages as a run's data: one tokenizer, one tokenised corpus each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from attncli.data.text import corpus, tokens
from attncli.data.text.mixture import Direction, Mixture, Variation, shares_of
from attncli.data.text.tokens import write_pairs
from attncli.tasks.translate.training.data import pairs_of, sampled_lines, write_tokenizer
from attncli.tasks.translate.training.dev import DevTexts
from attncli.tasks.translate.training.dev_directions import DevDirections
from attncli.terminal.messages import counted
from attncli.training.interfaces import Data, Prepared, Progress
from attncli.training.settings.config import DataConfig
from attncli.training.settings.corpora import CorpusConfig
from attncli.training.sources.preparation import (
    MOST_LINES,
    Preparation,
    prepare_folder,
    read_forms,
    read_made,
    reading,
    write_forms,
)
from models.base.files import write_text
from models.text.languages import BACK_TRANSLATED
from models.text.tokenizer import Tokenizer

PREFIX = 2  # tokens in front of a source at most: target language and <bt>


def load(settings: Preparation, variation: Variation, folder: Path, progress: Progress) -> Data:
    """Return the run's data; it is prepared in the run folder the first time."""
    dev = read_dev(settings.data.dev_corpora)  # first, so that a mistake in it shows early
    place = folder / "data"
    prepare_folder(place, lambda part: _make(settings, part, progress))
    with reading(f"the tokenised corpora in {place} are"):
        dropped = [tokens.Dropped(**record) for record in read_made(place)]
        stored = [tokens.read_pairs(place / str(n)) for n in range(len(dropped))]
        forms = read_forms(place)
    tokenizer = Tokenizer.read(place)
    directions = directions_in(settings.data.corpora, stored, tokenizer)
    prepared = Prepared(
        tokenizer,
        Mixture.of(directions, tokenizer, variation),
        tokens.Dropped(*(sum(column) for column in zip(*dropped, strict=True))),
        remarks=(described(directions, variation.temperature),),
        prepare=forms,
    )
    return Data(prepared, dev)


def fingerprints(data: DataConfig) -> dict[str, str]:
    """Return hashes of the corpora: languages, direction, tag and content."""
    return {name: _hash(getattr(data, name)) for name in ("corpora", "dev_corpora")}


def _hash(corpora: Iterable[CorpusConfig]) -> str:
    parts = [
        (one.languages, one.both, one.tagged, corpus.fingerprint(one.files)) for one in corpora
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest() if parts else ""


def read_dev(corpora: Iterable[CorpusConfig]) -> DevDirections | None:
    """Return the dev sets of all directions, or None if there are none.

    The reverse direction of a corpus with several references uses the first of them as source.
    """
    parts = tuple(part for one in corpora for part in _dev_of(one))
    return DevDirections(parts) if parts else None


def _dev_of(config: CorpusConfig) -> Iterator[DevTexts]:
    pairs = list(corpus.read_pairs(config.files))
    sources = [pair.source for pair in pairs]
    columns = corpus.reference_columns(pairs)
    for turned, (source, target) in enumerate(config.directions):
        texts, references = (columns[0], [sources]) if turned else (sources, columns)
        yield DevTexts(texts, references, to=target, name=f"{source}-{target}")


def directions_in(
    corpora: Iterable[CorpusConfig], stored: Iterable[tokens.TokenPairs], tokenizer: Tokenizer
) -> list[Direction]:
    """Return the directions of the corpora; several corpora of one direction stay separate."""
    found = []
    for config, pairs in zip(corpora, stored, strict=True):
        for turned, (source, target) in enumerate(config.directions):
            sides = (pairs.target, pairs.source) if turned else (pairs.source, pairs.target)
            prefix = [tokenizer.language_id(target)]
            if config.tagged:
                prefix.append(tokenizer.control_id(BACK_TRANSLATED))
            name = f"{source}-{target}"
            found.append(Direction(name, *sides, tuple(prefix), config.weight))
    return found


def described(directions: Sequence[Direction], temperature: float) -> str:
    """Return the directions with their numbers of pairs and their shares of an epoch."""
    parts = shares_of(directions, temperature)
    return "directions: " + ", ".join(
        f"{direction.name} {counted(direction.pairs, 'pair')} ({100 * part:.0f} %)"
        for direction, part in zip(directions, parts, strict=True)
    )


def _make(settings: Preparation, folder: Path, progress: Progress) -> None:
    """Train the tokenizer on an equal share of every corpus, and tokenise the corpora."""
    corpora = settings.data.corpora
    progress("reading", 0, 0)
    first: list[str] = []
    second: list[str] = []
    totals = []
    for one in corpora:
        most = max(1, MOST_LINES // len(corpora))
        source, target, total = sampled_lines(pairs_of(one.files), most, settings.seed)
        first, second = first + source, second + target
        totals.append(total)
    write_forms(folder, settings.start_from, first, second)
    tokenizer = write_tokenizer(settings, first, second, folder, progress)
    made = [
        _tokenise(one, tokenizer, folder / str(n), settings.longest, total, progress)
        for n, (one, total) in enumerate(zip(corpora, totals, strict=True))
    ]
    write_text(folder / "made.json", json.dumps([dropped._asdict() for dropped in made]))


def _tokenise(
    one: CorpusConfig,
    tokenizer: Tokenizer,
    folder: Path,
    longest: int,
    total: int,
    progress: Progress,
) -> tokens.Dropped:
    folder.mkdir()
    return write_pairs(
        pairs_of(one.files),
        tokenizer,
        folder,
        name=" ".join(one.files),
        max_length=longest - PREFIX,
        advance=lambda done: progress(f"tokenising {one.languages}", done, total),
    )

"""Corpora of several languages as a run's data: one tokenizer, one tokenised corpus each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from attncli.data import corpus, tokens
from attncli.data.corpus import FEW, LEAST, MOST, held_out
from attncli.data.corpus import described as described_dev
from attncli.data.mixture import Direction, Mixture, Variation, shares_of
from attncli.data.tokens import write_pairs
from attncli.terminal.messages import counted
from attncli.training.interfaces import Data, Progress
from attncli.training.pairs import sampled_lines
from attncli.training.settings.corpora import CorpusConfig
from attncli.training.sources import (
    MOST_LINES,
    Preparation,
    prepare_folder,
    read_forms,
    read_made,
    reading,
    start_forms,
    write_forms,
)
from attncli.translate.data import (
    example_share,
    pairs_of,
    replay_corpora,
    with_replay_share,
    write_held,
    write_tokenizer,
)
from attncli.translate.dev import DevDirections, DevTexts
from attncli.translate.settings import TextData
from models.core.files import write_text
from models.core.use_config import TokenizerConfig
from models.text.languages import BACK_TRANSLATED, TO, with_source
from models.text.tokenizer import Tokenizer

PREFIX = 2  # tokens in front of a source at most: target language and <bt>


def load(settings: Preparation, variation: Variation, folder: Path, progress: Progress) -> Data:
    """Return the run's data; it is prepared in the run folder the first time."""
    dev_corpora = list(settings.data.dev_corpora)
    languages = settings.tokenizer
    dev = read_dev(dev_corpora, languages)  # first, so that a mistake in it shows early
    remarks: tuple[str, ...] = ()
    held: list[Collection[str]] = []
    if not dev_corpora:
        dev_corpora, held = split_dev(settings, folder)
        if dev := read_dev(dev_corpora, languages):
            remarks = (described_dev(len(dev), "sources", "--dev-corpus"),)
    replay = replay_corpora(settings.start_from, folder) if settings.data.replay else ([], [])
    own = sum(len(corpus.directions) for corpus in settings.data.corpora)
    data = replace(settings.data, corpora=(*settings.data.corpora, *replay[0]))
    settings = settings._replace(data=data)
    place = folder / "data"
    prepare_folder(place, lambda part: _make(settings, held, part, progress))
    with reading(f"the tokenised corpora in {place} are"):
        dropped = [tokens.Dropped(**record) for record in read_made(place)]
        stored = [tokens.read_pairs(place / str(n)) for n in range(len(dropped))]
        forms = read_forms(place)
    tokenizer = Tokenizer.read(place)
    directions = directions_in(data.corpora, stored, tokenizer, languages)
    count = sum(direction.pairs for direction in directions[:own])
    if data.replay:
        share = example_share(directions, own, data.replay)
        variation = replace(variation, examples=round(count / (1 - share)))
        directions = with_replay_share(directions, own, share, data.temperature)
    return Data(
        tokenizer,
        Mixture.of(directions, tokenizer, variation),
        tokens.Dropped(*(sum(column) for column in zip(*dropped, strict=True))),
        dev,
        read_dev(replay[1], languages),
        prepare=forms,
        remarks=(described(directions[:own], data.replay, variation.temperature), *remarks),
        pairs=count,
    )


def split_dev(
    settings: Preparation, folder: Path
) -> tuple[list[CorpusConfig], list[Collection[str]]]:
    """Hold out a part of each corpus, as dev.0.tsv and so on, the first time.

    Return the dev corpora, and for each corpus the first sides to leave out of training. A run
    that was prepared without a dev set has none. Back-translated sides are no references.
    """
    data, found = settings.data, list[CorpusConfig]()
    held: list[Collection[str]] = []
    most = max(FEW, MOST // sum(len(one.directions) for one in data.corpora))
    few = bool(settings.start_from) or most < LEAST
    is_new = not (folder / "data").exists()
    for number, one in enumerate(data.corpora):
        path = folder / f"dev.{number}.tsv"
        sources: dict[str, str] = {}
        if is_new and not one.tagged:
            sources = held_out(pairs_of(one.files), data.dev_share, few=few, most=most)
        if sources:
            write_held(path, sources, start_forms(settings.start_from))
        held.append(sources)
        if path.exists():
            found.append(replace(one, files=(str(path),)))
    return found, held


def fingerprints(data: TextData) -> dict[str, str]:
    """Return hashes of the corpora: languages, direction, tag and content."""
    return {name: _hash(getattr(data, name)) for name in ("corpora", "dev_corpora")}


def _hash(corpora: Iterable[CorpusConfig]) -> str:
    parts = [
        (one.languages, one.both, one.tagged, corpus.fingerprint(one.files)) for one in corpora
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest() if parts else ""


def read_dev(corpora: Iterable[CorpusConfig], languages: TokenizerConfig) -> DevDirections | None:
    """Return the dev sets of all directions, or None if there are none.

    The reverse direction of a corpus with several references uses the first of them as source.
    """
    parts = tuple(part for one in corpora for part in _dev_of(one, languages))
    return DevDirections(parts) if parts else None


def _dev_of(config: CorpusConfig, languages: TokenizerConfig) -> Iterator[DevTexts]:
    pairs = list(corpus.read_pairs(config.files))
    sources = [pair.source for pair in pairs]
    columns = corpus.reference_columns(pairs)
    for turned, (source, target) in enumerate(config.directions):
        texts, references = (columns[0], [sources]) if turned else (sources, columns)
        to = with_source(languages, target, source)
        yield DevTexts(texts, references, to=to, name=f"{source}-{target}")


def directions_in(
    corpora: Iterable[CorpusConfig],
    stored: Iterable[tokens.TokenPairs],
    tokenizer: Tokenizer,
    languages: TokenizerConfig,
) -> list[Direction]:
    """Return the directions of the corpora; several corpora of one direction stay separate.

    languages: if its language_tokens are both, a source begins with its own language, and a target
    with the target language.
    """
    found = []
    for config, pairs in zip(corpora, stored, strict=True):
        for turned, (source, target) in enumerate(config.directions):
            sides = (pairs.target, pairs.source) if turned else (pairs.source, pairs.target)
            to = with_source(languages, target, source)
            prefix = [tokenizer.language_id(to.partition(TO)[0])]
            if config.tagged:
                prefix.append(tokenizer.control_id(BACK_TRANSLATED))
            starts = tuple(prefix), tuple(tokenizer.target_start(to))
            found.append(Direction(f"{source}-{target}", *sides, *starts, config.weight))
    return found


def described(directions: Sequence[Direction], replay: float, temperature: float) -> str:
    """Return the directions with their numbers of pairs and their shares of an epoch.

    replay: share of the replay set, which is named too.
    """
    parts = shares_of(directions, temperature) * (1 - replay)
    named = [
        f"{direction.name} {counted(direction.pairs, 'pair')} ({100 * part:.0f} %)"
        for direction, part in zip(directions, parts, strict=True)
    ]
    return "directions: " + ", ".join(
        [*named, f"replay set of the initial model ({100 * replay:.0f} %)"] if replay else named
    )


def _make(
    settings: Preparation, held: Sequence[Collection[str]], folder: Path, progress: Progress
) -> None:
    """Train the tokenizer on an equal share of every corpus, and tokenise the corpora.

    held: of the first corpora, the first sides to leave out.
    """
    corpora = settings.data.corpora
    left_out = [*held, *[cast("Collection[str]", ())] * (len(corpora) - len(held))]
    progress("reading", 0, 0)
    first: list[str] = []
    second: list[str] = []
    totals = []
    for one, out in zip(corpora, left_out, strict=True):
        most = max(1, MOST_LINES // len(corpora))
        source, target, total = sampled_lines(pairs_of(one.files, out), most, settings.seed)
        first, second = first + source, second + target
        totals.append(total)
    forms = start_forms(settings.start_from)
    write_forms(folder, settings.start_from, first, second)
    tokenizer = write_tokenizer(settings, first, second, folder, progress)
    made = [
        _tokenise(
            (one, pairs_of(one.files, out, forms)),
            tokenizer,
            folder / str(n),
            settings.longest,
            _advance(progress, f"tokenising {one.languages}", total),
        )
        for n, (one, out, total) in enumerate(zip(corpora, left_out, totals, strict=True))
    ]
    write_text(folder / "made.json", json.dumps([dropped._asdict() for dropped in made]))


def _advance(progress: Progress, label: str, total: int) -> Callable[[int], None]:
    return lambda done: progress(label, done, total)


def _tokenise(
    corpus_pairs: tuple[CorpusConfig, Iterator[tuple[str, str]]],
    tokenizer: Tokenizer,
    folder: Path,
    longest: int,
    advance: Callable[[int], None],
) -> tokens.Dropped:
    folder.mkdir()
    one, pairs = corpus_pairs
    return write_pairs(
        pairs,
        tokenizer,
        folder,
        name=" ".join(one.files),
        max_length=longest - PREFIX,
        advance=advance,
    )

"""Sentence pairs as training data: one corpus, or corpora of several languages.

`load` decides which: one corpus has no languages, and every function asks the corpus for these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, compress
from operator import itemgetter
from pathlib import Path

import numpy as np

from attncli.data import corpus
from attncli.data.alignments import read_word_links, token_links
from attncli.data.corpus import MAX_DEV_SOURCES, MIN_DEV_SOURCES, SMALL_DEV_SOURCES, held_out
from attncli.terminal.messages import counted
from attncli.training.dev import Data
from attncli.training.examples import Examples, Side
from attncli.training.interfaces import Progress
from attncli.training.prepared import (
    Learn,
    PairTable,
    Preparation,
    learn_tokenizer,
    load_tables,
    read_forms,
    reading,
    start_forms,
    write_forms,
)
from attncli.training.tokens import write_links
from attncli.translate.corpora import CorpusConfig
from attncli.translate.dev import DevDirections, DevTexts
from attncli.translate.lexicon import (
    DIRECTION,
    marked_pairs,
    packed_entries,
    run_entries,
    with_marks,
)
from attncli.translate.mixture import Direction, Mixture, Variation, shares_of
from attncli.translate.source import TextTraining
from models.core.annexes import need_part
from models.core.files import write_text
from models.core.use_config import VERBATIM, PrepareConfig, TokenizerConfig
from models.text.languages import BACK_TRANSLATED, TO, with_source
from models.text.lexicon import OPEN, Lexicon
from models.text.normalise import with_apostrophes
from models.text.tokenizer import Tokenizer

ReadPairs = Callable[[], Iterable[tuple[str, str]]]
PREFIX = 2  # tokens in front of a source at most: target language and <bt>
SHOWN = 10  # directions of a corpus that a line names


def load(source: TextTraining, folder: Path, progress: Progress) -> Data:
    """Return the run's data; a mistake in the dev set is reported before long work."""
    data, place, several = source.data, folder / "data", bool(source.data.corpora)
    own = data.corpora or (CorpusConfig(files=data.train, both=False),)
    named = data.dev_corpora or ((CorpusConfig(files=data.dev, both=False),) if data.dev else ())
    dev = read_dev(named, source.tokenizer)
    held: list[Collection[str]] = [()] * len(own)
    if not named:
        parts, held = split_dev(source, own, folder)
        dev = read_dev(parts, source.tokenizer)
    replay = replay_corpora(source, folder) if data.replay and several else ([], [])
    lexicon = lexicon_of(source, own) if data.lexicon else b""
    corpora, tables = run_tables(source, own, held, replay[0], lexicon)
    stored, dropped, tokenizer = load_tables(
        source, tables, place, progress, preparation(source, tables)
    )
    with reading(f"the preparation of texts in {place} is"):
        forms = read_forms(place)
    examples: Examples = stored[0]
    count, sides, remarks = 0, [one.sides for one in stored], tuple[str, ...]()
    if several:
        first = sum(len(one.directions) for one in corpora[: len(corpora) - len(replay[0])])
        directions = directions_in(corpora, sides, tokenizer, source.tokenizer)
        examples, count, shares = mixture(source, directions, first, tokenizer)
        remarks = (shares,)
    elif data.noise or data.concatenate or source.train.subword_sampling:
        examples = Mixture.of([Direction("", *sides[0])], tokenizer, variation_of(source))
    return Data(
        tokenizer,
        examples,
        dropped,
        dev,
        read_dev(replay[1], source.tokenizer),
        prepare=forms,
        lexicon=lexicon,
        remarks=remarks,
        pairs=count,
    )


def replay_corpora(source: TextTraining, folder: Path) -> tuple[list[CorpusConfig], ...]:
    """Return the corpora of what the initial model knew: those to train on, those to measure."""
    replay = need_part("start", "replay", "data.replay")
    found: tuple[list[CorpusConfig], ...] = replay.replay_corpora(source.start_from, folder)
    return found


def test_set(source: TextTraining, files: Sequence[Path], progress: Progress) -> DevTexts:
    """Return a test set."""
    return dev_texts(files)


def dev_texts(files: Sequence[Path | str]) -> DevTexts:
    """Return the sentence pairs of some files as a set to evaluate."""
    pairs = list(corpus.read_pairs(files))
    return DevTexts([pair.source for pair in pairs], [pair.references for pair in pairs])


def mixture(
    source: TextTraining, directions: Sequence[Direction], own: int, tokenizer: Tokenizer
) -> tuple[Mixture, int, str]:
    """Return the examples of several directions, the number of the run's own pairs, and a remark.

    own: number of directions of the run's corpora; those of a replay set follow.
    """
    data, variation = source.data, variation_of(source)
    count = sum(direction.pairs for direction in directions[:own])
    shares = described(directions[:own], data.replay, variation.temperature)
    if data.replay:
        replay = need_part("start", "replay", "data.replay")
        share = replay.example_share(directions, own, data.replay)
        variation = replace(variation, examples=round(count / (1 - share)))
        directions = replay.with_replay_share(directions, own, share, data.temperature)
    return Mixture.of(directions, tokenizer, variation), count, shares


def pairs_of(files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each source with its first reference."""
    for source, references in corpus.read_pairs(files):
        yield source, references[0]


def run_tables(
    source: TextTraining,
    own: Sequence[CorpusConfig],
    held: Sequence[Collection[str]],
    replayed: Sequence[CorpusConfig],
    lexicon: bytes,
) -> tuple[list[CorpusConfig], list[PairTable]]:
    """Return the corpora of a run, those of candidates and the replay set, with their tables.

    Candidates of the words of a lexicon follow the pairs of one corpus, and are corpora of their
    own, one for each direction, of corpora with languages.
    """

    def marked(
        one: CorpusConfig, out: Collection[str], way: str = DIRECTION, turned: int = 0
    ) -> ReadPairs:
        how = (Lexicon(lexicon), out, source.train.seed, way, bool(turned))
        return lambda: marked_pairs(pairs_of(one.files), *how, alone=bool(one.languages))

    found: list[tuple[CorpusConfig, ReadPairs]] = [
        (one, partial(pairs_of, one.files)) for one in (*own, *replayed)
    ]
    if lexicon and not own[0].languages:
        found = [(own[0], marked(own[0], held[0]))]
    elif lexicon:
        found[len(own) : len(own)] = [
            (replace(one, languages=name, both=False), marked(one, out, name, turned))
            for one, out in zip(own, held, strict=True)
            for turned, way in enumerate(() if one.tagged else one.directions)
            for name in ["-".join(way)]
        ]
    outs = [*held, *[()] * (len(found) - len(held))]
    return [one for one, _ in found], [
        table_of(source, number, *each, out)
        for number, (each, out) in enumerate(zip(found, outs, strict=True))
    ]


def table_of(
    source: TextTraining, number: int, one: CorpusConfig, read: ReadPairs, held: Collection[str]
) -> PairTable:
    """Return a corpus as a table without what is held out; one without languages as the files are.

    Others leave room for the tokens of languages. number: of the corpus.
    """
    table = PairTable(" ".join(one.files), read, source.longest, held, forms_of(source, one))
    if one.languages:
        label, longest = f"tokenising {one.languages}", source.longest - PREFIX
        table = table._replace(longest=longest, part=str(number), label=label)
    return table


def forms_of(source: TextTraining, one: CorpusConfig) -> PrepareConfig:
    """Return what is changed in the texts of a corpus.

    Those with languages get the apostrophes of the initial model, so that it does not learn to
    write others.
    """
    return start_forms(source.start_from) if one.languages else VERBATIM


def directions_of(one: CorpusConfig) -> tuple[tuple[str, str], ...]:
    """Return the directions of a corpus; one without languages has a single one without names."""
    return one.directions if one.languages else (("", ""),)


def lexicon_of(source: TextTraining, corpora: Sequence[CorpusConfig]) -> bytes:
    """Return the packed lexicon of a run, with the counts of its forms in the sources."""
    entries = run_entries(Path(source.data.lexicon), source.data.corpora)
    sources: dict[str, list[Iterable[str]]] = {}
    for one in corpora:
        for turned, way in enumerate(directions_of(one)):
            texts = map(itemgetter(turned), pairs_of(one.files))
            sources.setdefault("-".join(way), []).append(texts)
    return packed_entries(
        entries, {way: chain.from_iterable(texts) for way, texts in sources.items()}
    )


def preparation(source: TextTraining, tables: Sequence[PairTable]) -> Preparation:
    """Return how the corpora of a run are tokenised, with one tokenizer for all of them."""
    links = source.data.links

    def learner(part: Path, sources: list[str], targets: list[str]) -> Learn:
        pairs = zip(sources, targets, strict=True)
        sides = [*zip(*(pair for pair in pairs if OPEN not in pair[0]), strict=True)] or [(), ()]
        plain, others = map(list, sides)
        write_forms(part, source.start_from, plain, others)
        return partial(learn_tokenizer, plain, others, source.tokenizer)

    def finish(part: Path, tokenizer: Tokenizer, kept: np.ndarray) -> None:
        if links:
            write_links(part, links_of(Path(links), tables[0], kept, tokenizer))

    found = Preparation(learner, finish=finish)
    return found._replace(change=with_marks) if source.data.lexicon else found


def links_of(
    path: Path, table: PairTable, kept: np.ndarray, tokenizer: Tokenizer
) -> Iterator[np.ndarray]:
    """Yield the token links (N, 2) of the pairs that are trained on, for guided alignment.

    The loss gets  -w sum_t sum_s G_ts log a_ts,  where G are the links as token weights, a the mean
    of the heads of the layer that `attn align` reads by default, and w is train.attention.regions.
    A token without links adds nothing. Sources: Chen et al. 2016; Garg et al. 2019, section 3.3.

    path: file of word links, a line for each pair of the files. kept (N,): True for each pair of
    the table that is written.
    """
    pairs = list(table.read())
    rows = zip(pairs, read_word_links(path, len(pairs)), strict=True)
    chosen = compress((row for row in rows if row[0][0] not in table.held), kept)
    for (source, target), links in chosen:
        ids = tokenizer.encode(source), tokenizer.encode_target(target)
        yield token_links(links, *ids, tokenizer)


def split_dev(
    source: TextTraining, corpora: Sequence[CorpusConfig], folder: Path
) -> tuple[list[CorpusConfig], list[Collection[str]]]:
    """Hold out a part of each corpus, as dev.tsv or dev.0.tsv and so on, the first time.

    Return the dev corpora, and for each corpus the first sides to leave out of training. A run
    that was prepared without a dev set has none. Back-translated sides are no references.
    """
    found, held = list[CorpusConfig](), list[Collection[str]]()
    directions = sum(len(directions_of(one)) for one in corpora)
    most = max(SMALL_DEV_SOURCES, MAX_DEV_SOURCES // directions)
    few = bool(source.start_from) or most < MIN_DEV_SOURCES
    is_new = not (folder / "data").exists()  # it is written after the dev sets
    for number, one in enumerate(corpora):
        path = folder / (f"dev.{number}.tsv" if one.languages else "dev.tsv")
        sources: dict[str, str] = {}
        if is_new and not one.tagged:
            pairs = pairs_of(one.files)
            sources = held_out(pairs, source.data.dev_share, few=few, most=most)
        if sources:
            write_held(path, sources, forms_of(source, one))
        held.append(sources)
        if sources or (path.exists() and not is_new):
            found.append(replace(one, files=(str(path),)))
    return found, held


def write_held(path: Path, held: Mapping[str, str], forms: PrepareConfig) -> None:
    """Write the pairs that are held out, as a table; those without a target are left out."""
    cells = (
        [with_apostrophes(cell.replace("\t", " "), forms) for cell in row]
        for row in held.items()
        if row[1].strip()
    )
    write_text(path, "".join(f"{source}\t{target}\n" for source, target in cells))


def variation_of(source: TextTraining) -> Variation:
    """Return how a run varies its examples."""
    data = source.data
    return Variation(
        seed=source.train.seed,
        temperature=data.temperature,
        concatenate=data.concatenate,
        noise=data.noise,
        sampling=source.train.subword_sampling,
        kind=source.tokenizer.kind,
        longest=source.longest,
    )


def read_dev(
    corpora: Iterable[CorpusConfig], languages: TokenizerConfig
) -> DevTexts | DevDirections | None:
    """Return the dev sets of all directions, or None if there are none.

    The reverse direction of a corpus with several references uses the first of them as source.
    """
    parts: list[DevTexts] = []
    for one in corpora:
        found = dev_texts(one.files)
        if not one.languages:
            return found
        turned = DevTexts([texts[0] for texts in found.references], [[s] for s in found.sources])
        for part, (source, target) in zip((found, turned), one.directions, strict=False):
            to = with_source(languages, target, source)
            parts.append(replace(part, to=to, name=f"{source}-{target}"))
    return DevDirections.of(parts) if parts else None


def directions_in(
    corpora: Iterable[CorpusConfig],
    stored: Iterable[tuple[Side, Side]],
    tokenizer: Tokenizer,
    languages: TokenizerConfig,
) -> list[Direction]:
    """Return the directions of the corpora; several corpora of one direction stay separate.

    languages: if its language_tokens are both, a source begins with its own language, and a target
    with the target language.
    """
    found = []
    for config, sides in zip(corpora, stored, strict=True):
        for turned, (source, target) in enumerate(config.directions):
            to = with_source(languages, target, source)
            prefix = [tokenizer.language_id(to.partition(TO)[0])]
            if config.tagged:
                prefix.append(tokenizer.control_id(BACK_TRANSLATED))
            starts = tuple(prefix), tuple(tokenizer.target_start(to))
            in_turn = sides[::-1] if turned else sides
            found.append(Direction(f"{source}-{target}", *in_turn, *starts, config.weight))
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
    if len(named) > SHOWN:
        named[SHOWN:] = [f"{len(named) - SHOWN} others"]
    if replay:
        named.append(f"replay set of the initial model ({100 * replay:.0f} %)")
    return "directions: " + ", ".join(named)

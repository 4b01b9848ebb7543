"""Training of a word aligner in stages, from sentence pairs to one bundle.

    pairs.tsv   the sentence pairs of all files
    links       their word links, learned from them alone by two statistical models that agree
    initial/    a model of both directions whose embeddings compare linked tokens
    RUN         `attn train` from this model, with one head guided by the links (Garg et al. 2019)
    tuned       the settings of alignment that agree best with the links; no gold is needed

The first three are files in RUN/alignment. Each is complete or absent, so the same command
continues an interrupted run.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attncli.data.corpus import fingerprint, read_pairs
from attncli.data.guides import read_guides
from attncli.training.config import RunConfig, run_config
from attncli.training.corpora import CorpusConfig
from attncli.training.data import Progress
from attncli.training.folder import STAGES
from attncli.training.settings import settings
from models.errors import ModelError
from models.files import write_folder, write_text

if TYPE_CHECKING:
    from models.alignment import Links, Trial
    from models.tokenizer import Tokenizer

PRESET = "transformer-tiny"
RECIPE = (
    *("model.encoder_layers=3", "model.decoder_layers=2", "model.heads=1", "model.dropout=0.1"),
    *("tokenizer.size=12000", "data.concatenate=0.25"),
    *("train.steps=50", "train.warmup=50", "train.lr=0.0007", "train.ema=0.99"),
    *("train.patience=0", "train.average=0", "train.metric=loss"),
    *("train.attention.guide=5", "train.attention.guide_layer=1", "train.attention.guide_shift=1"),
    "train.attention.guide_null=true",
)
JUMPS = (0.0, 0.3, 0.5, 0.7, 1.0)
TUNING_PAIRS = 200


class AlignerRun(NamedTuple):
    """A run of `attn align train`: its files, languages, settings and folder."""

    files: tuple[tuple[str, ...], ...]  # of each corpus: source and target, or one table
    languages: str  # of source and target, such as en-fr
    assignments: tuple[str, ...]  # settings of the user
    path: Path

    @property
    def stages(self) -> Path:
        """The folder of the stages before training."""
        return self.path / STAGES

    @property
    def pairs(self) -> Path:
        """The sentence pairs of all files, one table."""
        return self.stages / "pairs.tsv"

    @property
    def links(self) -> Path:
        """Word links of the sentence pairs, in Pharaoh format."""
        return self.stages / "links"

    @property
    def initial(self) -> Path:
        """The bundle of the initial model."""
        return self.stages / "initial"

    @property
    def tuned(self) -> Path:
        """The settings of alignment, and how far their links differ from the statistical ones."""
        return self.stages / "tuned.json"

    @property
    def recipe(self) -> RunConfig:
        """The settings of the model, without data."""
        source, _, target = self.languages.partition("-")
        config = run_config(PRESET, {}, [*RECIPE, *self.assignments])
        tokenizer = dataclasses.replace(
            config.tokenizer,
            languages=tuple(sorted((source, target))),
            directions=tuple(sorted((f"{source}-{target}", f"{target}-{source}"))),
        )
        return dataclasses.replace(config, tokenizer=tokenizer)


def prepare(run: AlignerRun, progress: Progress) -> RunConfig:
    """Do the stages before training that are not done; return the settings of the training."""
    write_stage_inputs(run)
    if not run.pairs.exists():
        write_pairs(run)
    pairs = texts_of(run)
    if not run.links.exists():
        write_links(run, pairs, progress)
    if not run.initial.exists():
        write_folder(run.initial, lambda folder: write_initial(run, pairs, folder, progress))
    corpus = CorpusConfig(run.languages, (str(run.pairs),), alignments=str(run.links))
    return settings([], (), None, [*RECIPE, *run.assignments], start=run.initial, corpora=[corpus])


def write_stage_inputs(run: AlignerRun) -> None:
    """Store hashes of the files and settings; ModelError if the folder holds those of others."""
    record = {
        "files": [fingerprint(files) for files in run.files],
        "languages": run.languages,
        "settings": list(run.assignments),
    }
    path, text = run.stages / "inputs.json", json.dumps(record, indent=2) + "\n"
    if path.exists() and path.read_text("utf-8") != text:
        raise ModelError(
            f"{run.path} holds the aligner of other files or settings",
            "the same files and settings",
            "choose another -o, or remove that folder",
        )
    run.stages.mkdir(parents=True, exist_ok=True)
    write_text(path, text)


def write_pairs(run: AlignerRun) -> None:
    """Write the sentence pairs of all files, without tabs inside them."""
    rows = (
        f"{' '.join(pair.source.split())}\t{' '.join(pair.references[0].split())}\n"
        for files in run.files
        for pair in read_pairs(files)
        if pair.source.strip() and pair.references[0].strip()
    )
    write_text(run.pairs, "".join(rows))


def texts_of(run: AlignerRun) -> list[tuple[str, str]]:
    """Return the sentence pairs."""
    return [(pair.source, pair.references[0]) for pair in read_pairs([str(run.pairs)])]


def write_links(run: AlignerRun, pairs: Sequence[tuple[str, str]], progress: Progress) -> None:
    """Learn the word links of the pairs and write them."""
    from models.alignment import agreed_links

    lines = map(pharaoh, agreed_links(pairs, progress))
    write_text(run.links, "".join(lines))


def pharaoh(links: Links) -> str:
    """Return links as a line in Pharaoh format, counted from 0."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links)) + "\n"


def write_initial(
    run: AlignerRun, pairs: Sequence[tuple[str, str]], folder: Path, progress: Progress
) -> None:
    """Train the tokenizer, and write the initial model with embeddings from the links."""
    import torch

    from models.alignment.initial import initialise_to_align, linked_embeddings
    from models.bundle import Bundle, build, save, sizes_of
    from models.tokenizer import train

    config = run.recipe
    progress("learning the vocabulary", 0, 0)
    sides = [source for source, _ in pairs], [target for _, target in pairs]
    tokenizer = train(*sides, config.tokenizer.size, config.tokenizer)
    torch.manual_seed(config.train.seed)
    model = build(config.model, sizes_of(tokenizer, config.model.family))
    progress("embedding linked tokens", 0, 0)
    links, counts = linked_tokens(linked_words(run, pairs), tokenizer)
    size = config.model.embedding
    embeddings = linked_embeddings(
        torch.tensor(links).T, torch.tensor(counts), len(tokenizer.source), size
    )
    initialise_to_align(model, embeddings)
    save(Bundle(model, tokenizer, config.tokenizer, config.search), folder)


def linked_words(run: AlignerRun, pairs: Sequence[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """Return how often every two words are linked."""
    found: Counter[tuple[str, str]] = Counter()
    for guide, (source, target) in zip(read_guides(run.links, len(pairs)), pairs, strict=True):
        sides = source.split(), target.split()
        found.update((sides[0][i], sides[1][j]) for i, j in guide.links)
    return found


def linked_tokens(
    words: Counter[tuple[str, str]], tokenizer: Tokenizer
) -> tuple[list[tuple[int, int]], list[float]]:
    """Return pairs of linked tokens and their counts; the tokens of two words share their count."""
    encode = functools.cache(tokenizer.source.encode)
    links, counts = [], []
    for (source, target), count in words.items():
        found = list(product(encode(source), encode(target)))
        links += found
        counts += [count / len(found)] * len(found)
    return links, counts


def tune(run: AlignerRun, device: str) -> Trial:
    """Choose jump and threshold by the statistical links of some pairs; store the best.

    The layer, head and shift are those that were guided.
    """
    from models import load_translator
    from models.alignment import AlignConfig, Trial, align, error_rate
    from models.alignment.links import extract
    from models.alignment.tune import THRESHOLDS
    from models.bundle import write_alignment

    translator = load_translator(run.path, device=device)
    pairs = texts_of(run)
    links = [frozenset(guide.links) for guide in read_guides(run.links, len(pairs))]
    step = max(1, len(pairs) // TUNING_PAIRS)
    chosen = [n for n in range(0, len(pairs), step) if links[n]][:TUNING_PAIRS]
    tried = []
    for jump in JUMPS:
        base = AlignConfig(layer=1, shift=1, extract="threshold", languages=run.languages)
        base = dataclasses.replace(base, jump=jump)
        found = align(translator, [pairs[n] for n in chosen], config=base)
        for threshold in THRESHOLDS:
            config = dataclasses.replace(base, threshold=threshold)
            linked = [extract(one.weights, one.null, config) for one in found]
            tried.append(Trial(config, error_rate(linked, [links[n] for n in chosen])))
    best = min(tried, key=lambda trial: trial.error_rate)
    write_alignment(run.path, best.config)
    write_text(run.tuned, json.dumps(dataclasses.asdict(best.config), indent=2) + "\n")
    return best

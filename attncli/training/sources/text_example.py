"""A command line that translates a sentence of a run's training data."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path

from attncli.data.corpus import read_pairs
from attncli.training.config import RunConfig

READ = 50  # pairs among which a short one is chosen
SHORT = 60  # characters
FALLBACK = "A dog runs."


def example(config: RunConfig, folder: Path) -> str:
    """Return `echo SENTENCE | attn translate`, with `--to LANGUAGE` for a multilingual model.

    folder: of the run, where sentences of the embedded grammar are.
    """
    data, languages = config.data, config.tokenizer.languages
    if data.corpora:
        corpus = next((corpus for corpus in data.corpora if not corpus.tagged), data.corpora[0])
        return f"{_echo(corpus.files)} --to {corpus.sides[1]}"
    to = f" --to {languages[0]}" if languages else ""
    return _echo(data.train or (str(folder / "train.tsv"),)) + to


def _echo(files: tuple[str, ...]) -> str:
    return f"echo {shlex.quote(_sentence(files))} | attn translate"


def _sentence(files: tuple[str, ...]) -> str:
    """Return the first short source among the first pairs; the shortest if none is short."""
    pairs = itertools.islice(read_pairs(files), READ)
    sources = [pair.source.strip() for pair in pairs if pair.source.strip()]
    printable = [text for text in sources if text.isprintable() and not text.startswith("-")]
    if not printable:
        return FALLBACK
    return next((text for text in printable if len(text) <= SHORT), min(printable, key=len))

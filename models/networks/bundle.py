"""A bundle: a folder with everything needed to use a model. Nothing in it is unpickled.

config.json          format number, model, tokenizer and search settings, vocabulary sizes, and
                     the preparation of texts and the alignment, where they differ from the defaults
model.safetensors    weights, each shared matrix once
tokenizer.model      SentencePiece; source.model and target.model if separate
labels.txt           labels of a classifier, one a line
statistical.safetensors   hidden Markov models of word alignment, of `attn align train`
lexicon.bin          translations of rare words, which the model reads
replay.tsv.gz        sentence pairs for runs that start from the model
card.md              model card
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.torch import save as to_bytes

from models.core.annexes import find_part
from models.core.config import NO_COPY, CopyConfig, ModelConfig
from models.core.errors import ConfigurationError
from models.core.registry import find
from models.core.settings import to_dict
from models.core.sources import vocabulary_sizes
from models.core.types import VocabularySizes
from models.core.use_config import (
    AlignConfig,
    ConfidenceConfig,
    PrepareConfig,
    SearchConfig,
    TokenizerConfig,
)
from models.networks.encoder_decoder import EncoderDecoder
from models.storage.archive import read_lexicon_bytes
from models.storage.digests import add_digest, check_digests, read_part, write_files
from models.storage.settings import (
    CARD,
    FORMAT,
    LEXICON,
    REPLAY,
    STATISTICAL,
    WEIGHTS,
    Shared,
    WeightPrecision,
    read_stored,
    to_text,
)
from models.storage.settings import NAME as CONFIG
from models.storage.weights import (
    Unfilled,
    bundle_weights,
    fill,
    stored_as,
    weights_of,
    without_shared,
)
from models.text.tokenizer import Tokenizer


class Bundle(NamedTuple):
    """A model in memory with its tokenizer and settings."""

    model: EncoderDecoder
    tokenizer: Tokenizer
    tokenizer_config: TokenizerConfig
    search: SearchConfig
    alignment: AlignConfig = AlignConfig()
    statistical: Any = None  # tables of word links, of the annex that trains aligners
    prepare: PrepareConfig = PrepareConfig()
    replay: bytes = b""  # packed; see attncli.fine_tuning.replay_set
    lexicon: bytes = b""  # packed; see models.text.lexicon
    confidence: ConfidenceConfig = ConfidenceConfig()  # of these weights


def build(config: ModelConfig, sizes: VocabularySizes) -> EncoderDecoder:
    """Return a new model of the configured family."""
    check_copying(config, sizes)
    return find("family", config.family)(config, sizes)


def check_copying(config: ModelConfig, sizes: VocabularySizes) -> None:
    """Raise ConfigurationError for a model that cannot copy the tokens of its source."""
    if isinstance(config, CopyConfig) and config.copy != NO_COPY and not sizes.joint:
        raise ConfigurationError(
            f"model.copy={config.copy} with two vocabularies, whose tokens differ",
            "one vocabulary for source and target",
            "set tokenizer.joint=true",
        )


def sizes_of(tokenizer: Tokenizer, family: str) -> VocabularySizes:
    """Return the vocabulary sizes of a family's model with a tokenizer."""
    joint = tokenizer.joint
    return vocabulary_sizes(family, len(tokenizer.source), len(tokenizer.target), joint)


def save(
    bundle: Bundle,
    folder: Path,
    *,
    card: str = "",
    weights: WeightPrecision = "fp32",
    about: Mapping[str, object] | None = None,
    shared: Shared | None = None,
) -> None:
    """Write a bundle into an existing folder; each file is written completely or not at all.

    weights: precision in which they are stored. about: facts for `attn models`; see
    models.storage.archive. shared: weights that are not stored, because another bundle in the same
    folder has them; a ModelError if its weights differ.
    """
    settings = settings_of(bundle) | _given(
        weights=weights if weights != "fp32" else "",
        about=dict(about or {}),
        shared=shared._asdict() if shared else {},
    )
    tensors = stored_as(weights, weights_of(bundle.model))
    if shared:
        tensors = without_shared(tensors, folder, shared)
    contents = {
        **bundle.tokenizer.files(),
        CONFIG: to_text(settings).encode(),
        **({CARD: card.encode()} if card else {}),
        **(aligner_file(bundle.statistical)),
        **({REPLAY: bundle.replay} if bundle.replay else {}),
        **({LEXICON: bundle.lexicon} if bundle.lexicon else {}),
        WEIGHTS: to_bytes(tensors),
    }
    write_files(folder, contents)
    if shared:
        add_digest(folder, shared.file)


def settings_of(bundle: Bundle) -> dict[str, object]:
    """Return the settings of a bundle as stored in its config.json."""
    chosen = bundle.alignment != AlignConfig()
    prepare = to_dict(bundle.prepare) if bundle.prepare != PrepareConfig() else {}
    return {
        "format": FORMAT,
        "model": to_dict(bundle.model.config),
        "tokenizer": to_dict(replace(bundle.tokenizer_config, model=())),  # it names no file
        "search": to_dict(bundle.search),
        "vocabulary": sizes_of(bundle.tokenizer, bundle.model.config.family)._asdict(),
        **_given(
            alignment=to_dict(bundle.alignment) if chosen else {},
            prepare=prepare,
            confidence=to_dict(bundle.confidence) if bundle.confidence.directions else {},
        ),
    }


def _given(**values: Any) -> dict[str, object]:
    """Return the values that are not empty."""
    return {name: value for name, value in values.items() if value}


def read(folder: Path) -> Bundle:
    """Return the bundle in a folder; raise a ModelError if a part is missing or damaged."""
    stored = read_stored(folder)
    tensors = bundle_weights(folder)
    with Unfilled(tensors, folder / CONFIG):
        model = build(stored.model, stored.sizes)
    fill(model, tensors, folder / WEIGHTS)
    # last, because other errors are more specific
    check_digests(folder, [CONFIG, *stored.tokenizer.files()])
    return Bundle(
        model.eval(),
        stored.tokenizer,
        stored.tokenizer_config,
        search=stored.search,
        alignment=stored.alignment,
        statistical=read_aligner(folder),
        prepare=stored.prepare,
        replay=read_part(folder, REPLAY),
        lexicon=read_lexicon_bytes(folder),
        confidence=stored.confidence,
    )


def read_aligner(folder: Path) -> Any:
    """Return the tables of word links of a bundle; None without them, or without their annex."""
    has_tables = (folder / STATISTICAL).exists()
    part = find_part("aligner", "tables") if has_tables else None
    return part.read_statistical(folder) if part else None


def aligner_file(tables: Any) -> dict[str, bytes]:
    """Return the file of the tables of word links, by its name; none without tables."""
    if tables is None:
        return {}
    return {STATISTICAL: find_part("aligner", "tables").statistical_bytes(tables)}

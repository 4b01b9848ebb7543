"""The config.json of a bundle. Imports no torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, NamedTuple

from models.core.config import ModelConfig
from models.core.errors import DamagedError, ModelError, NotFoundError, intact, naming
from models.core.files import check_regular, read_regular, write_text
from models.core.settings import Values, from_dict, parse_json, to_dict
from models.core.sources import source_of, vocabulary_sizes
from models.core.types import VocabularySizes
from models.core.use_config import (
    AlignConfig,
    ConfidenceConfig,
    PrepareConfig,
    SearchConfig,
    TokenizerConfig,
)
from models.storage.digests import read_digests, write_files
from models.text.tokenizer import Tokenizer, read_tokenizer

WeightPrecision = Literal["fp32", "int8"]  # of the stored weights

FORMAT = 1
NAME = "config.json"
RUN_CONFIG = "config.toml"  # settings of a run, in its folder from the start
WEIGHTS = "model.safetensors"
CARD = "card.md"
REPLAY = "replay.tsv.gz"
LEXICON = "lexicon.bin"  # translations of rare words, which the model reads
STATISTICAL = "statistical.safetensors"  # of a bundle made by `attn align train`
MAX_BYTES = 1 << 20  # of a config.json
SECTIONS = ("model", "tokenizer", "search", "vocabulary")
OPTIONAL = ("alignment", "prepare", "confidence", "about", "shared")
MADE_BY = "a folder made by `attn train`"


class Shared(NamedTuple):
    """Weights that a bundle takes from another bundle in the same folder."""

    bundle: str  # its name
    prefix: str  # of the names of these weights

    @property
    def file(self) -> str:
        """The path of the other bundle's weights from this bundle."""
        return f"../{self.bundle}/{WEIGHTS}"


def read_settings(folder: Path) -> Values:
    """Return the content of a bundle's config.json.

    Raises ModelError if there is none, or if it is damaged or of another format.
    """
    if not folder.exists():
        raise NotFoundError(f"no model at {folder}", MADE_BY, "train one first, or check the path")
    if not folder.is_dir():
        raise NotFoundError(f"{folder} is a file", MADE_BY)
    check_regular(folder)
    if not (folder / NAME).exists():
        raise _missing(folder)
    with intact(folder / NAME, MADE_BY):
        settings: Values = parse_json(read_regular(folder / NAME, MAX_BYTES))
        if not isinstance(settings, dict):
            raise ValueError("no table of settings")
        if "model_type" in settings:
            raise DamagedError(
                f"{folder} is a public model", MADE_BY, f"convert it: `attn models add {folder}`"
            )
        if settings["format"] != FORMAT:
            raise DamagedError(
                f"{folder} has bundle format {settings['format']}",
                f"format {FORMAT}",
                "use the version of attn that wrote it",
            )
        for section in (*SECTIONS, *(name for name in OPTIONAL if name in settings)):
            if not isinstance(settings.get(section), dict):
                raise ValueError(f"no settings of the {section}")
        return settings | {"model": ModelConfig.upgraded(settings["model"])}


def _missing(folder: Path) -> NotFoundError:
    if (folder / RUN_CONFIG).exists():
        return NotFoundError(
            f"{folder} is a run that has no model yet",
            "a run after its first evaluation",
            f"train on with `attn train {folder}`; train.evaluate_every sets the interval",
        )
    return NotFoundError(f"{folder} has no {NAME}", MADE_BY)


class StoredBundle(NamedTuple):
    """The settings and the tokenizer of a bundle, which fit each other."""

    model: Any  # the Config of its family
    tokenizer: Tokenizer
    tokenizer_config: TokenizerConfig
    search: SearchConfig
    alignment: AlignConfig
    prepare: PrepareConfig
    sizes: VocabularySizes
    confidence: ConfidenceConfig  # without directions, if the model has no calibration


def read_stored(folder: Path, settings: Values | None = None) -> StoredBundle:
    """Return the settings and the tokenizer of a bundle; a ModelError if a part is damaged.

    settings: the content of its config.json, if it is read already.
    """
    settings, tokenizer = settings or read_settings(folder), read_tokenizer(folder)
    with naming(folder / NAME):
        model = read_model(settings)
        tokenizer_config = from_dict(TokenizerConfig, settings["tokenizer"], where="tokenizer")
        search = from_dict(SearchConfig, settings["search"], where="search")
        alignment = from_dict(AlignConfig, settings.get("alignment", {}), where="alignment")
        prepare = from_dict(PrepareConfig, settings.get("prepare", {}), where="prepare")
        confidence = from_dict(ConfidenceConfig, settings.get("confidence", {}), where="confidence")
    for language in tokenizer_config.languages:
        tokenizer.language_id(language)  # raises if the token is missing
    counts = len(tokenizer.source), len(tokenizer.target), tokenizer.joint
    sizes = vocabulary_sizes(model.family, *counts)
    if settings["vocabulary"] != sizes._asdict():
        raise DamagedError(
            f"the tokenizer in {folder} does not fit its config.json", "both of one model"
        )
    return StoredBundle(
        model,
        tokenizer,
        tokenizer_config,
        search=search,
        alignment=alignment,
        prepare=prepare,
        sizes=sizes,
        confidence=confidence,
    )


def read_model(settings: Values) -> Any:
    """Return the settings of a bundle's model: the Config of its family."""
    return from_dict(ModelConfig, settings["model"], where="model", stored=True)


def to_text(settings: Values) -> str:
    """Return the text of a config.json."""
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def write_alignment(folder: Path, config: AlignConfig) -> None:
    """Store alignment settings in a bundle."""
    write_section(folder, "alignment", to_dict(config))


def write_section(folder: Path, name: str, values: Values) -> None:
    """Store a section of a config.json, with a new digest if the bundle has digests."""
    text = to_text({**read_settings(folder), name: values})
    if read_digests(folder):
        write_files(folder, {NAME: text.encode()})
    else:
        write_text(folder / NAME, text)


def shared_of(folder: Path, settings: Values) -> Shared | None:
    """Return which weights a bundle shares, or None. Another bundle is a name, never a path."""
    table = settings.get("shared")
    if table is None:
        return None
    bundle, prefix = table.get("bundle"), table.get("prefix")
    is_name = isinstance(bundle, str) and bundle not in ("", ".", "..")
    if not is_name or set(bundle) & set("/\\\0") or not isinstance(prefix, str):
        raise DamagedError(
            f"{folder}/{NAME} shares weights with {bundle!r}",
            "the name of a model in the same folder",
        )
    return Shared(bundle, prefix)


def task_of(folder: Path) -> str:
    """Return the task of a model: translate, caption or classify; "" if it is damaged."""
    try:
        return source_of(family_of(read_settings(folder))).task
    except ModelError:
        return ""


def family_of(settings: Values) -> str:
    """Return the family that a bundle's settings name."""
    return str(settings["model"].get("family", ModelConfig.family))

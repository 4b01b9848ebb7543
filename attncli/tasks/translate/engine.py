"""Open a text model with the engine that suits it: CTranslate2 where it can, torch otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions
from attncli.options.shared import TextBatches
from models.base.errors import ConfigurationError, DamagedError
from models.base.process import retain_freed_memory
from models.base.settings import from_dict, merged, option
from models.catalogue.installed import chosen_model
from models.config import SearchConfig
from models.inference.ctranslate2.engines import Engine, obstacle
from models.inference.ctranslate2.translator import CTranslate2Translator
from models.storage.about import read_facts
from models.storage.settings import read_settings

if TYPE_CHECKING:
    from models.inference.text_translator import TextTranslator

Precision = Literal["auto", "fp32", "int8"]  # int8: ctranslate2


@dataclass(frozen=True)
class TranslateBatches(TextBatches):
    """Computation of translations."""

    backend: str = option(
        "auto",
        "program of the search: torch; ctranslate2, for text Transformers on the processor; auto: "
        "ctranslate2 where it can, else torch",
        choices=get_args(Engine),
    )


@dataclass(frozen=True)
class EngineOptions:
    """Choice of the engine that translates."""

    engine: str = "auto"  # of Engine; auto: ctranslate2 where it can, torch otherwise
    precision: Precision = "auto"  # int8 only with ctranslate2
    attention: str = ""  # option that needs attention weights, which only torch computes


def open_text_models(
    models: Sequence[Path] | None, options: OpenOptions, engine: EngineOptions
) -> TextTranslator:
    """Open a text model, or the ensemble of several, which torch runs; see `open_text_model`."""
    if not models or len(models) == 1:
        return open_text_model(models[0] if models else None, options, engine)
    _check_torch(engine, "several models")
    return loading.open_translator(models, options)


def open_text_model(
    model: Path | None, options: OpenOptions, engine: EngineOptions
) -> TextTranslator:
    """Open a text model; see `attncli.jobs.loading.open_translator`.

    Raises ModelError if CTranslate2 or int8 is chosen for what only torch can do.
    """
    path = chosen_model(model, "translate")
    chosen = "compute.backend=torch" if engine.engine == "torch" else engine.attention
    if reason := chosen or _reason(path, options):
        _check_torch(engine, reason)
        return loading.open_translator(path, options)
    return _open_ctranslate2(path, options, engine)


def _open_ctranslate2(path: Path, options: OpenOptions, engine: EngineOptions) -> TextTranslator:
    retain_freed_memory()
    try:
        stored = "int8" if read_facts(path).precision == "int8" else "fp32"
        precision = stored if engine.precision == "auto" else engine.precision
        translator = CTranslate2Translator.read(path, precision=precision, threads=options.threads)
    except DamagedError:
        if engine.engine == "ctranslate2":
            raise
        return loading.open_translator(path, options)  # torch reports it, too
    return loading.configured(translator, options)


def _reason(path: Path, options: OpenOptions) -> str:
    """Return why CTranslate2 cannot do what the options ask for; "" if it can."""
    if options.read_mode:
        return "attention.read_decode"
    saved = from_dict(SearchConfig, read_settings(path)["search"], where="search")
    return obstacle(path, merged(saved, options.search), options.device)


def _check_torch(engine: EngineOptions, reason: str) -> None:
    """Raise ConfigurationError for options of CTranslate2. reason: why torch must run the model."""
    if engine.engine == "ctranslate2":
        raise ConfigurationError(
            f"compute.backend=ctranslate2 with {reason}",
            "one text Transformer on the processor, beam or greedy search, no attention weights",
            "leave it out",
        )
    if engine.precision == "int8":
        raise ConfigurationError(
            f"--precision int8 with {reason}",
            "fp32, or a model and a search that CTranslate2 supports",
        )

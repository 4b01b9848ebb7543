"""Open a text model with the engine that suits it: CTranslate2 where it can, torch otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions
from attncli.terminal import console
from models.base.errors import ConfigurationError, DamagedError
from models.base.settings import from_dict
from models.catalogue.installed import chosen_model
from models.config.tables import SearchConfig
from models.inference.ctranslate2.engines import ComputePrecision, Engine, obstacle

if TYPE_CHECKING:
    from models.inference.text_translator import TextTranslator

LEAST_GAIN = 1.05  # fp32 is used unless an output layer in bf16 is this many times as fast


@dataclass(frozen=True)
class EngineOptions:
    """Choice of the engine that translates."""

    engine: Engine = "auto"  # auto: ctranslate2 where it can, torch otherwise
    precision: ComputePrecision = "fp32"  # int8 only with ctranslate2, bf16 only with torch
    attention: str = ""  # option that needs attention weights, which only torch computes


def open_text_models(
    models: Sequence[Path] | None, options: OpenOptions, engine: EngineOptions
) -> TextTranslator:
    """Open a text model, or the ensemble of several, which torch runs; see `open_text_model`."""
    if not models or len(models) == 1:
        return open_text_model(models[0] if models else None, options, engine)
    if engine.engine == "ctranslate2":
        raise ConfigurationError(
            "--engine ctranslate2 with several models", "one model", "leave out --engine"
        )
    _refuse_int8(engine, "several models")
    if engine.precision == "bf16":
        raise ConfigurationError("--precision bf16 with several models", "one model")
    if options.search.get("shortlist"):
        raise ConfigurationError(
            "--shortlist with several models", "one model", "leave out --shortlist"
        )
    ensemble: TextTranslator = loading.open_ensemble(models, "translate", options)
    return ensemble


def open_text_model(
    model: Path | None, options: OpenOptions, engine: EngineOptions
) -> TextTranslator:
    """Open a text model; see `attncli.jobs.loading.open_translator`.

    Raises ModelError if CTranslate2 or int8 is chosen for what only torch can do.
    """
    path = chosen_model(model, "translate")
    if engine.precision == "bf16":
        return _open_bf16(path, options, engine)
    if engine.engine == "torch":
        _refuse_int8(engine, "--engine torch")
        return loading.open_translator(path, options)
    reason = engine.attention or _reason(path, options)
    if engine.engine == "ctranslate2" and reason:
        raise ConfigurationError(
            f"--engine ctranslate2 with {reason}",
            "a text Transformer on the processor, beam or greedy search, no attention weights",
            "leave out --engine",
        )
    if reason:
        _refuse_int8(engine, reason)
        return loading.open_translator(path, options)
    return _open_ctranslate2(path, options, engine)


def _open_bf16(path: Path, options: OpenOptions, engine: EngineOptions) -> TextTranslator:
    """Open a model with torch and an output layer in bf16, or in fp32 if that is as fast."""
    if engine.engine == "ctranslate2":
        raise ConfigurationError(
            "--precision bf16 with --engine ctranslate2", "torch", "leave out --engine"
        )
    translator = loading.open_translator(path, options)
    from models.inference.search.rounded_output import bf16_gain, check_search, has_fast_bf16

    check_search(translator.search)

    on_processor = translator.device.type == "cpu"
    if on_processor and has_fast_bf16() and bf16_gain(translator.model) >= LEAST_GAIN:
        return translator.with_bf16()
    console.say("--precision bf16 is no faster than fp32 here: fp32 is used")
    return translator


def _open_ctranslate2(path: Path, options: OpenOptions, engine: EngineOptions) -> TextTranslator:
    from models.inference.ctranslate2.translator import CTranslate2Translator

    try:
        translator = CTranslate2Translator.read(
            path, precision=engine.precision, threads=options.threads
        )
    except DamagedError:
        if engine.engine == "ctranslate2":
            raise
        return loading.open_translator(path, options)  # torch reports it, too
    return loading.configured(translator, options)


def _reason(path: Path, options: OpenOptions) -> str:
    """Return why CTranslate2 cannot do what the options ask for; "" if it can."""
    from models.bundle import read_settings

    if options.read_mode:
        return "--hard-decode"
    saved = from_dict(SearchConfig, read_settings(path)["search"], where="search")
    return obstacle(path, options.search.apply(saved), options.device)


def _refuse_int8(engine: EngineOptions, reason: str) -> None:
    if engine.precision == "int8":
        raise ConfigurationError(
            f"--precision int8 with {reason}",
            "fp32, or a model and a search that CTranslate2 supports",
        )

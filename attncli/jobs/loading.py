"""Open trained models: device, threads, read mode and search settings, for every command.

torch is imported when a function is called, so commands call these after all cheaper checks.
"""

from __future__ import annotations

import gc
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attncli.options.settings import GivenSettings
from attncli.terminal.messages import Messages, Silent
from models import (
    load_captioner,
    load_classifier,
    load_ensemble,
    load_transcriber,
    load_translator,
)
from models.base.errors import ConfigurationError, ModelError
from models.base.limits import retain_freed_memory
from models.catalogue.installed import chosen_model, find_model
from models.inference.ctranslate2.cache import cache_folder
from models.inference.search.hypotheses import changed_search
from models.sources import columns_of
from models.storage.archive import read_about
from models.storage.settings import read_settings, task_of
from models.text.languages import parse_direction

if TYPE_CHECKING:
    from typing_extensions import Self

    from models.inference.captioner import Captioner
    from models.inference.classifier import Classifier
    from models.inference.ctranslate2.translator import CTranslate2Translator
    from models.inference.transcriber import Transcriber
    from models.inference.translator import EnsembleTranslator, Translator

    T = TypeVar("T", Translator, CTranslate2Translator, EnsembleTranslator)
    M = TypeVar(
        "M",
        Translator,
        CTranslate2Translator,
        EnsembleTranslator,
        Captioner,
        Classifier,
        Transcriber,
    )

SEED = re.compile(r"seed-\d+")  # folder of a run of a comparison


@dataclass(frozen=True)
class OpenOptions:
    """Options that apply to every model a command opens."""

    device: str = "auto"  # auto, cpu, cuda or mps
    threads: int = 0  # processor threads; 0: torch decides
    read_mode: str = ""  # argmax, sample or expected; "": as saved with the model
    search: Mapping[str, Any] = field(default_factory=dict)  # replace the saved ones
    to: str = ""  # target language of a multilingual model
    source: str = ""  # source language; only checked
    mixed: bool = False  # models of a single direction ignore the languages instead of refusing
    messages: Messages = Silent()  # receives remarks about the models, and what a job reports

    @classmethod
    def of(cls, given: GivenSettings[Any], device: str, threads: int, **own: Any) -> Self:
        """Return the options of a command that has the tables `search` and `attention`."""
        read_mode, search = given.tables.attention.read_decode, given.of("search")
        return cls(device, threads, read_mode, search, **own)


def open_translator(models: Path | Sequence[Path] | None, options: OpenOptions) -> Translator:
    """Open a text model; its `search` then holds the saved settings with the overrides applied.

    models: a folder or a name, see models.catalogue.installed; None for the shipped one. The
    probabilities of several models are averaged.
    Raises ModelError if a folder holds no text model, the machine lacks the device, or `read_mode`
    is given for a model without hard attention; also if `to` is unknown or missing for a
    multilingual model, or given for a model of a single direction. A zero-shot direction is
    reported to `options.messages`.
    """
    given = [models] if isinstance(models, Path) else list(models or ())
    if len(given) > 1:
        opened = _open_ensemble(given, options)
    else:
        opened = _open(given[0] if given else None, "translate", load_translator, options)
    return configured(opened, options)


def open_captioner(model: Path | None, options: OpenOptions) -> Captioner:
    """Open a captioner; see `open_translator`."""
    return _configured(_open(model, "caption", load_captioner, options), options)


def open_classifier(model: Path | None, options: OpenOptions) -> Classifier:
    """Open a classifier; see `open_translator`."""
    return _configured(_open(model, "classify", load_classifier, options), options)


def open_transcriber(model: Path | None, options: OpenOptions) -> Transcriber:
    """Open a model of speech; see `open_translator`. Languages: of a model that chooses them."""
    opened = _open(model, "transcribe", load_transcriber, options)
    return _configured(opened.languages(options.source, options.to), options)


def _open(model: Path | None, task: str, load: Callable[..., Any], options: OpenOptions) -> Any:
    path = readable(chosen_model(model, task))
    say_licence(path, options.messages)
    retain_memory()
    return load(path, device=open_device(options))


def say_licence(folder: Path, messages: Messages) -> None:
    """Say at the first use of a model that its licence limits what it may be used for.

    The user's cache remembers the models that were named.
    """
    about = read_about(read_settings(folder))
    if about.use != "research":
        return
    digest = hashlib.sha256(f"{folder.name} {about.licence}".encode()).hexdigest()
    cache = cache_folder("licences")
    with suppress(OSError):
        if cache and (cache / digest).exists():
            return
        if cache:
            cache.mkdir(parents=True, exist_ok=True)
            (cache / digest).touch()
    others = "; `scenes`, and BLIP by `attn models add`, may be used for anything"
    messages.say(
        f"{folder.name} is not for commercial use (licence: {about.licence}); "
        "`attn models` lists what each model may be used for"
        + (others if task_of(folder) == "caption" else "")
    )


def _open_ensemble(models: Sequence[Path], options: OpenOptions) -> Any:
    paths = [readable(find_model(model)) for model in models]
    retain_memory()
    for path in paths:
        if task_of(path) != "translate":
            raise ModelError(
                f"{path} in an ensemble for `attn translate`",
                "models for `attn translate`",
                f"use `attn {task_of(path)} -m {path}`",
            )
    opened = load_ensemble(paths, device=open_device(options))
    options.messages.say(f"ensemble of {', '.join(model_names(paths))}")
    return opened


def configured(translator: T, options: OpenOptions) -> T:
    """Return a translator with the direction, read mode and search settings of the options.

    See `open_translator`.
    """
    if translator.languages or not options.mixed:
        translator = translator.for_direction(options.to, options.source)
    if translator.through:
        untrained = f"the training data had no pairs from {options.source} to {translator.to}"
        options.messages.say(f"translated through {translator.through}, because {untrained}")
    elif translator.is_zero_shot(options.source):
        direction = f"{options.source or 'any language'} to {translator.to}"
        options.messages.say(f"zero-shot: the training data had no pairs from {direction}")
    return _configured(translator, options)


def row_inputs(models: Sequence[Path] | None) -> tuple[str, ...]:
    """Return the inputs of models that read rows; () for models that read texts.

    A model that cannot be read is left out, because opening it reports its faults. Raises
    ConfigurationError for models of different inputs.
    """
    inputs: set[tuple[str, ...]] = set()
    for model in models or ():
        with suppress(ModelError):
            named = read_settings(find_model(model))["model"].get("inputs", ())
            inputs.add(columns_of(named).names if named else ())
    if len(inputs) > 1:
        found = " and ".join(sorted(", ".join(each) or "one text" for each in inputs))
        raise ConfigurationError(f"models of different inputs ({found})", "models of the same ones")
    return next(iter(inputs), ())


def open_aligner(model: Path | None, options: OpenOptions) -> Translator:
    """Open a text model to align with; see `open_translator`.

    Without --to, a multilingual model aligns the languages that are saved as its default.
    """
    path = readable(chosen_model(model, "translate"))
    stored = str(read_settings(path).get("alignment", {}).get("languages", ""))
    if stored and not options.to:
        source, target = parse_direction(stored)
        if options.source == target:
            source, target = target, source
        options = replace(options, to=target, source=options.source or source)
    return open_translator(path, options)


def open_reverse(path: Path, options: OpenOptions) -> Translator:
    """Open a model from target to source, with its own read mode.

    A multilingual model translates from `options.to` into `options.source`; ModelError if that is
    missing.
    """
    languages = languages_of(path)
    if languages and not options.source:
        raise ModelError(
            "no source language for a multilingual reverse model",
            f"one of {', '.join(languages)}",
            "choose it with --from",
        )
    turned = (options.source, options.to) if languages else ("", "")
    return open_translator(path, replace(options, read_mode="", to=turned[0], source=turned[1]))


def languages_of(path: Path) -> tuple[str, ...]:
    """Return the target languages of a model; empty for a model of one direction."""
    return tuple(read_settings(find_model(path))["tokenizer"].get("languages", ()))


def model_names(folders: Sequence[Path]) -> list[str]:
    """Return short names of model folders: without the parts at both ends that all paths share.

    Folders with different last parts are named by these: "en-de" for runs/en-de. The seeds of a
    comparison, runs/x/none/seed-1 and runs/x/dot/seed-1, are "none" and "dot"; one alone, too.
    """
    paths = [folder.resolve().parts for folder in folders]
    if len(paths) == 1:
        return [next((part for part in paths[0][::-1] if not SEED.fullmatch(part)), paths[0][-1])]
    names = [path[-1] for path in paths]
    if len(set(names)) == len(names) and not any(map(SEED.fullmatch, names)):
        return names
    behind = len(commonprefix([path[::-1] for path in paths]))
    paths = [path[: len(path) - behind] for path in paths]
    before = len(commonprefix(paths))
    found = ["/".join(path[before:]) for path in paths]
    return found if all(found) else [str(folder) for folder in folders]


def readable(path: Path) -> Path:
    """Return the folder of a model; raise ModelError if it has none. Imports no torch."""
    read_settings(path)
    return path


def open_device(options: OpenOptions) -> str:
    """Set the number of threads and return the name of the device. Imports torch."""
    import torch

    from models.inference.trained import usable_device, usable_devices

    if options.threads:
        torch.set_num_threads(options.threads)
    if options.device == "auto":
        return usable_devices()[0]
    return str(usable_device(options.device))


def retain_memory() -> None:
    """Keep the memory of freed tensors for later batches; see models.base.limits.

    Modules that are loaded by now are no longer searched for garbage, which takes 0.1 s each time.
    """
    retain_freed_memory()
    gc.freeze()


def _configured(model: M, options: OpenOptions) -> M:
    """Apply search settings and read mode; report the read mode of hard attention."""
    model = model.with_search(changed_search(model.search, options.search))
    kind, _, saved = model.read_mode.partition(" ")
    if options.read_mode or kind == "hard":
        model = model.with_read_mode(options.read_mode or saved, seed=model.search.seed)
        options.messages.say(f"hard attention, read by {model.read_mode.partition(' ')[2]}")
    return model

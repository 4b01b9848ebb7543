"""Open trained models: device, threads, read mode and search settings, for every command.

torch is imported when a function is called, so commands call these after all cheaper checks.
"""

from __future__ import annotations

import gc
import hashlib
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attncli.options.arguments import check
from attncli.options.settings import HardAttention, Options
from attncli.render.rows import RowRunner
from attncli.task.runner import Item, Models, Result, TaskOptions
from attncli.terminal.messages import Messages
from models import load as load_model
from models import load_ensemble
from models.core.errors import ConfigurationError, InputError, ModelError
from models.core.settings import Values, types_of
from models.core.sources import columns_of, source_of
from models.core.use_config import SearchConfig
from models.engines.ctranslate2_cache import cache_folder
from models.engines.text_translator import TextTranslator
from models.engines.trained import TrainedModel
from models.search.hypotheses import changed_search
from models.storage.archive import read_about
from models.storage.installed import SEED, chosen_model, find_model, public_models
from models.storage.settings import family_of, read_settings, task_of
from models.text.languages import parse_direction
from models.text.normalise import is_unicode

if TYPE_CHECKING:
    from typing_extensions import Self

    from models.engines.translator import EnsembleTranslator, Translator

M = TypeVar("M", bound=TrainedModel)
T = TypeVar("T", bound=TextTranslator)


def load(task: str, models: Path | Sequence[Path] | None, options: Options) -> Any:
    """Read the model of a task.

    models: a folder or a name, see models.storage.installed; None for the shipped one. The
    probabilities of several translators are averaged. Raises ModelError if a folder holds no model
    of the task, or the machine lacks the device.
    """
    given = as_folders(models)
    if len(given) > 1:
        return _load_ensemble(given, options)
    path = model_folder(task, models, options)
    gc.freeze()  # modules that are loaded by now are no longer searched, which takes 0.1 s
    return load_model(path, task, device=open_device(options))


class LoadedRunner(RowRunner[Item, Result, M, TaskOptions]):
    """A runner of the model that `load` reads, with the settings of the options."""

    @classmethod
    def load(cls, models: Models, options: TaskOptions) -> Any:
        """Read the model of the task; see `load`."""
        return load(cls.task, models, cast(Options, options))

    @classmethod
    def of(cls, model: M, options: TaskOptions) -> Self:
        """Return the runner of a model."""
        return cls(configured(model, cast(Options, options)), options)


def model_folder(task: str, models: Path | Sequence[Path] | None, options: Options) -> Path:
    """Return the folder of the model of a task; say what its licence forbids."""
    path = chosen_model(next(iter(as_folders(models)), None), task)
    say_licence(path, read_settings(path), options.messages)
    return path


def as_folders(models: Path | Sequence[Path] | None) -> list[Path]:
    """Return one model, several or none as a list."""
    return [models] if isinstance(models, Path) else list(models or ())


def say_licence(folder: Path, settings: Values, messages: Messages) -> None:
    """Say at the first use of a model, which the cache remembers, what its licence forbids."""
    about = read_about(settings)
    if about.use != "research" or not is_first(f"{folder.name} {about.licence}"):
        return
    others = "; `scenes`, and BLIP by `attn models add`, may be used for anything"
    messages.say(
        f"{folder.name} is not for commercial use (licence: {about.licence}); "
        "`attn models` lists what each model may be used for"
        + (others if source_of(family_of(settings)).task == "caption" else "")
    )


def say_sense(folder: Path, settings: Values, options: Options) -> None:
    """Say at the first use of a direction how many lines of letters get another sense."""
    own = f"{options.source}-" if options.source not in ("", "auto") else ""
    known = read_about(settings).sense.items()
    found = {way: n for way, n in known if way.startswith(own) and way.endswith(f"-{options.to}")}
    if not (options.to and found) or not is_first(f"{folder.name} sense {found}"):
        return
    listed = ", ".join(f"{lines} ({way})" for way, lines in found.items())
    names = [name for name, *_ in public_models() if name.rpartition("-mt-")[2] in found]
    better = f"; better: `attn models add {names[0]}`" if len(names) == 1 else ""
    options.messages.say(
        f"of 100 lines of letters, {folder.name} changes the sense of {listed}, "
        f"see docs/trust.md{better}"
    )


def is_first(name: str) -> bool:
    """Return True at the first call with a name on this machine, which the cache remembers."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    cache = cache_folder("licences")
    with suppress(OSError):
        if cache and (cache / digest).exists():
            return False
        if cache:
            cache.mkdir(parents=True, exist_ok=True)
            (cache / digest).touch()
    return True


def _load_ensemble(models: Sequence[Path], options: Options) -> EnsembleTranslator:
    paths = [readable(find_model(model)) for model in models]
    gc.freeze()  # modules that are loaded by now are no longer searched, which takes 0.1 s
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


def configured(model: M, options: Options) -> M:
    """Return a model with the languages, read mode and search of the options.

    Its `search` then has the saved settings with the given ones. Raises ModelError if a read mode
    is given for a model without hard attention; also if `to` is unknown or missing for a
    multilingual model, or given for a model of a single direction. A zero-shot direction is
    reported to `options.messages`.
    """
    if isinstance(model, TextTranslator):
        model = _directed(model, options)
    model = model.with_search(changed_search(model.search, options.of("search")))
    kind, _, saved = model.read_mode.partition(" ")
    if (read_mode := options.attention.read_decode) or kind == "hard":
        model = model.with_read_mode(read_mode or saved, seed=model.search.seed)
        options.messages.say(f"hard attention, read by {model.read_mode.partition(' ')[2]}")
    return model


def searching(model: M, search: object) -> M:
    """Return a model with other search settings, unless they are None.

    Raises InputError for settings of another type, and for one that has a value of another.
    """
    if search is None:
        return model
    if not isinstance(search, SearchConfig):
        found = f"search settings of type {type(search).__name__}"
        raise InputError(
            found, "SearchConfig, as dataclasses.replace(model.search, beam=2) returns"
        )
    check(vars(search), types_of(SearchConfig), "search.", "see dataclasses.replace(model.search)")
    return model.with_search(search)


def _directed(translator: T, options: Options) -> T:
    """Return a translator with its languages; report a direction without training data."""
    if translator.languages or not options.mixed:
        translator = translator.for_direction(options.to, options.source)
    if translator.through:
        untrained = f"the training data had no pairs from {options.source} to {translator.to}"
        options.messages.say(f"translated through {translator.through}, because {untrained}")
    elif translator.is_zero_shot(options.source):
        direction = f"{options.source or 'any language'} to {translator.to}"
        options.messages.say(f"zero-shot: the training data had no pairs from {direction}")
    return translator


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


def open_aligner(model: Path | None, options: Options) -> Translator:
    """Open a text model to align with.

    Without --to, a multilingual model aligns the languages that are saved as its default.
    """
    path = readable(chosen_model(model, "translate"))
    stored = str(read_settings(path).get("alignment", {}).get("languages", ""))
    if stored and not options.to:
        source, target = parse_direction(stored)
        if options.source == target:
            source, target = target, source
        options = replace(options, to=target, source=options.source or source)
    opened: Translator = load("translate", path, options)
    return configured(opened, options)


def open_reverse(path: Path, options: Options) -> Translator:
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
    options = replace(options, attention=HardAttention(), to=turned[0], source=turned[1])
    opened: Translator = load("translate", path, options)
    return configured(opened, options)


def languages_of(path: Path) -> tuple[str, ...]:
    """Return the target languages of a model; empty for a model of one direction."""
    return tuple(read_settings(find_model(path))["tokenizer"].get("languages", ()))


def model_names(folders: Sequence[Path]) -> list[str]:
    """Return short names of model folders: without the parts at both ends that all paths share.

    Folders with different last parts are named by these: "en-de" for runs/en-de. The seeds of a
    comparison, runs/x/none/seed-1 and runs/x/dot/seed-1, are "none" and "dot"; one alone, too.
    Different seeds have names such as "dot, seed 1".
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
    if all(path[before:] and SEED.fullmatch(path[before]) for path in paths):
        before -= 1  # the variant
    found = [re.sub(f"/{SEED.pattern}$", r", seed \1", "/".join(path[before:])) for path in paths]
    return found if all(found) else [str(folder) for folder in folders]


def readable(path: Path) -> Path:
    """Return the folder of a model; raise ModelError if it has none. Imports no torch."""
    read_settings(path)
    return path


def open_device(options: Options) -> str:
    """Set the number of threads and return the name of the device. Imports torch."""
    import torch

    from models.engines.trained import usable_device, usable_devices

    if options.threads:
        torch.set_num_threads(options.threads)
    if options.device == "auto":
        return usable_devices()[0]
    return str(usable_device(options.device))


def as_list(texts: str | Iterable[str], what: str = "text") -> list[str]:
    """Return one text (or what a noun names) or many as a list; raise InputError otherwise."""
    several = isinstance(texts, Iterable) and not isinstance(texts, (str, bytes))
    found: list[Any] = list(texts) if several else [texts]
    for text in found:
        if not isinstance(text, str):
            raise InputError(f"a {what} of type {type(text).__name__}", "str, or several of them")
        if not is_unicode(text):
            raise InputError(f"a {what} with half a character ({text[:20]!a})", "valid Unicode")
    return found

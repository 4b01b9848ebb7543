"""The models that the service offers, and their directions."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

from attncli.serve._requests import RequestError, invalid
from models.core.errors import ModelError, NotFoundError
from models.core.use_config import TokenizerConfig
from models.storage.archive import Facts, listed, read_facts
from models.storage.installed import default_model, find_model
from models.storage.settings import read_settings
from models.text.languages import is_zero_shot, known_language, pivot

TRANSLATE, CAPTION, CLASSIFY, TRANSCRIBE = "translate", "caption", "classify", "transcribe"
NAMED_DIRECTION = re.compile(r"(?:^|[-_.])([a-z]{2,3})-([a-z]{2,3})(?:$|[-_.])")
UNNAMED = ("source", "target")  # languages of a model that names none
FRESH = 10.0  # seconds for which the list of models is kept
ENGLISH_NAMES = """
ar=Arabic az=Azerbaijani be=Belarusian bg=Bulgarian bn=Bengali bs=Bosnian ca=Catalan cs=Czech
cy=Welsh da=Danish de=German el=Greek en=English eo=Esperanto es=Spanish et=Estonian eu=Basque
fa=Persian fi=Finnish fr=French ga=Irish gl=Galician gu=Gujarati he=Hebrew hi=Hindi
hr=Croatian hu=Hungarian hy=Armenian id=Indonesian is=Icelandic it=Italian ja=Japanese
ka=Georgian kk=Kazakh km=Khmer kn=Kannada ko=Korean la=Latin lt=Lithuanian lv=Latvian
mk=Macedonian ml=Malayalam mn=Mongolian mr=Marathi ms=Malay mt=Maltese my=Burmese nb=Norwegian
ne=Nepali nl=Dutch no=Norwegian pa=Punjabi pl=Polish ps=Pashto pt=Portuguese ro=Romanian
ru=Russian si=Sinhala sk=Slovak sl=Slovenian sq=Albanian sr=Serbian sv=Swedish sw=Swahili
ta=Tamil te=Telugu th=Thai tl=Tagalog tr=Turkish uk=Ukrainian ur=Urdu uz=Uzbek vi=Vietnamese
yi=Yiddish zh=Chinese
"""
NAMES: dict[str, str] = {pair[:2]: pair[3:] for pair in ENGLISH_NAMES.split()}


class ServedDirection(NamedTuple):
    """A model, and one of the directions in which it translates."""

    model: str  # its name
    source: str
    target: str
    by_name: bool  # the model is told the languages, because it has several directions

    @property
    def languages(self) -> tuple[str, str]:
        """The source and target languages to tell the model; empty for a single direction."""
        return (self.source, self.target) if self.by_name else ("", "")


class OfferedModel(NamedTuple):
    """A model that the service offers."""

    name: str
    folder: Path
    facts: Facts
    directions: Sequence[ServedDirection]  # of a translator


class Catalogue:
    """The models on this machine. Requests name them; a path in a request is never opened."""

    def __init__(self, translators: Sequence[Path]) -> None:
        """Raise ModelError if a given translator is missing or no translator.

        translators: in order of preference; without one, the shipped one.
        """
        self._given = [find_model(path) for path in translators]
        self._found: dict[str, OfferedModel] = {}
        self._at = float("-inf")
        for folder in self._given:
            if (task := read_facts(folder).task) != TRANSLATE:
                raise ModelError(
                    f"{folder} for `attn {task}`", "a translator", "others need no -m: see the page"
                )

    def models(self) -> dict[str, OfferedModel]:
        """Return the models by name: the given ones, then those that `attn models` lists."""
        if time.monotonic() - self._at > FRESH:
            given = [(folder.resolve().name, folder, read_facts(folder)) for folder in self._given]
            there = [(model.name, model.folder, facts) for model, facts in listed() if facts]
            found: dict[str, OfferedModel] = {}
            for name, folder, facts in [*given, *there]:
                if name not in found:
                    directions = _directions(folder, facts, name)
                    found[name] = OfferedModel(name, folder, facts, directions)
            self._found, self._at = found, time.monotonic()
        return self._found

    def model(self, name: str, task: str) -> OfferedModel:
        """Return the model of a name; the default one of a task without a name."""
        models = self.models()
        if not name:
            found = self.defaults.get(task)
            if found is None:
                raise RequestError(501, f"No model to {task} is installed")
            return models[found]
        if name not in models or models[name].facts.task != task:
            names = ", ".join(n for n, model in models.items() if model.facts.task == task)
            raise invalid(f"no model {name} to {task}; expected one of {names or 'none'}")
        return models[name]

    @cached_property
    def defaults(self) -> dict[str, str]:
        """The name of the default model of each task that has one."""
        models, found = self.models(), {}
        for task in (TRANSLATE, CAPTION, CLASSIFY, TRANSCRIBE):
            folders = self._given[:1] if task == TRANSLATE else []
            with suppress(NotFoundError):
                folders = folders or [default_model(task)]
            names = [n for n, model in models.items() if model.folder in folders]
            names += [n for n, model in models.items() if model.facts.task == task]
            if names:
                found[task] = names[0]
        return found

    def directions(self, model: str = "") -> dict[tuple[str, str], ServedDirection]:
        """Return the directions by their languages: of one model, or of the default ones."""
        if model:
            offers = [self.model(model, TRANSLATE)]
        else:
            names = [folder.resolve().name for folder in self._given]
            offers = [self.models()[n] for n in names] or [self.model("", TRANSLATE)]
        found: dict[tuple[str, str], ServedDirection] = {}
        for offer in offers:
            for one in offer.directions:
                found.setdefault((one.source, one.target), one)
        return found

    def language(self, code: str, model: str = "") -> str:
        """Return the language that a code such as de-DE means; the code if it means none."""
        return known_language(code, {one for pair in self.directions(model) for one in pair})

    def direction(self, source: str, target: str, model: str = "") -> ServedDirection:
        """Return the direction of two languages. Raises RequestError as LibreTranslate answers."""
        known = self.directions(model)
        source, target = self.language(source, model), self.language(target, model)
        if found := known.get((source, target)):
            return found
        languages = {code for pair in known for code in pair}
        for code in filter(None, (source, target)):
            if code not in languages:
                raise RequestError(400, f"{code[:40]} is not supported")
        raise RequestError(
            400,
            f"{name_of(target)} ({target}) is not available as a target language from "
            f"{name_of(source)} ({source})",
        )


def _directions(folder: Path, facts: Facts, name: str) -> list[ServedDirection]:
    """Return the directions that the settings of a translator name."""
    if facts.task != TRANSLATE:
        return []
    tokenizer = read_settings(folder)["tokenizer"]
    languages = tuple(map(str, tokenizer.get("languages") or ()))
    if languages:
        trained = tuple(map(str, tokenizer.get("directions") or ()))
        config = TokenizerConfig(languages=languages, directions=trained)
        return [
            ServedDirection(name, source, target, by_name=True)
            for source, target in permutations(languages, 2)
            if not is_zero_shot(config, target, source) or pivot(config, source, target)
        ]
    named = facts.about.languages
    if len(named) != 2 and (found := NAMED_DIRECTION.search(name)):
        named = (found[1], found[2])
    source, target = named if len(named) == 2 else UNNAMED
    return [ServedDirection(name, source, target, by_name=False)]


def name_of(code: str) -> str:
    """Return the English name of a language; its code if the name is not known."""
    return NAMES.get(code, code)

"""What the service offers: its options and models, and who may use them."""

from __future__ import annotations

import hmac
import ipaddress
import math
import re
import socket
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

from attncli.jobs.installed import listed
from attncli.serve.requests import RequestError, invalid
from models.core.errors import ModelError, NotFoundError
from models.core.settings import option
from models.core.use_config import TokenizerConfig
from models.storage.archive import Facts, read_facts
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
HOST = re.compile(r"(?:\[(?P<number>[0-9a-f:.]+)\]|(?P<name>[^\s:@/\[\]]+))(?::\d{1,5})?")
OWN = ("same-origin", "none")  # Sec-Fetch-Site of the service's page, and of what a person types
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


# Options of the service: address, limits, access.


PORT = 5055  # LibreTranslate's is 5000, which macOS uses itself
DOCUMENT_TIMES = 60  # a document may take this many times `time_limit`


@dataclass(frozen=True)
class ServiceSettings:
    """Address, access and ceilings of the service: its options -s."""

    socket: str = option("", "Unix socket to listen at, behind a proxy, in place of a port")
    allow_hosts: tuple[str, ...] = option(
        (), "names of this service in addresses, separated by commas; *: any"
    )
    rate_limit: int = option(0, "requests per minute of one client (0: any number)")
    max_text: int = option(100_000, "characters of one request", least=1)
    max_body: int = option(32, "MiB of one request, files included", least=1)
    max_pixels: int = option(64, "megapixels of one image", least=1)
    max_waiting: int = option(2000, "requests that may wait for one model", least=1)
    time_limit: float = option(
        60.0,
        f"seconds for one request; a document or a recording may take {DOCUMENT_TIMES} times that",
        least=0.1,
    )
    idle: float = option(900.0, "seconds after which an unused model is released", least=0.1)


@dataclass(frozen=True)
class ServeTables:
    """Tables of `attn serve`."""

    service: ServiceSettings = option(ServiceSettings, "the service")


@dataclass(frozen=True)
class ServeOptions(ServiceSettings):
    """All options of `attn serve`; see its help page."""

    models: tuple[Path, ...] = ()  # translators, first choice first; none: the shipped one
    host: str = "127.0.0.1"
    port: int = PORT
    allow_origins: tuple[str, ...] = ()  # other sites whose pages may use the service; *: any
    api_keys: Path | None = None  # file with one key per line; None: no key is needed
    device: str = "auto"
    threads: int = 0  # processor threads; 0: torch decides
    browser: bool = True  # open the page


# Access to the service: its names, API keys and the number of requests per minute.


CLIENTS = 10_000  # clients whose requests are counted
MINUTE = 60.0


class Hosts:
    """The names by which the service may be called.

    A page of another site can make a browser call this machine under that site's name (DNS
    rebinding). Such a request has a `Host` header with a name that is not this service's. A number
    cannot be rebound, so the addresses of this machine are allowed where it listens to others.
    """

    def __init__(self, options: ServeOptions) -> None:
        names = {"localhost", options.host.lower(), *map(str.lower, options.allow_hosts)}
        self._any = bool(options.socket) or "*" in names  # a proxy is in front of a socket
        self._numbers = not _is_loopback(options.host)
        if self._numbers:
            names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        self._names = names

    def allows(self, header: str) -> bool:
        """Return True for the `Host` header of a request to this service."""
        found = HOST.fullmatch(header.strip().lower())
        name = (found["number"] or found["name"]) if found else ""
        if self._any or name in self._names or name.endswith(".localhost"):
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._numbers or address.is_loopback


class Origins:
    """The sites whose pages may use the service: its own, those it is told, and extensions.

    A browser names the site of a page in `Origin`, or, for an image, a script and a link, how it is
    related to the service in `Sec-Fetch-Site`. Pages cannot change these. Other clients send none.
    """

    def __init__(self, options: ServeOptions) -> None:
        self._allowed = {one.rstrip("/").lower() for one in options.allow_origins}

    def granted(self, headers: Mapping[str, str]) -> str | None:
        """Return `Access-Control-Allow-Origin` for a request; "": none; None: it is refused."""
        origin, site = headers.get("origin", "").lower(), headers.get("sec-fetch-site", "none")
        scheme, _, host = origin.partition("://")
        if "*" in self._allowed:
            return "*"
        if not origin:  # a link to the page is followed
            return "" if site in OWN or headers.get("sec-fetch-mode") == "navigate" else None
        is_own = site == "same-origin" or host == headers.get("host", "").lower()
        known = is_own or scheme.endswith("-extension") or origin in self._allowed
        return origin if known else None


class Keys:
    """API keys of a file: one per line; empty lines and those that begin with # are left out."""

    def __init__(self, path: Path | None) -> None:
        """Raise ModelError if the file cannot be read or has no key."""
        self.required = path is not None
        self._keys: list[bytes] = []
        if path is None:
            return
        try:
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            expected = "a file with one key per line"
            raise ModelError(f"cannot read {path} ({error})", expected) from None
        self._keys = [line.strip().encode() for line in lines if line.strip() and line[0] != "#"]
        if not self._keys:
            raise ModelError(f"{path} has no key", "one key per line")

    def check(self, key: str) -> None:
        """Raise RequestError for a key that is not known, if one is needed."""
        given = key.encode("utf-8", "replace")
        known = [hmac.compare_digest(given, one) for one in self._keys]  # all, in constant time
        if self.required and not any(known):
            missing = "This service needs an API key: send it as api_key, or as a bearer token"
            raise RequestError(401, "Invalid API key" if key else missing)


class RateLimit:
    """At most so many requests of a client in any minute."""

    def __init__(self, per_minute: int) -> None:
        self.per_minute = per_minute
        self._times: OrderedDict[str, list[float]] = OrderedDict()

    def count(self, client: str) -> None:
        """Count a request. Raises RequestError if the client has made too many."""
        if not self.per_minute:
            return
        now = time.monotonic()
        times = [at for at in self._times.get(client, ()) if now - at < MINUTE]
        self._times[client] = times
        self._times.move_to_end(client)
        if len(self._times) > CLIENTS:
            self._times.popitem(last=False)
        if len(times) >= self.per_minute:
            wait = math.ceil(MINUTE - (now - times[0]))
            raise RequestError(429, f"Slowdown: {self.per_minute} per 1 minute", max(1, wait))
        times.append(now)


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"

"""Names to classes: every variant of the zoo, as ``module:Class``, imported only when built.

A variant is its class: the first line of the docstring is its summary, the rest its equation and
source. They are read with ``ast``, so that listing the zoo imports no torch, which takes five times
as long as the listing.

A variant with settings of its own has a Config class in a file that imports no torch. The row then
names this class, as ``module:NameConfig``; its `builds` is the place of the variant.

An installed package adds variants of its own through an entry point group, ``attn.score``,
``attn.window`` and so on, with the same ``module:Class``. They are known only if the environment
variable ATTN_PACKAGES names the package, so that a downloaded model cannot cause an import.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from models.core.annexes import with_entries
from models.core.errors import ConfigurationError, unknown_name

TABLES: dict[str, dict[str, str]] = {
    "family": {
        "seq2seq": "models.networks.config:Seq2SeqConfig",
        "rnnsearch": "models.networks.config:RnnSearchConfig",
        "luong": "models.networks.config:LuongConfig",
        "transformer": "models.networks.config:TransformerConfig",
        "captioner": "models.networks.config:CaptionerConfig",
        "captioner-adaptive": "models.networks.config:AdaptiveConfig",
        "captioner-top-down": "models.networks.config:TopDownConfig",
        "captioner-transformer": "models.networks.config:CaptionerTransformerConfig",
        "classifier": "models.networks.config:ClassifierConfig",
        "classifier-transformer": "models.networks.config:TransformerClassifierConfig",
    },
    "score": {
        "additive": "models.attention.config:AdditiveConfig",
        "concat": "models.attention.config:ConcatConfig",
        "dot": "models.attention.scores:Dot",
        "scaled_dot": "models.attention.scores:ScaledDot",
        "general": "models.attention.scores:General",
        "cosine": "models.attention.scores:Cosine",
        "qk_norm": "models.attention.scores:QkNorm",
        "location": "models.attention.scores:Location",
        "location_aware": "models.attention.config:LocationAwareConfig",
        "ffn": "models.attention.config:FeedForwardConfig",
    },
    "window": {
        "global": "models.attention.windows:Global",
        "local_m": "models.attention.config:LocalMonotonicConfig",
        "local_p": "models.attention.config:LocalPredictiveConfig",
        "median": "models.attention.config:LocalMedianConfig",
    },
    "normalise": {
        "softmax": "models.attention.normalisers:Softmax",
        "sparsemax": "models.attention.normalisers:Sparsemax",
        "entmax15": "models.attention.normalisers:Entmax15",
        "monotonic": "models.attention.normalisers:Monotonic",
        "mocha": "models.attention.config:MoChAConfig",
    },
    "combination": {},
    "pooling": {
        "learned": "models.attention.pooling:LearnedQuery",
        "final": "models.attention.pooling:FinalState",
        "mean": "models.attention.pooling:Mean",
        "max": "models.attention.pooling:Maximum",
        "self_attentive": "models.attention.config:SelfAttentiveConfig",
    },
    "position": {
        "sinusoidal": "models.attention.positions:Sinusoidal",
        "sinusoidal_2017": "models.attention.positions:Sinusoidal2017",
        "learned": "models.attention.positions:Learned",
        "relative": "models.attention.positions:Relative",
        "rotary": "models.attention.positions:Rotary",
        "alibi": "models.attention.positions:Alibi",
        "none": "models.attention.positions:Position",
    },
    "mixing": {
        "attention": "models.attention.transformer:SelfAttention",
        "linear": "models.attention.mixing:LinearAttention",
        "average": "models.attention.mixing:AverageAttention",
    },
    "copy": {
        "pointer": "models.networks.readers:Pointer",
        "copynet": "models.networks.readers:CopyNet",
    },
    "read": {"soft": "models.attention.reads:Soft", "hard": "models.attention.config:HardConfig"},
    "rerank": {"mbr": "models.search.reranking:MinimumBayesRisk"},
    "image_encoder": {
        "mobilenet-edgetpu": "models.networks.edgetpu:MobileNetEdgeTpu",
        "small-cnn": "models.networks.config:SmallCnnConfig",
        "torchvision": "models.networks.image_encoder:TorchvisionCnn",
        "patches": "models.networks.image_encoder:Patches",
        "vit": "models.networks.config:VisionTransformerConfig",
    },
    "source": {
        "text": "models.core.sources:TextSource",
        "image": "models.core.sources:ImageSource",
        "labelled_text": "models.core.sources:LabelledTextSource",
    },
}
TABLES = {kind: with_entries(kind, places) for kind, places in TABLES.items()}
SETTINGS = {  # the setting that the names of a kind are values of, if its section has another name
    "pooling": "model.pooling",
    "image_encoder": "model.image.encoder",
    "copy": "model.copy",
    "combination": "model.combination",
    **{part: f"model.attention.{part}" for part in ("score", "window", "normalise", "read")},
}
DEFAULT_SOURCE = "text"
PACKAGES = "ATTN_PACKAGES"  # environment variable: packages that may add names, comma-separated


class Description(NamedTuple):
    """Summary and details of a variant, from its docstring."""

    name: str
    summary: str  # the first line of its docstring
    detail: str  # the rest: equation, source, limitations

    @property
    def source(self) -> str:
        """The paper, from the docstring's ``Source:``, which ends with a full stop."""
        found = re.search(r"^Source: (.*?)\.$", self.detail, re.S | re.M)
        return " ".join(found[1].split()) if found else ""


def names(kind: str) -> list[str]:
    """Return the registered names of a kind: family, score, window and so on."""
    return [*TABLES[kind], *(name for name in package_names(kind) if name not in TABLES[kind])]


def is_name(kind: str, name: str) -> bool:
    """Return True if a name of a kind is registered. Packages are read only for unusual names."""
    return name in TABLES[kind] or (bool(name) and name in package_names(kind))


@cache
def package_names(kind: str) -> dict[str, str]:
    """Return names of enabled packages; the zoo's own names take precedence."""
    enabled = {_normalised(name) for name in os.environ.get(PACKAGES, "").split(",")} - {""}
    found = _entry_points(kind) if enabled else ()  # slow to find
    return {name: place for name, package, place in found if _normalised(package) in enabled}


def package_hint(kind: str, name: str) -> str:
    """Return how to enable the installed package that registers a name, "" if there is none."""
    for registered, package, _ in _entry_points(kind):
        if registered == name and package:
            return f"set {PACKAGES}={package} if you trust that package, to import it"
    return ""


def _entry_points(kind: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, package and place of what installed packages register. Imports none of them."""
    from importlib import metadata  # slow to import, and seldom needed

    for point in metadata.entry_points(group=f"attn.{kind}"):
        yield point.name, point.dist.name if point.dist else "", point.value


def _normalised(package: str) -> str:
    """Return the normalised name of a package (PEP 503)."""
    return re.sub(r"[-_.]+", "-", package.strip()).lower()


def place_of(kind: str, name: str) -> str:
    """Return the row of a registered name; raise UnknownNameError otherwise."""
    place = TABLES[kind].get(name) or package_names(kind).get(name)
    if place is None:
        if hint := package_hint(kind, name):
            raise ConfigurationError(f"{kind} {name!r} of a package that is not enabled", "", hint)
        raise unknown_name(kind, name, names(kind))
    return place


def config_of(kind: str, name: str) -> Any:
    """Return the Config class of a name, without importing torch; None if its row has none."""
    place = place_of(kind, name)
    if not place.endswith("Config"):
        return None
    try:
        return resolve_name(place)
    except (ImportError, AttributeError):
        raise _without_class(place) from None


def location(kind: str, name: str) -> tuple[str, str]:
    """Return module and class of a registered name; raise UnknownNameError otherwise."""
    config = config_of(kind, name)
    module, _, class_name = (config.builds if config else place_of(kind, name)).partition(":")
    return module, class_name


def find(kind: str, name: str) -> Any:
    """Import and return the class of a name; this imports torch."""
    module, class_name = location(kind, name)
    if name not in TABLES[kind]:
        _class_tree(module, class_name)  # an entry point may name a class that does not exist
    return getattr(importlib.import_module(module), class_name)


def describe(kind: str, name: str) -> Description:
    """Return summary, equation and source of a variant from its docstring, without importing it."""
    docstring = ast.get_docstring(_class_tree(*location(kind, name))) or ""
    summary, _, detail = inspect.cleandoc(docstring).partition("\n")
    return Description(name, summary.strip(), detail.strip())


def source_name(family: str) -> str:
    """Return the kind of input that a family reads, which its Config class states."""
    return str(getattr(config_of("family", family), "source", DEFAULT_SOURCE))


@cache
def _parsed(source: str) -> list[ast.stmt]:
    """Return the statements of a module; `attn models show` asks for each of its classes."""
    # parsed and not imported: importing torch takes five times as long as the whole listing
    return ast.parse(source).body


def _class_tree(module: str, class_name: str) -> ast.ClassDef:
    """Return the syntax tree of a class, without importing its module.

    Raises ConfigurationError if the module or the class does not exist.
    """
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:  # a package above it
        spec = None
    source = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
    for node in _parsed(source):
        if isinstance(node, ast.ClassDef) and node.name == class_name:
            return node
    raise _without_class(f"{module}:{class_name}")


def _without_class(place: str) -> ConfigurationError:
    return ConfigurationError(
        "an entry point without its class",
        f"the registered class {place}",
        f"install its package again, or leave it out of {PACKAGES}",
    )

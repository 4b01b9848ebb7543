"""Names to classes: every variant of the zoo, as ``module:Class``, imported only when built.

A variant is its class: the first line of the docstring is its summary, the rest its equation and
source. They are read with ``ast``, so that listing the zoo imports no torch.

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
from typing import Any, NamedTuple

from models.base.errors import ConfigurationError, unknown_name

TABLES: dict[str, dict[str, str]] = {
    "family": {
        "seq2seq": "models.families.seq2seq:Seq2Seq",
        "rnnsearch": "models.families.rnnsearch:RnnSearch",
        "luong": "models.families.luong:Luong",
        "transformer": "models.families.transformer:Transformer",
        "multi-source": "models.families.multi_source:MultiSource",
        "multi-source-transformer": (
            "models.families.multi_source_transformer:MultiSourceTransformer"
        ),
        "captioner": "models.families.captioner:ShowAttendTell",
        "captioner-adaptive": "models.families.captioner_adaptive:CaptionerAdaptive",
        "captioner-top-down": "models.families.captioner_top_down:CaptionerTopDown",
        "captioner-transformer": "models.families.captioner_transformer:CaptionerTransformer",
        "classifier": "models.families.classifier:RecurrentClassifier",
        "classifier-transformer": "models.families.classifier:TransformerClassifier",
    },
    "score": {
        "additive": "models.attention.additive:Additive",
        "concat": "models.attention.concat:Concat",
        "dot": "models.attention.dot:Dot",
        "scaled_dot": "models.attention.scaled_dot:ScaledDot",
        "general": "models.attention.general:General",
        "cosine": "models.attention.cosine:Cosine",
        "qk_norm": "models.attention.qk_norm:QkNorm",
        "location": "models.attention.location:Location",
        "location_aware": "models.attention.location_aware:LocationAware",
        "ffn": "models.attention.ffn:FeedForwardScore",
    },
    "window": {
        "global": "models.attention.windows:Global",
        "local_m": "models.attention.windows:LocalMonotonic",
        "local_p": "models.attention.windows:LocalPredictive",
    },
    "normalise": {
        "softmax": "models.attention.normalise:Softmax",
        "sparsemax": "models.attention.sparsemax:Sparsemax",
        "entmax15": "models.attention.entmax15:Entmax15",
        "monotonic": "models.attention.monotonic:Monotonic",
        "mocha": "models.attention.mocha:MoChA",
    },
    "combination": {
        "flat": "models.attention.combinations.flat:Flat",
        "hierarchical": "models.attention.combinations.hierarchical:Hierarchical",
    },
    "pooling": {
        "learned": "models.pooling.learned:LearnedQuery",
        "final": "models.pooling.final:FinalState",
        "mean": "models.pooling.mean:Mean",
        "max": "models.pooling.maximum:Maximum",
        "self_attentive": "models.pooling.self_attentive:SelfAttentive",
    },
    "position": {
        "sinusoidal": "models.attention.positions.sinusoidal:Sinusoidal",
        "sinusoidal_2017": "models.attention.positions.sinusoidal:Sinusoidal2017",
        "learned": "models.attention.positions.learned:Learned",
        "relative": "models.attention.positions.relative:Relative",
        "rotary": "models.attention.positions.rotary:Rotary",
        "alibi": "models.attention.positions.alibi:Alibi",
        "none": "models.attention.positions.base:Position",
    },
    "mixing": {
        "attention": "models.attention.transformer:SelfAttention",
        "linear": "models.attention.linear:LinearAttention",
        "average": "models.attention.average:AverageAttention",
    },
    "copy": {
        "pointer": "models.decoders.pointer:Pointer",
        "copynet": "models.decoders.copynet:CopyNet",
    },
    "read": {"soft": "models.attention.read:Soft", "hard": "models.attention.hard:Hard"},
    "image_encoder": {
        "mobilenet-edgetpu": "models.encoders.edgetpu:MobileNetEdgeTpu",
        "small-cnn": "models.encoders.small_cnn:SmallCnn",
        "torchvision": "models.encoders.torchvision_cnn:TorchvisionCnn",
        "patches": "models.encoders.patches:Patches",
        "vit": "models.encoders.vit:VisionTransformer",
    },
    "importer": {
        "marian": "models.importers.marian:Marian",
        "marian-files": "models.importers.marian:MarianFiles",
    },
    "source": {
        "text": "models.sources.text:TextSource",
        "rows": "models.sources.rows:RowSource",
        "image": "models.sources.image:ImageSource",
        "labelled_text": "models.sources.labelled_text:LabelledTextSource",
    },
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

    @property
    def options(self) -> tuple[str, ...]:
        """The settings of its section that it reads, from the docstring's ``Options:`` line."""
        for line in self.detail.splitlines():
            if line.startswith("Options:"):
                return tuple(line.removeprefix("Options:").strip().rstrip(".").split(", "))
        return ()


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
    found = _entry_points(kind)
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


def location(kind: str, name: str) -> tuple[str, str]:
    """Return module and class of a registered name; raise UnknownNameError otherwise."""
    place = TABLES[kind].get(name) or package_names(kind).get(name)
    if place is None:
        if hint := package_hint(kind, name):
            raise ConfigurationError(f"{kind} {name!r} of a package that is not enabled", "", hint)
        raise unknown_name(kind, name, names(kind))
    module, _, class_name = place.partition(":")
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
    """Return the kind of input that a family reads, without importing the family.

    A family sets it in its own class body: `source = "image"`. The default is text.
    """
    return str(_class_value(*location("family", family), "source", DEFAULT_SOURCE))


def settings_of(family: str) -> tuple[str, ...]:
    """Return the fields of ModelConfig that a family states in its class body: `settings = (...)`.

    They come in addition to those that every family reads. Empty if the family states none.
    """
    return tuple(_class_value(*location("family", family), "settings", ()))


@cache
def _class_value(module: str, class_name: str, attribute: str, default: Any) -> Any:
    """Return a literal that a class body assigns, without importing the class."""
    for node in _class_tree(module, class_name).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == attribute:
            return ast.literal_eval(node.value)
    return default


def _class_tree(module: str, class_name: str) -> ast.ClassDef:
    """Return the syntax tree of a class, without importing its module.

    Raises ConfigurationError if the module or the class does not exist.
    """
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:  # a package above it
        spec = None
    source = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name == class_name:
            return node
    raise ConfigurationError(
        "an entry point without its class",
        f"the registered class {module}:{class_name}",
        f"install its package again, or leave it out of {PACKAGES}",
    )

"""Facts about models, and the installed ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from attncli.catalogue._runs import is_run, summary
from attncli.train.configuration import check_effects, run_config
from attncli.training.config import to_toml
from models.core import registry
from models.core.attention_config import all_parts, part_fields
from models.core.config import ModelConfig
from models.core.errors import ConfigurationError, UnknownNameError, unknown_name
from models.core.settings import from_dict, option
from models.core.sources import source_of, vocabulary_sizes
from models.core.types import VocabularySizes
from models.core.use_config import SearchConfig, TokenizerConfig
from models.storage import presets as zoo
from models.storage.archive import About, Facts, read_card, read_facts, read_lexicon_bytes
from models.storage.installed import find_model, installed
from models.storage.settings import read_settings
from models.text.lexicon import Lexicon

USUAL_TOKENS = 8000  # per vocabulary, to count the parameters of a preset
KINDS = {
    "preset": "presets",
    "family": "families",
    "score": "scores",
    "window": "windows",
    "normalise": "normalisers",
    "read": "reads",
    "position": "positions",
    "mixing": "mixings of tokens",
    "combination": "combinations of several inputs",
    "copy": "ways to copy",
    "pooling": "poolings",
    "image_encoder": "image encoders",
    "source": "kinds of input",
    "importer": "importers",
    "rerank": "ways to rerank outputs",
}


class Setting(NamedTuple):
    """An option of a part of the attention."""

    name: str  # as -s takes it
    default: str
    doc: str


class Entry(NamedTuple):
    """A name of the zoo."""

    kind: str  # one of KINDS
    name: str
    summary: str  # one line
    detail: str  # the rest: equation, source, limitations
    source: str  # the paper
    settings: tuple[Setting, ...] = ()


class Shown(NamedTuple):
    """A model with its settings and size."""

    title: str
    family: Entry
    settings: str  # TOML
    parameters: int
    vocabulary: VocabularySizes
    facts: tuple[str, ...] = ()  # of a trained model
    card: str = ""


@dataclass(frozen=True)
class BundleConfig:
    """The settings in a bundle's config.json."""

    model: Any = option(ModelConfig, "model")  # the Config of its family
    tokenizer: TokenizerConfig = option(TokenizerConfig, "tokenizer")
    search: SearchConfig = option(SearchConfig, "search")


def catalogue() -> list[Entry]:
    """Return every name of the zoo, presets first. Imports no torch."""
    found = []
    for name, preset in zoo.PRESETS.items():
        source = registry.describe("family", str(preset.model["family"])).source
        found.append(Entry("preset", name, preset.doc, "", source))
    return found + [_part(kind, name) for kind in registry.TABLES for name in registry.names(kind)]


def show(name: str, assignments: Sequence[str] = ()) -> Shown | list[Entry]:
    """Describe a preset, a trained model, or the parts with a name.

    A preset has precedence over a part, and both over a model; ``./name`` is a folder.
    """
    if name in zoo.PRESETS:
        preset = show_preset(name, assignments)
        same = [str(model.folder) for model in installed() if model.name == name]
        also = (f"a model has this name too: attn models show {same[0]}",) if same else ()
        return preset._replace(facts=also)
    if assignments:
        raise ConfigurationError(f"-s {assignments[0]} with {name}", "the name of a preset")
    parts = [_part(kind, name) for kind in registry.TABLES if name in registry.names(kind)]
    if parts:
        return parts
    if "/" in name or Path(name).exists() or name in (names := {m.name for m in installed()}):
        return show_bundle(find_model(name))
    hints = (registry.package_hint(kind, name) for kind in registry.TABLES)
    if hint := next(filter(None, hints), ""):
        raise UnknownNameError(f"no model or part '{name}'", "", hint)
    raise unknown_name(
        "model or part",
        name,
        names | {entry.name for entry in catalogue()},
        expected=f"a model ({', '.join(sorted(names))}), a folder of one, a preset or a part",
        hint="`attn models` lists all names",
    )


def show_preset(name: str, assignments: Sequence[str] = ()) -> Shown:
    """Describe a preset, with its size for its vocabulary."""
    config = run_config(name, assignments=assignments)
    check_effects(config, {}, assignments)
    joint, tokens = config.tokenizer.joint, config.tokenizer.size or USUAL_TOKENS
    sizes = vocabulary_sizes(config.model.family, tokens, tokens, joint)
    return Shown(
        title=f"{name}: {zoo.preset(name).doc}",
        family=_part("family", config.model.family),
        settings=to_toml(config),
        parameters=count_parameters(config.model, sizes),
        vocabulary=sizes,
    )


def show_bundle(folder: Path) -> Shown:
    """Describe the model in a folder."""
    settings = read_settings(folder)
    tables = {name: settings[name] for name in ("model", "tokenizer", "search")}
    config = from_dict(BundleConfig, tables, stored=True)
    sizes = VocabularySizes(**settings["vocabulary"])
    unused = set(source_of(config.model.family).unused_settings)
    if not config.tokenizer.languages:
        unused |= {"tokenizer.languages", "tokenizer.directions"}
    return Shown(
        title=f"{folder}: a trained model",
        facts=tuple(_facts(folder, read_facts(folder))),
        card=read_card(folder),
        family=_part("family", config.model.family),
        settings=to_toml(config, without=unused),
        parameters=count_parameters(config.model, sizes),
        vocabulary=sizes,
    )


def _facts(folder: Path, facts: Facts) -> Iterator[str]:
    """Yield a line for each known fact about a model and its run."""
    about, run = facts.about, summary(folder) if is_run(folder) else None
    values = {
        "summary": about.summary,
        "task": facts.task,
        "data": run.data if run else "",
        "languages": ", ".join(about.languages) or (run.languages if run else ""),
        "score": about.score or (run.score if run else ""),
        "run": f"{run.state}, {run.step:,} updates, {run.changed:%Y-%m-%d %H:%M}" if run else "",
        "licence": about.licence,
        "use": about.use if about.licence else "",
        "weights": f"{facts.precision}, {facts.bytes:,} bytes",
        "lexicon": lexicon_facts(folder, about),
    }
    yield from (f"{name}: {value}" for name, value in values.items() if value)


def lexicon_facts(folder: Path, about: About) -> str:
    """Return entries, bytes and licence of the lexicon of a model; "" if it has none."""
    packed = read_lexicon_bytes(folder)
    if not packed:
        return ""
    sizes = Lexicon(packed).sizes()
    ways = ", ".join(
        f"{way} {count:,}" if way != "-" else f"{count:,}" for way, count in sizes.items() if count
    )
    licence = about.lexicon or about.licence or "not stated"
    return f"entries {ways}; {len(packed):,} bytes; licence: {licence}"


def count_parameters(config: ModelConfig, vocabulary: VocabularySizes) -> int:
    """Return the number of parameters, shared ones once, without allocating them."""
    import torch

    from models.networks.bundle import build

    with torch.device("meta"):
        model = build(config, vocabulary)
    return sum(parameter.numel() for parameter in model.parameters())


def _part(kind: str, name: str) -> Entry:
    found = registry.describe(kind, name)
    own = part_fields(kind, name) if (kind, name) in all_parts() else {}
    settings = (
        Setting(f"model.attention.{one}", str(field.default).lower(), field.metadata["doc"])
        for one, field in own.items()
    )
    return Entry(kind, name, found.summary, found.detail, found.source, tuple(settings))

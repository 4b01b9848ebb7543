"""Facts about models, and the installed ones."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attncli.jobs.runs import is_run, summary
from attncli.training.run.configuration import run_config
from attncli.training.settings.toml import to_toml
from attncli.training.storage.folder import RunFolder
from models.base import registry
from models.base.errors import (
    ConfigurationError,
    ModelError,
    UnknownNameError,
    intact,
    unknown_name,
)
from models.base.files import write_folder
from models.base.settings import fields_of, from_dict, option
from models.base.types import VocabularySizes
from models.catalogue import presets as zoo
from models.catalogue.installed import Installed, find_model, installed, is_bundle, user_folder
from models.catalogue.presets import unused_settings
from models.config import AttentionConfig, ModelConfig
from models.sources import source_of, vocabulary_sizes
from models.storage.archive import (
    About,
    Facts,
    extract_archive,
    read_about,
    read_card,
    read_facts,
    write_archive,
)
from models.storage.digests import check_digests, read_digests
from models.storage.settings import (
    CARD,
    WEIGHTS,
    Shared,
    WeightPrecision,
    read_settings,
    task_of,
    write_alignment,
)
from models.use_config import SearchConfig, TokenizerConfig

if TYPE_CHECKING:
    from models.families.encoder_decoder import EncoderDecoder


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

    model: ModelConfig = option(ModelConfig, "model")
    tokenizer: TokenizerConfig = option(TokenizerConfig, "tokenizer")
    search: SearchConfig = option(SearchConfig, "search")


def catalogue() -> list[Entry]:
    """Return every name of the zoo, presets first. Imports no torch."""
    found = []
    for name, preset in zoo.PRESETS.items():
        source = registry.describe("family", zoo.model_config(name).family).source
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
    config = from_dict(BundleConfig, tables)
    sizes = VocabularySizes(**settings["vocabulary"])
    unused = set(unused_settings(config.model))
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
    }
    yield from (f"{name}: {value}" for name, value in values.items() if value)


def count_parameters(config: ModelConfig, vocabulary: VocabularySizes) -> int:
    """Return the number of parameters, shared ones once, without allocating them."""
    import torch

    from models.bundle import build

    with torch.device("meta"):
        model = build(config, vocabulary)
    return sum(parameter.numel() for parameter in model.parameters())


def _part(kind: str, name: str) -> Entry:
    found = registry.describe(kind, name)
    known = fields_of(AttentionConfig)
    settings = (
        Setting(f"model.attention.{each}", str(field.default).lower(), field.metadata["doc"])
        for each in found.options
        if (field := known.get(each))
    )
    return Entry(kind, name, found.summary, found.detail, found.source, tuple(settings))


# Pack, install, remove, verify and list models on disk.


ARCHIVE = ".zip"
HEAD_PAIRS = 100  # translations by which the attention head of an imported model is chosen


class Packed(NamedTuple):
    """The sizes of a model before and after packing, in bytes of weights."""

    path: Path
    before: int
    after: int


class Packing(NamedTuple):
    """Settings of the packing of a model."""

    weights: WeightPrecision = "int8"
    share: str = ""  # model beside the target whose image network is used
    card: Path | None = None  # None: the model's own card
    about: About = About()  # facts that replace those of the model


class Listed(NamedTuple):
    """A model on disk and the facts about it; None if it is damaged."""

    model: Installed
    facts: Facts | None


def pack(model: Path, target: Path, packing: Packing) -> Packed:
    """Write a model as one file (NAME.zip) or, for any other name, as a folder.

    Raises ModelError if the target exists, or the model is damaged.
    """
    source = find_model(model)
    if target.exists() or target.is_symlink():
        raise ModelError(f"{target} exists", "a new file or folder", "remove it first")
    if target.suffix != ARCHIVE:
        write_folder(target, lambda part: _save(source, part, packing))
        return Packed(target, _size(source), _size(target))
    if packing.share:
        raise ModelError(f"{target} cannot share weights", "a folder", "leave out --share")
    with tempfile.TemporaryDirectory() as folder:
        _save(source, Path(folder), packing)
        write_archive(Path(folder), target)
        return Packed(target, _size(source), _size(Path(folder)))


def add(
    source: str | Path,
    name: str = "",
    *,
    revision: str = "",
    sample: Path | None = None,
    remark: Callable[[str], None] = lambda text: None,
) -> Path:
    """Install a packed model, a copy of a bundle's folder, or a public model.

    source: a path, or a name of the Hugging Face hub. name: of the installed model; by default that
    of the file. revision: of the hub. sample: source texts, one a line, by which the attention head
    that aligns best is chosen; the default for English is the embedded grammar. remark: receives
    a line about this choice. Raises ModelError if the name is taken, or the model is damaged;
    nothing is installed then.
    """
    from models.importers.hub import fetch, is_hub_name

    path, source = Path(source), str(source)
    target = user_folder() / _checked_name(name or (path.name if path.is_dir() else path.stem))
    if target.exists():
        raise ModelError(
            f"a model named {target.name} is installed", "a new name", "choose one with --name"
        )
    if is_hub_name(source):
        path = fetch(source, revision)
    elif revision:
        raise ModelError(f"--revision {revision} of {source}", "a name of the hub")
    write_folder(target, lambda part: remark(_install(path, part, source, sample)))
    return target


def remove(name: str) -> Path:
    """Remove a model from the user folder and return its folder."""
    folder = user_folder() / _checked_name(name)
    if not is_bundle(folder):
        raise ModelError(f"no model {name} in {user_folder()}", "one that was added before")
    shutil.rmtree(folder)
    return folder


def verify(folder: Path) -> str:
    """Compare a model with its digests and load it; return a remark, "" if there is none.

    The checkpoints and the prepared data of a run folder are compared with theirs, too.
    Raises ModelError for what is damaged.
    """
    from attncli.training.sources import check_folder
    from attncli.training.storage.state import read_tensors
    from models.bundle import read

    read(folder)
    digests = read_digests(folder)
    check_digests(folder, [name for name in digests if "/" not in name])
    run = RunFolder(folder)
    if run.data.is_dir():
        check_folder(run.data)
    for file in (run.checkpoint, *sorted(run.snapshots.glob("*"))):
        if file.exists():
            read_tensors(file)
    return "" if digests else "no digests"


def listed() -> Iterator[Listed]:
    """Yield the models in every place, with the facts about them."""
    for model in installed():
        try:
            yield Listed(model, read_facts(model.folder))
        except ModelError:
            yield Listed(model, None)


def _save(source: Path, folder: Path, packing: Packing) -> None:
    from models.bundle import read, save

    old, new = read_about(read_settings(source)), packing.about
    about = old._replace(**{name: value for name, value in new._asdict().items() if value})
    bundle = read(source)
    _forget_paths(bundle.model)
    save(
        bundle,
        folder,
        card=_card(packing.card or source / CARD, packing.card is not None),
        weights=packing.weights,
        about=about.to_dict(),
        shared=_shared(bundle.model.config.family, packing.share),
    )


def _shared(family: str, bundle: str) -> Shared | None:
    """Return the weights that a model of this family takes from another bundle; None: none."""
    if not bundle:
        return None
    source = source_of(family)
    if not source.shared_weights:
        raise ConfigurationError(
            f"a model of family {family}, which {source.ability}",
            "a model with an image network, which several models can share",
            "leave out --share",
        )
    return Shared(bundle, source.shared_weights)


def _forget_paths(model: EncoderDecoder) -> None:
    """Replace the path of an image network's weights, because the bundle contains the weights."""
    image = model.config.image
    if image.weights not in ("DEFAULT", "none"):
        image = dataclasses.replace(image, weights="DEFAULT")
        model.config = dataclasses.replace(model.config, image=image)


def _card(path: Path, required: bool) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        if not required:
            return ""
        raise ModelError(f"cannot read {path} ({error})", "a card in Markdown") from None


def _install(path: Path, folder: Path, source: str, sample: Path | None) -> str:
    """Write a bundle into a folder; return the remark about its alignment head."""
    from models.bundle import read
    from models.importers.published import import_model, is_published

    if not path.exists():
        raise ModelError(
            f"no file {path}",
            "a file made by `attn models pack`, a public model, or a name of the hub as owner/name",
        )
    if is_published(path):
        import_model(path, folder, name=source)
        return _with_head(folder, sample)
    if path.is_dir():
        is_int8 = read_settings(path).get("weights") == "int8"
        _save(path, folder, Packing(weights="int8" if is_int8 else "fp32"))
        return ""
    extract_archive(path, folder)
    read(folder)
    return ""


def _with_head(folder: Path, sample: Path | None) -> str:
    """Choose the attention head of an imported translator by aligning its own translations.

    A model of several languages has no direction yet, so that none is chosen.
    """
    from attncli.embedded import grammar
    from models.alignment import choose_head
    from models.inference.translator import Translator

    settings = read_settings(folder)
    languages = read_about(settings).languages
    if task_of(folder) != "translate" or settings["tokenizer"].get("languages"):
        return ""
    if sample is None and languages[:1] not in (("en",), ("eng",)):
        return ""
    texts = [pair.source for pair in grammar.generate(HEAD_PAIRS, seed=1)]
    if sample is not None:
        with intact(sample, "source texts in UTF-8, one a line"):
            lines = sample.read_text("utf-8").splitlines()
        texts = [line for line in lines if line.strip()][:HEAD_PAIRS]
    model = Translator.read(folder)
    greedy = dataclasses.replace(model.search, beam=1)
    fitting = [text for text in texts if model.source_length(text) <= model.max_source_length]
    found = model.translate(fitting, search=greedy)
    pairs = [(each.source, each.text) for each in found if each.text.strip()]
    if not pairs:
        return ""
    chosen = choose_head(model, pairs)
    write_alignment(folder, chosen)
    head = f"head {chosen.head}" if chosen.head else "the mean of its heads"
    return f"words are aligned by layer {chosen.layer}, {head}, chosen by {len(pairs)} translations"


def _checked_name(name: str) -> str:
    if not name or name.startswith(".") or set(name) & set("/\\\0") or name != name.strip():
        raise ModelError(f"the name {name!r} of a model", "letters, digits and dashes")
    return name


def _size(folder: Path) -> int:
    return (folder / WEIGHTS).stat().st_size

"""Configuration of a run, and its initial model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attncli.task.table import TRAINING
from attncli.terminal import console
from attncli.training.settings.config import RunConfig
from attncli.training.settings.loggers import check_loggers
from attncli.training.sources import find_training_source, not_for, source_of_run
from models.core.config import ImageConfig, ModelConfig
from models.core.errors import ConfigurationError, ModelError
from models.core.settings import check_limits, fields_of, from_dict, merged, overridden
from models.core.sources import without_effect
from models.core.types import VocabularySizes
from models.core.use_config import TokenizerConfig
from models.storage.installed import BOX, DEFAULTS
from models.storage.presets import preset as find_preset
from models.storage.settings import read_settings
from models.text.tokenizer import SPACE, Tokenizer, new_parts, read_tokenizer

if TYPE_CHECKING:
    from torch import nn

    from models.networks.encoder_decoder import EncoderDecoder
    from models.networks.image_encoder import ImageEncoder

ENCODER = "model.image.encoder="


def run_config(
    preset: str, values: Mapping[str, Any] | None = None, assignments: Iterable[str] = ()
) -> RunConfig:
    """Return the settings of a run; later sources override earlier ones.

    preset: its name; values: tables of a TOML file; assignments: `section.key=value` strings.
    """
    chosen, values, assignments = find_preset(preset), values or {}, list(assignments)
    config = merged(RunConfig(preset=preset), {"model": chosen.model, "train": chosen.train})
    named = [text for text in assignments if text.strip().startswith("model.")]
    given = {"model": values["model"]} if "model" in values else {}
    config = config.of_kind(overridden(merged(config, given), named).model.family)
    own, others = fields_of(type(config.data)), map(find_training_source, TRAINING)
    known = {name for other in others for name in fields_of(other.table)}
    for name in data_names(values, assignments):
        if name not in own and name in known:  # that another kind of input has
            source = source_of_run(config)
            raise not_for(f"data.{name}", source.named, source.unit)
    config = overridden(merged(config, values), assignments)
    check_limits(config)
    source_of_run(config).check()
    return config


def data_names(values: Mapping[str, Any], assignments: Iterable[str]) -> list[str]:
    """Return the names of the settings of [data] in tables of a TOML file and assignments."""
    table = values.get("data", {})
    places = [text.partition("=")[0].strip() for text in assignments]
    own = [place.removeprefix("data.") for place in places if place.startswith("data.")]
    return [*(table if isinstance(table, Mapping) else ()), *own]


def image_settings(preset: str, values: Mapping[str, Any]) -> ImageConfig:
    """Return the settings of the image network in a preset and the tables of a TOML file."""
    config = merged(RunConfig(preset=preset), {"model": find_preset(preset).model})
    return merged(config, {"model": values.get("model", {})}).model.image


NEEDS: Mapping[str, tuple[str, Callable[[RunConfig], Any]]] = {  # for an effect
    **dict.fromkeys(
        ("data.replay", "data.temperature"), ("languages (--corpus)", lambda run: run.data.corpora)
    ),
    "data.demo_size": ("the embedded data", lambda run: not run.data.is_given),
    "train.plateau_patience": (
        "train.schedule=plateau",
        lambda run: run.train.schedule == "plateau",
    ),
    "train.encoder_lr": ("train.encoder_from", lambda run: run.train.encoder_from),
    "train.self_critical_likelihood": (
        "train.self_critical_lr",
        lambda run: run.train.self_critical_lr,
    ),
}


def check_effect(setting: str, config: RunConfig) -> None:
    """Raise ModelError for a setting, given by the user, that changes nothing in a run."""
    reason = without_effect(setting, config.model)
    needed, has_effect = NEEDS.get(setting, ("", lambda run: True))
    table, _, name = setting.partition(".")
    unset = needed and getattr(getattr(RunConfig(), table), name, None)
    if needed and getattr(getattr(config, table), name) != unset and not has_effect(config):
        reason = f"{setting} has no effect without {needed}"
    if reason:
        raise ConfigurationError(reason, "settings that the run reads", f"leave out {setting}")


def encoder_assignments(preset: ImageConfig, assignments: Iterable[str]) -> list[str]:
    """Return the assignments that an image network other than the preset's brings with it.

    Grid, image size and weights of the preset belong to its own network, so they do not
    apply to another. preset: settings before the assignments. The result precedes them.
    """
    texts = [text.strip() for text in assignments]
    given = [text.removeprefix(ENCODER) for text in texts if text.startswith(ENCODER)]
    if not given or given[-1] == preset.encoder:
        return []
    from models.networks.image_encoder import kind_of  # imports torch

    usual = kind_of(given[-1]).usual
    values = {"grid": "", "size": usual.size, "weights": usual.weights}
    return [f"model.image.{name}={value}" for name, value in values.items()]


def names_shipped_network(image: ImageConfig) -> bool:
    """Return True if the image network is that of the shipped captioner."""
    return (image.encoder, image.weights) == (ImageConfig.encoder, ImageConfig.weights)


def start_advice(image: ImageConfig, start_from: str) -> tuple[str, ...]:
    """Return a line that names the shipped captioner as a start, if only its network is used."""
    name = DEFAULTS["caption"]
    if start_from or not names_shipped_network(image) or not (BOX / name).exists():
        return ()
    return (
        f"image network: that of the shipped model {name}; with few images, "
        f"--start-from {name} starts from its decoder and vocabulary too",
    )


TOKENS = 1000  # any vocabulary size: the checks do not depend on it


def check_buildable(config: RunConfig) -> None:
    """Raise the ModelError that building the model and loss would raise; allocate no weights."""
    import torch

    from models.networks.bundle import build
    from models.networks.losses import AttentionLoss

    train = config.train
    if train.schedule == "linear" and not (train.minutes or train.steps or train.epochs):
        raise ConfigurationError(
            "train.schedule=linear", "train.minutes, train.steps or train.epochs with it"
        )
    check_loggers(train.loggers)
    with torch.device("meta"):
        model = build(config.model, VocabularySizes(TOKENS, TOKENS, config.tokenizer.joint))
    AttentionLoss(train.attention, model)
    if config.start_from and config.model.vectors:
        found = f"model.vectors with the initial model {config.start_from}"
        raise ConfigurationError(found, "one of them")
    if config.start_from:
        check_initial_model(config.start_from, config.model, config.tokenizer)


def check_initial_model(start_from: str, config: ModelConfig, tokenizer: TokenizerConfig) -> None:
    """Raise ModelError for settings that do not fit the initial model, before data are read."""
    import torch

    from models.networks.bundle import build
    from models.storage.weights import fill_from

    folder = Path(start_from)
    settings = read_settings(folder)
    stored = from_dict(TokenizerConfig, settings["tokenizer"], where="tokenizer")
    if replace(tokenizer, directions=stored.directions, model=()) != stored:
        raise ModelError(
            f"[tokenizer] settings that differ from those of the initial model {folder}",
            "no such settings: the vocabulary comes from that model",
        )
    weights = from_dict(ModelConfig, settings["model"], where="model").image.weights
    if config.image.weights != weights:
        raise ModelError(
            f"model.image.weights={config.image.weights} with the initial model {folder}",
            "no such setting: the image network comes from that model",
            "unfreeze it with -s train.encoder_from=1",
        )
    with torch.device("meta"):  # compares names and shapes; allocates nothing
        model = build(config, VocabularySizes(**settings["vocabulary"]))
        fill_from(model, folder)


def weights_hash(folder: Path) -> str:
    """Return a hash of the weights in a model's folder."""
    try:
        return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    except OSError as error:
        raise ModelError(
            f"cannot read the initial model {folder} ({error.strerror})",
            "a folder made by `attn train`",
        ) from None


def load_initial_weights(model: EncoderDecoder, start_from: str, tokenizer: Tokenizer) -> None:
    """Fill a new model with the initial weights: of a trained model, or of a pretrained encoder."""
    from models.networks.image_encoder import pretrained_encoder
    from models.storage.weights import fill_from

    if start_from:
        old = read_tokenizer(Path(start_from))
        is_known = old.files() == tokenizer.files()
        fill_from(model, Path(start_from), parts=() if is_known else new_parts(old, tokenizer))
    elif encoder := pretrained_encoder(model):
        encoder.load_pretrained()
        labels = getattr(encoder, "labels", None)  # of an image network that names its images
        if labels is not None:
            labels.set_nouns(lambda noun: tokenizer.encode_target(noun)[:-1])


def load_vectors(model: EncoderDecoder, paths: Sequence[str], tokenizer: Tokenizer) -> None:
    """Fill embeddings with word vectors, at the scale of random ones; other tokens stay random.

    paths: one file for both sides, or one for each. Raises ConfigurationError for vectors of
    another size than the embeddings.
    """
    import torch

    from models.attention.layers import Embedding
    from models.text.vectors import read_vectors

    filled: set[tuple[int, int]] = set()  # embeddings that are shared have the first vector
    sides = ((model.encoder, tokenizer.source), (model.decoder, tokenizer.target))
    for number, (part, processor) in enumerate(sides if paths else ()):
        embedding = getattr(part, "embedding", None)
        if not isinstance(embedding, Embedding):
            continue
        pieces = map(processor.id_to_piece, range(len(embedding.weight)))
        words = {piece[1:]: n for n, piece in enumerate(pieces) if piece.startswith(SPACE)}
        path = Path(paths[min(number, len(paths) - 1)])
        found = read_vectors(path, words)
        values = torch.stack([*map(torch.from_numpy, found.values())])
        size = embedding.weight.shape[1]
        if values.shape[1] != size:
            raise ConfigurationError(
                f"word vectors of {values.shape[1]} numbers in {path} for embeddings of {size}",
                f"-s model.embedding={values.shape[1]}",
            )
        values *= size**-0.5 / values.square().mean().sqrt()
        for word, value in zip(found, values, strict=True):
            place = id(embedding), words[word]
            if place not in filled:
                embedding.weight.data[words[word]] = value
                filled.add(place)
        console.say(f"{path.name}: vectors of {len(found):,} of {len(embedding.weight):,} tokens")


def load_initial_encoder(encoder: ImageEncoder, start_from: str, name: str) -> None:
    """Fill an encoder alone with the weights that `load_initial_weights` would give it.

    name: of the encoder in the model, such as encoder.image.
    """
    from torch import nn

    from models.storage.weights import fill_from

    if start_from:
        whole: nn.Module = encoder
        for part in reversed(name.split(".")):
            outer = nn.Module()
            outer.add_module(part, whole)
            whole = outer
        fill_from(whole, Path(start_from), others=True)
    else:
        encoder.load_pretrained()

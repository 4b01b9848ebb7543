"""Captioned images as training data: from files of captions to token ids and image features.

Captions are written to the run folder (files.py). Image features are cached by content hash, so
that all runs share them (features.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from attncli.caption.dev import DevCaptions, SelfCritical
from attncli.caption.features import (
    Broken,
    FeatureStore,
    add_missing,
    feature_stores,
)
from attncli.caption.prepared import (
    ImageData,
    Manifest,
    PreparedCaptions,
    read_manifest,
    read_prepared_captions,
    read_regions,
    write_captions,
    write_manifest,
)
from attncli.data.captions import (
    Captioned,
    CaptionExamples,
    read_captions,
    styled,
)
from attncli.data.corpus import described, held_out
from attncli.data.named_files import ImageIndex, content_hash, open_images
from attncli.data.tokens import Dropped
from attncli.terminal.messages import counted
from attncli.training.configuration import start_advice
from attncli.training.interfaces import Data, Progress
from attncli.training.settings.config import RunConfig, TrainConfig
from attncli.training.sources import (
    Preparation,
    preparation,
    prepare_folder,
)
from attncli.training.vocabulary import learn_side, write_vocabulary
from models.core.errors import ModelError
from models.text.tokenizer import Tokenizer

NAMED = 3  # images named in a message about many


class Captions(NamedTuple):
    """Captions as read from their files."""

    train: list[Captioned]
    dev: list[Captioned]


def load(config: RunConfig, folder: Path, progress: Progress) -> Data:
    """Return the run's data; prepare them in the run folder the first time."""
    stores = feature_stores(config.model, config.data.features, config.train, config.start_from)
    captions, prepared_folder = read_parts(config.data), folder / "data"
    if not captions.dev and (not prepared_folder.exists() or read_manifest(prepared_folder).dev):
        few = bool(config.start_from)
        captions = split_dev(captions, config.data.dev_share, few=few)
    settings = preparation(config)
    prepare_folder(
        prepared_folder, lambda part: prepare(settings, captions, stores, part, progress)
    )
    manifest, tokenizer = read_manifest(prepared_folder), Tokenizer.read(prepared_folder)
    hashes = {**manifest.train, **manifest.dev}
    broken = compute_features(stores, config.data.images, hashes, progress)
    if broken:
        raise ModelError(abbreviate(broken.values()), "the images that the run started with")
    remarks = start_advice(config.model.image, config.start_from)
    if captions.dev and not config.data.dev_captions:
        remarks += (described(len(captions.dev), "images"),)
    texts = read_prepared_captions(prepared_folder)
    examples = caption_examples(texts, manifest, stores, config.train)
    rewards = None
    if config.train.self_critical_lr:
        captions_of = dict(captions.train)
        references = [captions_of[name] for name in manifest.train]
        longest = config.search.max_caption
        rewards = SelfCritical(references, texts.images, tokenizer, config.train, longest)
    dropped = Dropped(manifest.empty, manifest.long)
    return Data(
        tokenizer,
        examples,
        dropped,
        dev_set(captions.dev, manifest.dev, stores[-1], config.data),
        notes=notes(manifest),
        reward_loss=rewards,
        remarks=remarks,
    )


def caption_examples(
    texts: PreparedCaptions, manifest: Manifest, stores: list[FeatureStore], config: TrainConfig
) -> CaptionExamples:
    """Return the captions that `prepare` wrote, with the features or pixels of their images."""
    target, images, links = texts
    keys = list(manifest.train.values())
    stages = [
        CaptionExamples(target, store.cache.rows(keys)[images], store.inputs, links)
        for store in stores
    ]
    first, last = stages[0], stages[-1]
    inputs = replace(last.inputs, augment=config.encoder_from > 0)
    # a large network costs the most, and samples of one image are compared with each other
    shared_from = 0 if config.self_critical_lr else config.encoder_from - 1
    if shared_from < 0:
        return last
    turn = config.encoder_from - 1 if len(stages) > 1 else 0
    return CaptionExamples(
        target,
        last.rows,
        inputs,
        links=links,
        together=True,
        together_from=shared_from,
        first=first,
        turn=turn,
    )


def read_parts(data: ImageData) -> Captions:
    """Return the captions for training and evaluation; dev is read first, to fail early."""
    dev = read_captions(data.dev_captions, part="dev") if data.dev_captions else []
    return Captions(read_captions(data.captions, part="train"), dev)


def split_dev(captions: Captions, share: float, *, few: bool = False) -> Captions:
    """Hold out a share of the images for evaluation."""
    held = held_out(((one.image, one.image) for one in captions.train), share, few=few)
    parts: tuple[list[Captioned], list[Captioned]] = ([], [])
    for image in captions.train:
        parts[image.image in held].append(image)
    return Captions(*parts)


def prepare(
    settings: Preparation,
    captions: Captions,
    stores: list[FeatureStore],
    folder: Path,
    progress: Progress,
) -> None:
    """Find the images, compute their features, learn a vocabulary and write the captions as ids."""
    data = settings.data
    hashes, missing = locate(captions, open_images(data.images), progress)
    faults = compute_features(stores, data.images, hashes, progress)
    broken = {name: faults[key] for name, key in hashes.items() if key in faults}
    usable = {name: key for name, key in hashes.items() if name not in broken}
    train = [image for image in captions.train if image.image in usable]
    if not train:
        raise ModelError(f"no image can be decoded ({abbreviate(broken.values())})", "images")
    texts = [styled(text, data.caption_style) for image in train for text in image.captions]
    tokenizer = write_vocabulary(
        folder, settings, lambda: learn_side(texts, settings.tokenizer), progress
    )
    regions = read_regions(data, stores[-1].slots)
    dropped = write_captions(train, tokenizer, folder, data, regions)
    manifest = Manifest(
        {image.image: usable[image.image] for image in train},
        {image.image: usable[image.image] for image in captions.dev if image.image in usable},
        missing,
        broken,
        *dropped,
    )
    write_manifest(folder, manifest)


def locate(
    captions: Captions, images: ImageIndex, progress: Progress
) -> tuple[dict[str, str], list[str]]:
    """Return the content hash of each captioned image by name, and the names without an image."""
    names = list(dict.fromkeys(image.image for part in captions for image in part))
    hashes, missing = {}, []
    for number, name in enumerate(names):
        if number % 100 == 0:
            progress("reading images", number, len(names))
        if place := images.find(name):
            hashes[name] = content_hash(place.read())
        else:
            missing.append(name)
    if not hashes:
        raise ModelError(
            f"none of the {len(names):,} captioned images is in {images.path}, "
            f"among them {missing[0]}",
            "the images that the captions name",
            "check --images",
        )
    return hashes, missing


def compute_features(
    stores: list[FeatureStore], path: str, hashes: Mapping[str, str], progress: Progress
) -> Broken:
    """Add rows for the images, given as name: content hash; return those that cannot be decoded.

    path: folder or TAR file of the images.
    """
    names = {key: name for name, key in hashes.items()}
    images = cache(lambda: open_images(path))  # opened only if a row is missing

    def read(key: str) -> bytes:
        place = images().find(names[key])
        content = place.read() if place else b""
        if content_hash(content) != key:
            raise ModelError(f"{names[key]} changed or was removed since the run started")
        return content

    broken = Broken()
    for store in stores:
        broken |= add_missing(store, names, read, progress)
    return broken


def dev_set(
    dev: list[Captioned], hashes: dict[str, str], store: FeatureStore, data: ImageData
) -> DevCaptions | None:
    """Return the dev images that were found, with all their captions."""
    found = [image for image in dev if image.image in hashes]
    if not found:
        return None
    references = [[text for text in image.captions if text] for image in found]
    return DevCaptions(
        store.inputs,
        store.cache.rows(hashes[image.image] for image in found),
        references,
        [[styled(text, data.caption_style) for text in texts] for texts in references],
        tuple(image.image for image in found),
        data.images,
    )


def test_set(config: RunConfig, captions: list[Captioned], progress: Progress) -> DevCaptions:
    """Return captioned images with features of the image network of a run.

    Raises ModelError if an image cannot be decoded.
    """
    data = config.data
    store = feature_stores(config.model, data.features, config.train, config.start_from)[-1]
    hashes, _ = locate(Captions([], captions), open_images(data.images), progress)
    broken = compute_features([store], data.images, hashes, progress)
    if broken:
        raise ModelError(f"images of the test set: {abbreviate(broken.values())}", "each of them")
    found = dev_set(captions, hashes, store, data)
    assert found is not None
    return found


def notes(manifest: Manifest) -> tuple[str, ...]:
    """Return warnings about missing and broken images, with the names of the first ones."""
    groups = (
        ("captioned image", "found", manifest.missing),
        ("image", "decoded", list(manifest.broken.values())),
    )
    return tuple(
        f"{counted(len(names), noun)} cannot be {verb}: {abbreviate(names)}; "
        f"{'its' if len(names) == 1 else 'their'} captions are excluded"
        for noun, verb, names in groups
        if names
    )


def abbreviate(names: Iterable[str]) -> str:
    """Return the first names, and the number of the others."""
    names = list(names)
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more

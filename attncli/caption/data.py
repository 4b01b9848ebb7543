"""Captioned images as training data: from files of captions to token ids and image features.

Captions are written to the run folder. Image features are cached by content hash, so that all runs
share them (features.py).

    data/tokenizer.model, target.ids, target.offsets.npy    captions to train on, as token ids
    data/links.ids, links.offsets.npy      links of cells and tokens, if data.regions names a file
    data/pictures.npy       (N,) index of each caption's image
    data/made.json          content hashes of the images, and what was excluded
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, compress, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attncli.caption._captions import Captioned, read_captions, styled
from attncli.caption._dev import DevCaptions
from attncli.caption._self_critical import SelfCritical
from attncli.caption.features import FeatureStore, ImageFiles, feature_stores
from attncli.caption.source import ImageTraining, start_advice
from attncli.data.alignments import WordLinks, cell_links, read_word_links
from attncli.data.corpus import held_out
from attncli.data.named_files import content_hash
from attncli.terminal.messages import abridged, counted
from attncli.training.config import TrainConfig
from attncli.training.dev import Data
from attncli.training.examples import Table
from attncli.training.interfaces import Progress
from attncli.training.prepared import (
    PairTable,
    Preparation,
    learn_side,
    prepare_folder,
    read_made,
    reading,
    write_made,
    write_tables,
)
from attncli.training.tokens import Dropped, read_links, read_side, write_links
from models.core.errors import ModelError, NotFoundError
from models.text.tokenizer import Tokenizer


class Manifest(NamedTuple):
    """The content of `data/made.json`."""

    train: dict[str, str]  # name of an image: content hash
    dev: dict[str, str]
    missing: list[str]  # names that no file has
    broken: dict[str, str]  # name of an image that cannot be decoded: reason, with the name
    empty: int  # captions excluded
    long: int

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Return that of a folder; raise a ModelError if it is damaged."""
        with reading(f"the prepared captions in {folder} are"):
            return cls(**read_made(folder))


class Captions(NamedTuple):
    """Captions as read from their files."""

    train: list[Captioned]
    dev: list[Captioned]


def load(source: ImageTraining, folder: Path, progress: Progress) -> Data:
    """Return the run's data; prepare them in the run folder the first time."""
    data, train, place = source.data, source.train, folder / "data"
    stores = feature_stores(source.model, data.features, train, source.start_from)
    files, captions = ImageFiles(data.images, stores), read_parts(source, place)
    prepare_folder(place, lambda part: prepare(source, captions, files, part, progress))
    manifest, tokenizer = Manifest.read(place), Tokenizer.read(place)
    names = {key: name for name, key in (*manifest.train.items(), *manifest.dev.items())}
    if broken := files.add(names, progress):
        raise ModelError(abridged(broken.values()), "the images that the run started with")
    with reading(f"the prepared captions in {place} are"):
        images = np.load(place / "pictures.npy", allow_pickle=False)
        examples = tables_of(place, images, manifest, stores, train)
    rewards = None
    if train.self_critical_lr:
        captions_of = dict(captions.train)
        references = [captions_of[name] for name in manifest.train]
        rewards = SelfCritical(references, images, tokenizer, train, source.search.max_caption)
    return Data(
        tokenizer,
        examples,
        Dropped(manifest.empty, manifest.long),
        dev_set(source, captions.dev, manifest.dev, stores[-1]),
        notes=notes(manifest),
        reward_loss=rewards,
        remarks=start_advice(source.model.image, source.start_from),
    )


def tables_of(
    folder: Path,
    images: np.ndarray,
    manifest: Manifest,
    stores: Sequence[FeatureStore],
    train: TrainConfig,
) -> Table:
    """Return the captions that `prepare` wrote, with features or pixels, by their first epochs.

    images (N,): of each caption. Captions of one image share a batch where the image network is
    trained, because it costs the most, and where rewards of one image are compared.
    """
    keys = list(manifest.train.values())
    apart, *_, last = [store.images(keys).some(images) for store in (stores[0], *stores)]
    table = Table(last, read_side(folder, "target"), links=read_links(folder))
    turn = train.encoder_from - 1  # epoch from which the network is trained
    if turn < 0 and not train.self_critical_lr:
        return table
    shared_from = 0 if train.self_critical_lr else turn
    pixels = replace(last, augment=turn >= 0)
    turn = turn if len(stores) > 1 else 0
    stages = []
    for epoch in sorted({0, max(0, shared_from), max(0, turn)}):
        column = pixels if epoch >= turn else apart
        rows = column.rows if epoch >= shared_from else None
        stages.append((epoch, replace(table, source=column, sources=rows)))
    return replace(stages[-1][1], stages=tuple(stages))


def read_parts(source: ImageTraining, place: Path) -> Captions:
    """Return the captions for training and evaluation; dev is read first, to fail early.

    place: of the prepared data. Without a named dev set, a share of the images is held out, unless
    the run was prepared without.
    """
    data = source.data
    dev = read_captions(data.dev_captions, part="dev") if data.dev_captions else []
    train = read_captions(data.captions, part="train")
    if dev or (place.exists() and not Manifest.read(place).dev):
        return Captions(train, dev)
    named = ((one.image, one.image) for one in train)
    held = held_out(named, data.dev_share, few=bool(source.start_from))
    return Captions(
        [one for one in train if one.image not in held], [one for one in train if one.image in held]
    )


def prepare(
    source: ImageTraining,
    captions: Captions,
    files: ImageFiles,
    folder: Path,
    progress: Progress,
) -> None:
    """Find the images, compute their features, learn a vocabulary and write the captions as ids."""
    hashes, missing = locate(captions, files, progress)
    faults = files.add({key: name for name, key in hashes.items()}, progress)
    broken = {name: faults[key] for name, key in hashes.items() if key in faults}
    usable = {name: key for name, key in hashes.items() if name not in broken}
    train = [image for image in captions.train if image.image in usable]
    if not train:
        raise ModelError(f"no image can be decoded ({abridged(broken.values())})", "images")
    dropped = write_captions(source, train, files.stores[-1].slots, folder, progress)
    manifest = Manifest(
        {image.image: usable[image.image] for image in train},
        {image.image: usable[image.image] for image in captions.dev if image.image in usable},
        missing,
        broken,
        *dropped,
    )
    write_made(folder, manifest._asdict())


def write_captions(
    source: ImageTraining, train: list[Captioned], cells: int, folder: Path, progress: Progress
) -> Dropped:
    """Learn a vocabulary; write token ids, image indices and links; count what is left out.

    cells: of an image.
    """
    data = source.data
    texts = [styled(text, data.caption_style) for image in train for text in image.captions]

    def finish(part: Path, tokenizer: Tokenizer, kept: np.ndarray) -> None:
        numbers = np.repeat(np.arange(len(train)), [len(image.captions) for image in train])
        np.save(part / "pictures.npy", numbers[kept], allow_pickle=False)
        if data.regions:
            links = read_regions(data.regions, read_captions(data.captions, part="train"))
            words = chain.from_iterable(links[image.image] for image in train)
            rows = compress(zip(words, map(tokenizer.encode_target, texts), strict=True), kept)
            write_links(part, (cell_links(own, cells, ids, tokenizer) for own, ids in rows))

    table = PairTable(
        data.captions, lambda: [("", text) for text in texts], data.max_length, sides=("target",)
    )
    learn = partial(learn_side, texts, source.tokenizer)
    how = Preparation(lambda *sampled: learn, finish=finish)
    [dropped] = write_tables(source, [table], folder, progress, how)
    return dropped


def read_regions(path: str, captions: Sequence[Captioned]) -> dict[str, list[WordLinks]]:
    """Return the links of cells and words of each caption of an image."""
    total = sum(len(image.captions) for image in captions)
    lines = iter(read_word_links(Path(path), total, "caption"))
    return {one.image: list(islice(lines, len(one.captions))) for one in captions}


def locate(
    captions: Captions, files: ImageFiles, progress: Progress
) -> tuple[dict[str, str], list[str]]:
    """Return the content hash of each captioned image by name, and the names without an image."""
    names = list(dict.fromkeys(image.image for part in captions for image in part))
    hashes, missing = {}, []
    for number, name in enumerate(names):
        if number % 100 == 0:
            progress("reading images", number, len(names))
        try:
            hashes[name] = content_hash(files.read(name))
        except NotFoundError:
            missing.append(name)
    if not hashes:
        raise ModelError(
            f"none of the {len(names):,} captioned images is in {files.path}, "
            f"among them {missing[0]}",
            "the images that the captions name",
            "check --images",
        )
    return hashes, missing


def dev_set(
    source: ImageTraining, dev: list[Captioned], hashes: dict[str, str], store: FeatureStore
) -> DevCaptions | None:
    """Return the dev images that were found, with all their captions."""
    found = [image for image in dev if image.image in hashes and any(image.captions)]
    if not found:
        return None
    return DevCaptions(
        [image.image for image in found],
        [[text for text in image.captions if text] for image in found],
        images=store.images(hashes[image.image] for image in found),
        style=source.data.caption_style,
        path=source.data.images,
    )


def test_set(
    source: ImageTraining, files: Sequence[Path], progress: Progress
) -> DevCaptions | None:
    """Return captioned images with features of the image network of a run.

    Raises ModelError if an image cannot be decoded.
    """
    data, captions = source.data, read_captions(files[0], part="test")
    store = feature_stores(source.model, data.features, source.train, source.start_from)[-1]
    images = ImageFiles(data.images, [store])
    hashes, _ = locate(Captions([], captions), images, progress)
    if broken := images.add({key: name for name, key in hashes.items()}, progress):
        raise ModelError(f"images of the test set: {abridged(broken.values())}", "each of them")
    return dev_set(source, captions, hashes, store)


def notes(manifest: Manifest) -> tuple[str, ...]:
    """Return warnings about missing and broken images, with the names of the first ones."""
    groups = (
        ("captioned image", "found", manifest.missing),
        ("image", "decoded", list(manifest.broken.values())),
    )
    return tuple(
        f"{counted(len(names), noun)} cannot be {verb}: {abridged(names)}; "
        f"{'its' if len(names) == 1 else 'their'} captions are excluded"
        for noun, verb, names in groups
        if names
    )

"""Captioned pictures as a run's data: from captions and pictures to token ids and features.

data/tokenizer.model, target.ids, target.offsets.npy    the captions to train on
data/pictures.npy       (captions,) the number of each one's picture
data/made.json          content hashes of the pictures, and what was left out

The features themselves are in a cache that runs share (`seeing`), by content hash.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attncli.data import corpus
from attncli.data.augment import Augmentation
from attncli.data.caption_examples import CaptionExamples, CaptionStages
from attncli.data.captions import Captioned, read_captions, styled
from attncli.data.pictures import Pictures, content_hash, open_pictures
from attncli.data.tokens import Dropped, Side, SideWriter, id_type, read_side
from attncli.training import drawn
from attncli.training.config import DataConfig, RunConfig, TrainConfig
from attncli.training.dev_captions import DevCaptions
from attncli.training.material import (
    Data,
    Prepared,
    Show,
    count_words,
    interruptible,
    size_for,
)
from attncli.training.seeing import Broken, Sight, see, sights
from attncli.training.self_critical import SelfCritical, Trials
from attncli.training.start import pieces
from models.config import TokenizerConfig
from models.errors import ModelError
from models.files import refused, write_bytes, write_folder, write_text
from models.tokenizer import Tokenizer
from models.tokenizer import train as train_tokenizer

NAMED = 3  # pictures named where many are missing


@dataclass(frozen=True)
class Made:
    """What `data/made.json` holds."""

    train: dict[str, str]  # name of a picture: content hash
    dev: dict[str, str]
    missing: list[str]  # names that are in no file
    broken: dict[str, str]  # name: why it cannot be shown
    empty: int  # captions left out
    long: int


class Read(NamedTuple):
    """Captions as the files have them."""

    train: list[Captioned]
    dev: list[Captioned]


def load(config: RunConfig, folder: Path, show: Show) -> Data:
    """The run's data, made in the run folder the first time."""
    if not config.data.captions:
        data = drawn.demonstration(config.data, config.train.seed, folder)
        config = replace(config, data=data)
    read, place = read_parts(config.data), folder / "data"
    if not place.exists():
        write_folder(place, lambda part: make(config, read, part, show))
    made, tokenizer = read_made(place), Tokenizer.read(place)
    found, broken = look(config, {**made.train, **made.dev}, show)
    if broken:
        raise ModelError(few(broken.values()), "the pictures that the run began with")
    examples = examples_of(place, list(made.train.values()), found, config.train)
    dropped = Dropped(made.empty, made.long)
    reward = critic(config, read.train, made, place, tokenizer)
    prepared = Prepared(tokenizer, examples, dropped, notes(made), reward)
    return Data(prepared, dev_set(read.dev, made.dev, found[-1], config.data.caption_style))


def examples_of(
    folder: Path, keys: list[str], found: list[Sight], config: TrainConfig
) -> CaptionExamples | CaptionStages:
    """The captions that `make` wrote, with what is seen of their pictures."""
    target, pictures = read_captions_of(folder)
    stages = [
        CaptionExamples(target, sight.cache.rows(keys)[pictures], sight.views) for sight in found
    ]
    first, last = stages[0], stages[-1]
    if config.encoder_from:
        augment = Augmentation(config.flip, config.crop)
        last = replace(last, views=replace(last.views, augment=augment))
    # a large network costs the most, and samples of one picture are held to each other
    sharing = [epoch - 1 for epoch in (config.encoder_from, config.self_critical_from) if epoch]
    if not sharing:
        return last
    turn = config.encoder_from - 1 if len(stages) > 1 else 0
    return CaptionStages(first, last, turn, together_from=min(sharing))


def critic(
    config: RunConfig, said: list[Captioned], made: Made, folder: Path, tokenizer: Tokenizer
) -> SelfCritical | None:
    """What captions are rewarded for, where the run is to learn from reward."""
    if not config.train.self_critical_from:
        return None
    captions = {image.image: image.captions for image in said}
    _, pictures = read_captions_of(folder)
    train, most = config.train, config.search.max_caption
    trials = Trials(train.self_critical_samples, most, train.self_critical_bleu)
    return SelfCritical((captions[name] for name in made.train), pictures, tokenizer, trials)


def fingerprints(data: DataConfig) -> dict[str, str]:
    """What the captions' files hold; the pictures are known by their content in `made.json`."""
    parts = {"train": data.captions, "dev": data.dev_captions}
    return {name: corpus.fingerprint([path]) if path else "" for name, path in parts.items()}


def read_parts(data: DataConfig) -> Read:
    """The captions to train on and those for evaluation, the latter first: mistakes show early."""
    dev = read_captions(data.dev_captions, part="dev") if data.dev_captions else []
    return Read(read_captions(data.captions, part="train"), dev)


def make(config: RunConfig, read: Read, folder: Path, show: Show) -> None:
    """Find and see the pictures, learn the pieces, and write the captions as ids."""
    found = locate(read, open_pictures(config.data.images), show)
    _, faults = look(config, found.hashes, show)
    broken = {name: faults[key] for name, key in found.hashes.items() if key in faults}
    usable = {name: key for name, key in found.hashes.items() if name not in broken}
    train = [image for image in read.train if image.image in usable]
    if not train:
        raise ModelError(f"no picture can be shown ({few(broken.values())})", "pictures")
    texts = [styled(text, config.data.caption_style) for image in train for text in image.captions]
    tokenizer = pieces(config, lambda: learned(texts, config.tokenizer, show))
    for name, content in tokenizer.files().items():
        write_bytes(folder / name, content)
    dropped = write_captions(train, tokenizer, folder, config.data)
    made = Made(
        {image.image: usable[image.image] for image in train},
        {image.image: usable[image.image] for image in read.dev if image.image in usable},
        found.missing,
        broken,
        *dropped,
    )
    write_text(folder / "made.json", json.dumps(dataclasses.asdict(made), ensure_ascii=False))


class Found(NamedTuple):
    """Pictures looked for."""

    hashes: dict[str, str]  # name: content hash
    missing: list[str]


def locate(read: Read, pictures: Pictures, show: Show) -> Found:
    """The content of every captioned picture; some may be missing, but not all."""
    names = list(dict.fromkeys(image.image for part in read for image in part))
    found, missing = {}, []
    for number, name in enumerate(names):
        if number % 100 == 0:
            show("reading pictures", number, len(names))
        if place := pictures.find(name):
            found[name] = content_hash(place.read())
        else:
            missing.append(name)
    if not found:
        raise ModelError(
            f"none of the {len(names):,} captioned pictures is in {pictures.path}, "
            f"among them {missing[0]}",
            "the pictures that the captions name",
            "check --images",
        )
    return Found(found, missing)


def look(config: RunConfig, hashes: Mapping[str, str], show: Show) -> tuple[list[Sight], Broken]:
    """What the run is shown of pictures given as name: content hash, kept or made now."""
    names = {key: name for name, key in hashes.items()}
    pictures: list[Pictures] = []  # opened only when something is to be made

    def read(key: str) -> bytes:
        if not pictures:
            pictures.append(open_pictures(config.data.images))
        place = pictures[0].find(names[key])
        content = place.read() if place else b""
        if content_hash(content) != key:
            raise ModelError(f"{names[key]} has changed or gone since the run began")
        return content

    found, broken = sights(config), Broken()
    for sight in found:
        broken |= see(sight, names, read, config.model.image, show)
    return found, broken


def learned(texts: list[str], config: TokenizerConfig, show: Show) -> Tokenizer:
    """The pieces of captions: one set, as there is no other side."""
    show("learning pieces", 0, 0)
    size = config.size or size_for(count_words(texts))
    joint = replace(config, joint=True)
    return interruptible(lambda: train_tokenizer(texts, [], size, joint))


def write_captions(
    train: list[Captioned], tokenizer: Tokenizer, folder: Path, data: DataConfig
) -> Dropped:
    """Ids and picture numbers of the captions; those empty or too long are left out, counted."""
    numbers, empty, long = [], 0, 0
    with refused(folder):
        writer = SideWriter(folder, "target", id_type(len(tokenizer.target)))
        for number, image in enumerate(train):
            for caption in image.captions:
                ids = tokenizer.encode_target(styled(caption, data.caption_style))
                if len(ids) < 2:
                    empty += 1
                elif len(ids) > data.max_length:
                    long += 1
                else:
                    writer.add(ids)
                    numbers.append(number)
        writer.close()
        np.save(folder / "pictures.npy", np.array(numbers, np.int64), allow_pickle=False)
    if not numbers:
        raise ModelError(
            f"no usable caption in {data.captions}: {empty:,} are empty, "
            f"{long:,} are longer than data.max_length",
            "captions of that length",
        )
    return Dropped(empty, long)


def read_made(folder: Path) -> Made:
    """What `make` wrote down; a ModelError if it is damaged."""
    try:
        return Made(**json.loads((folder / "made.json").read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise _damaged(folder, error) from None


def read_captions_of(folder: Path) -> tuple[Side, np.ndarray]:
    """The memory-mapped captions, and the number (N,) of each one's picture."""
    try:
        return read_side(folder, "target"), np.load(folder / "pictures.npy", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise _damaged(folder, error) from None


def _damaged(folder: Path, error: Exception) -> ModelError:
    return ModelError(
        f"the prepared captions in {folder} are damaged ({error})",
        "what `attn train` wrote there",
        "remove the run folder to begin again",
    )


def dev_set(
    dev: list[Captioned], hashes: dict[str, str], sight: Sight, style: str
) -> DevCaptions | None:
    """The pictures for evaluation that are there, with all their captions."""
    there = [image for image in dev if image.image in hashes]
    if not there:
        return None
    references = [[text for text in image.captions if text] for image in there]
    return DevCaptions(
        sight.views,
        sight.cache.rows(hashes[image.image] for image in there),
        references,
        [[styled(text, style) for text in texts] for texts in references],
    )


def notes(made: Made) -> tuple[str, ...]:
    """Pictures that are missing or broken, counted, the first of them named."""
    found = []
    if made.missing:
        found.append(f"{len(made.missing):,} captioned pictures are missing: {few(made.missing)}")
    if made.broken:
        reasons = few(f"{name} ({reason})" for name, reason in made.broken.items())
        found.append(f"{len(made.broken):,} pictures cannot be shown: {reasons}")
    return tuple(f"{note}; their captions are left out" for note in found)


def few(names: Iterable[str]) -> str:
    """The first of some names."""
    names = list(names)
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more

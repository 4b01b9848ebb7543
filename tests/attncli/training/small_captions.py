"""Minute runs of captioners: drawn squares, whose captions say their colour and place."""

from __future__ import annotations

import io
import itertools
import tarfile
from pathlib import Path
from typing import NamedTuple

import torch
from PIL import Image, ImageDraw

from attncli.train.command_line import settings
from attncli.training.config import RunConfig
from models.networks.image_encoder import SmallCnn

COLOURS = ("red", "green", "blue", "yellow", "black")
PLACES = ("left", "right")
SMALL = (
    *("model.embedding=16", "model.hidden=16", "model.image.size=32", "train.batch_tokens=60"),
    *("train.warmup=4", "train.log_every=1", "train.steps=14", "train.evaluate_every=5"),
    *("search.method=greedy", "search.max_caption=30", "tokenizer.size=340", "train.lr=0.01"),
    *("train.samples=0", "train.metric=loss"),
)
PRETRAINED = ("model.image.weights=DEFAULT", "train.batch_tokens=300", "train.steps=0")
PATCHES = ("model.image.encoder=patches", "model.image.weights=DEFAULT")


class Files(NamedTuple):
    """A folder of images, and captions."""

    images: Path
    train: Path
    dev: Path


def image(colour: str, place: str, shift: int) -> bytes:
    """Return a PNG with a square on one side of it."""
    image = Image.new("RGB", (48, 48), "white")
    left = shift + (28 if place == "right" else 0)
    ImageDraw.Draw(image).rectangle((left, 16, left + 14, 30), fill=colour)
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def fill(network: SmallCnn, weights: str) -> None:
    """Set equal weights: the pretrained network of tests that replace `SmallCnn.load`."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.fill_(0.01)


def random_weights(network: SmallCnn, weights: str) -> None:
    """Set the same random weights each time: the network then counts as pretrained."""
    random = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(std=0.1, generator=random)


def write_images(folder: Path) -> Files:
    """Write images to a folder, and two captions of each; every fourth is for dev."""
    files = Files(folder / "images", folder / "train.tsv", folder / "dev.tsv")
    files.images.mkdir()
    rows: tuple[list[str], list[str]] = ([], [])
    for number, (colour, place, shift) in enumerate(itertools.product(COLOURS, PLACES, (0, 2, 4))):
        name = f"{colour}-{place}-{shift}.png"
        (files.images / name).write_bytes(image(colour, place, shift))
        said = (f"A {colour} square on the {place} .", f"On the {place} is something {colour} .")
        rows[number % 4 == 0].extend(f"{name}\t{text}\n" for text in said)
    for path, part in zip(files[1:], rows, strict=True):
        path.write_text("".join(part), "utf-8")
    return files


def as_tar(folder: Path, path: Path) -> Path:
    """Return the files of a folder in a TAR file."""
    with tarfile.open(path, "w") as archive:
        archive.add(folder, arcname=".")
    return path


def small_config(
    files: Files, *changes: str, preset: str = "show-attend-tell-soft-nano"
) -> RunConfig:
    """Return the settings of a minute run; its cache lies beside the images."""
    images = {"images": files.images, "captions": files.train, "dev_captions": files.dev}
    where = f"data.features={files.train.parent / 'features'}"
    return settings([], [], preset, [*SMALL, where, *changes], inputs=images)

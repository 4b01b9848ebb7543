"""Comparison of captioners."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from attncli.data.images.captions import Captioned, parts_of, read_captions
from attncli.data.images.named import open_images
from attncli.jobs.compared import (
    ComparedSource,
    ModelScores,
    Sets,
    TestFiles,
    Trained,
    mark_of,
    no_dev,
    write_tables,
)
from attncli.scoring.captions import caption_scores
from attncli.scoring.score import MetricScore
from attncli.tasks.caption.evaluation import CaptionSet, find_images
from attncli.tasks.caption.training.data import evaluation_set, read_parts, split_dev
from attncli.tasks.caption.training.dev import DevCaptions
from attncli.tasks.caption.training.features import feature_stores
from attncli.tasks.caption.training.source import (
    DEMO_SIZE,
    ImageData,
    demo_scenes,
    images_tar,
    tables,
)
from attncli.terminal.messages import counted
from attncli.training.updates.metrics import dev_loss
from models.base.errors import ModelError
from models.base.files import write_bytes
from models.inference.captioner import Captioner


class ComparedImages(ComparedSource):
    """Captions: compared by CIDEr-D."""

    outputs = "captions"
    presets = "presets of captioners"
    preset, demo_preset = "show-attend-tell-soft-small", "show-attend-tell-soft-nano"
    variants = ("soft", "hard", "general", "sparsemax")
    settings = (  # hard attention has no gradient for the penalty, and learns by these weights
        *("train.attention.coverage=none", "train.attention.reinforce=0.1"),
        "train.attention.entropy=0.002",
    )
    budget = (
        *("train.batch_tokens=512", "train.steps=2000", "train.evaluate_every=500"),
        *("train.patience=0", "train.metric=loss", "data.demo_size=1500"),
    )
    scoring = "attncli.tasks.caption.comparison:image_scores"

    def prepare(
        self, data: ImageData, seed: int, files: TestFiles, folder: Path
    ) -> tuple[ImageData, Sets]:
        """Return the named files, with a dev set held out if none is named, or drawn scenes."""
        from attncli.tasks.caption import comparison

        if data.captions:
            return comparison.given(data, seed, files, folder)
        return comparison.drawn(data, seed, folder)


# Data and scores of a comparison of captioners, on features that all its runs share.


def given(data: ImageData, seed: int, files: TestFiles, folder: Path) -> tuple[ImageData, Sets]:
    """Return the files of the command line; write a dev set if none is named.

    A file of captions with splits is also the test set if it has a test part and no other is named.
    """
    own = data.captions
    if not data.dev_captions:
        data = with_dev(data, seed, folder)
    test = files.test[0] if files.test else Path(own) if "test" in parts_of(own) else None
    return compared_captions(data, test)


def with_dev(data: ImageData, seed: int, folder: Path) -> ImageData:
    """Hold out a dev set that does not depend on the seed of a run; return the data with it."""
    parts = split_dev(read_parts(data), data.dev_share, seed)
    if not parts.dev:
        raise no_dev(data.dev_share, len(parts.train), "captioned images")
    written = {name: as_table(images) for name, images in parts._asdict().items()}
    train, dev = write_tables(folder, written)
    return replace(data, captions=str(train), dev_captions=str(dev))


def as_table(images: Iterable[Captioned]) -> str:
    """Return captioned images as a table: image, tab, caption."""
    rows = ((image.image, " ".join(text.split())) for image in images for text in image.captions)
    return "".join(f"{name}\t{text}\n" for name, text in rows)


def drawn(data: ImageData, seed: int, folder: Path) -> tuple[ImageData, Sets]:
    """Draw scenes for training, dev and test to files that all runs share."""
    parts = demo_scenes(data.demo_size or DEMO_SIZE, seed)
    train, dev, test = write_tables(folder, tables(parts))
    images = (folder / "images.tar").absolute()
    if not images.exists():
        write_bytes(images, images_tar(parts))
    named = replace(data, images=str(images), captions=str(train), dev_captions=str(dev))
    return compared_captions(named, test)


def compared_captions(data: ImageData, test: Path | None) -> tuple[ImageData, Sets]:
    """Return the data with dev set and test set; raise a ModelError for a missing test image."""
    dev = read_captions(data.dev_captions, part="dev")
    tested = read_captions(test, part="test") if test else None
    if test and tested:
        names = [image.image for image in tested]
        find_images(CaptionSet(str(test), names, []), open_images(data.images))
    mark = mark_of([path] for path in (data.dev_captions, test) if path)
    return data, Sets(dev, tested, mark)


def image_scores(trained: Trained, sets: Sets) -> ModelScores:
    """Return CIDEr-D, BLEU-4, ROUGE-L and the dev loss."""
    captioner: Captioner = trained.model
    dev = encoded(trained, sets.dev)
    return ModelScores(
        loss=dev_loss(captioner.model, captioner.tokenizer, dev, trained.report),
        dev=quality(trained, dev),
        test=quality(trained, whole(trained, sets.test)) if sets.test else (),
    )


def encoded(trained: Trained, captions: list[Captioned]) -> DevCaptions:
    """Return captioned images with features of the model's image network."""
    config = trained.config
    stores = feature_stores(config.model, config.data.features, config.train, config.start_from)
    found = evaluation_set(captions, stores[-1], config.data, trained.progress)
    return found.encoded_by(trained.model.model, trained.report)


def whole(trained: Trained, captions: list[Captioned]) -> DevCaptions:
    """Return the test set with features; raise a ModelError if an image cannot be decoded."""
    found = encoded(trained, captions)
    if left := len(captions) - len(found):
        raise ModelError(
            f"{counted(left, 'image')} of the test set cannot be decoded", "each of them"
        )
    return found


def quality(trained: Trained, images: DevCaptions) -> tuple[MetricScore, ...]:
    """Caption images and score the captions against all references; CIDEr-D ranks."""
    outputs = images.captioned(trained.model, trained.report)
    scores = caption_scores(outputs, images.references)
    values = {
        "cider": scores.cider,
        "bleu4": scores.bleu4,
        "rouge_l": scores.rouge_l,
    }
    return tuple(MetricScore(name, v) for name, v in values.items() if v is not None)

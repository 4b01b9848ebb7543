"""The image network of a new captioner: settings of a chosen one, or the shipped one."""

from __future__ import annotations

from collections.abc import Iterable

from models.catalogue.installed import BOX, DEFAULTS
from models.config.tables import ImageConfig

SETTING = "model.image.encoder="


def encoder_assignments(preset: ImageConfig, assignments: Iterable[str]) -> list[str]:
    """Return the assignments that an image network other than the preset's brings with it.

    Grid, image size and weights of the preset belong to its own network, so they do not
    apply to another. preset: settings before the assignments. The result precedes them.
    """
    texts = [text.strip() for text in assignments]
    given = [text.removeprefix(SETTING) for text in texts if text.startswith(SETTING)]
    if not given or given[-1] == preset.encoder:
        return []
    from models.encoders.image import kind_of  # imports torch

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

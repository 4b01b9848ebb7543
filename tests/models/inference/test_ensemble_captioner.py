"""An ensemble of captioners with one image network computes its features once."""

from __future__ import annotations

import copy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from models import load_captioner
from models.catalogue.installed import BOX
from models.inference.captioner import Captioner
from models.inference.ensemble_captioner import EnsembleCaptioner


@pytest.fixture
def images() -> list[Image.Image]:
    pixels = torch.randint(0, 256, (3, 9, 8, 3), generator=torch.Generator().manual_seed(5))
    return [Image.fromarray(each.byte().numpy()).resize((50, 40)) for each in pixels]


@pytest.fixture
def members(soft_captioner: Path) -> list[Captioner]:
    """Return two captioners with equal image networks, read apart, and different decoders."""
    one, other = load_captioner(soft_captioner), load_captioner(soft_captioner)
    with torch.no_grad():
        for parameter in other.model.decoder.parameters():
            parameter.mul_(1.1)
    return [one, other]


def passes(captioner: EnsembleCaptioner) -> Counter[int]:
    """Return a counter, by member, of the images that the network of a member reads from now on."""
    found: Counter[int] = Counter()
    for number, member in enumerate(captioner.members):

        def count(body: Any, given: tuple[torch.Tensor], number: int = number) -> None:
            found[number] += len(given[0])

        member.encoder.body.register_forward_pre_hook(count)
    return found


def apart(captioner: EnsembleCaptioner) -> EnsembleCaptioner:
    """Return the ensemble with the features of each member computed on their own."""
    other = copy.copy(captioner)
    other.first_equal = tuple(range(len(captioner.members)))
    return other


def test_equal_networks_read_an_image_once_with_equal_results(
    members: list[Captioner], images: list[Image.Image]
) -> None:
    both = EnsembleCaptioner(members)
    expected = apart(both).caption(images, attention=True)
    read = passes(both)
    for given in (images, [both.reduced(image) for image in images]):
        found = both.caption(given, attention=True)
        for one, other in zip(found, expected, strict=True):
            assert one.hypotheses == other.hypotheses
            assert one.attention and other.attention
            assert torch.equal(one.attention.maps, other.attention.maps)
    assert read == {0: 2 * len(images)}


def test_different_networks_and_different_images_are_not_shared(
    members: list[Captioner], images: list[Image.Image]
) -> None:
    both = EnsembleCaptioner(members)
    given = [images, [image.copy().rotate(90) for image in images]]
    found = both._features(given)[1]
    assert torch.equal(found, members[1].features(given[1]))
    with torch.no_grad():
        next(members[1].encoder.body.parameters()).view(-1)[0] += 1e-3
    changed = EnsembleCaptioner(members)
    assert changed.first_equal == (0, 1)
    read = passes(changed)
    changed.caption(images)
    assert read == {0: len(images), 1: len(images)}


def test_the_shipped_captioners_share_their_network() -> None:
    shipped = [load_captioner(BOX / name) for name in ("photos", "photos-hard")]
    assert EnsembleCaptioner(shipped).first_equal == (0, 0)

"""Augmentation: nothing by default values, mirrors, and parts of an image."""

from __future__ import annotations

import torch

from attncli.data.images.caption_examples import Augmentation

IMAGES = torch.rand(6, 3, 16, 16, generator=torch.Generator().manual_seed(1))


def test_none_or_all_are_mirrored() -> None:
    torch.testing.assert_close(Augmentation(0.0, 1.0)(IMAGES), IMAGES)
    torch.testing.assert_close(Augmentation(1.0, 1.0)(IMAGES), IMAGES.flip(-1))


def test_some_are_mirrored_as_the_seed_says() -> None:
    torch.manual_seed(1)
    first = Augmentation(0.5, 0.7)(IMAGES)
    again = Augmentation(0.5, 0.7)(IMAGES)
    torch.manual_seed(1)
    assert torch.equal(Augmentation(0.5, 0.7)(IMAGES), first) and not torch.equal(again, first)


def test_a_crop_shows_a_part_and_no_more() -> None:
    ramp = torch.linspace(0, 1, 32).expand(500, 3, 32, 32)
    seen = Augmentation(0.0, 0.5)(ramp)
    widths = (seen[:, 0, 0, -1] - seen[:, 0, 0, 0]) / (ramp[0, 0, 0, -1] - ramp[0, 0, 0, 0])
    assert 0.68 < widths.min() < 0.75 and 0.95 < widths.max() < 1.001  # the root of 0.5, and 1
    assert seen.min() >= 0 and seen.max() <= 1
    assert (seen[..., 1:] - seen[..., :-1]).min() > -1e-6

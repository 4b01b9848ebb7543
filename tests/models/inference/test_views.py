"""Views of an image: read as an ensemble of one model."""

from __future__ import annotations

import pytest
import torch
from PIL import Image, ImageOps

from models import load_captioner
from models.config import MAX_VIEWS
from models.inference.captioner import Captioner
from models.inference.ensemble_captioner import EnsembleCaptioner
from models.inference.views import with_views
from models.installed import BOX
from models.views import VIEWS, centre, mirrored, whole


@pytest.fixture(scope="module")
def captioner() -> Captioner:
    return load_captioner(BOX / "photos")


@pytest.fixture(scope="module")
def images() -> list[Image.Image]:
    pixels = torch.randint(0, 256, (2, 7, 7, 3), generator=torch.Generator().manual_seed(3))
    drawn = [Image.fromarray(each.byte().numpy()) for each in pixels]
    return [image.resize((224, 224), Image.Resampling.BICUBIC) for image in drawn]


def test_the_first_view_is_the_image_and_each_is_another(images: list[Image.Image]) -> None:
    assert len(VIEWS) == MAX_VIEWS and VIEWS[0] is whole
    assert len({view(images[0]).tobytes() for view in VIEWS}) == MAX_VIEWS
    assert centre(images[0]).size == (196, 196)


def test_one_view_is_the_captioner_itself(captioner: Captioner) -> None:
    assert with_views(captioner, 1) is captioner


def test_a_mirror_image_has_the_caption_of_the_image(
    captioner: Captioner, images: list[Image.Image]
) -> None:
    both = EnsembleCaptioner([captioner, captioner.with_view(mirrored)])
    [ours], [other] = both.caption(images[:1]), both.caption([ImageOps.mirror(images[0])])
    assert ours.text == other.text
    assert ours.hypotheses[0].score == pytest.approx(other.hypotheses[0].score, abs=1e-5)


def test_an_image_has_the_same_caption_alone_in_a_batch_and_reduced(
    captioner: Captioner, images: list[Image.Image]
) -> None:
    viewing = with_views(captioner, MAX_VIEWS)
    together = viewing.caption(images, attention=True)
    for image, expected in zip(images, together, strict=True):
        [alone] = viewing.caption([viewing.reduced(image)])
        assert alone.text == expected.text
        assert alone.hypotheses[0].score == pytest.approx(expected.hypotheses[0].score, abs=1e-4)
        assert expected.attention is not None and expected.attention.maps.shape[1:] == (7, 7)


def test_an_ensemble_reads_every_view_with_every_model(captioner: Captioner) -> None:
    viewing = with_views(EnsembleCaptioner([captioner, captioner]), 2)
    assert isinstance(viewing, EnsembleCaptioner)
    assert [member.view for member in viewing.members] == [*VIEWS[:2], *VIEWS[:2]]


def test_features_have_one_view(captioner: Captioner) -> None:
    features = [torch.rand(49, 1280, generator=torch.Generator().manual_seed(1))]
    [one], [several] = captioner.caption(features), with_views(captioner, 2).caption(features)
    assert one.text == several.text

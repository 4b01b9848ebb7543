"""Views of an image: their cells are one memory, which the decoder attends to."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image

from models import load_captioner
from models.base.errors import ConfigurationError
from models.base.types import Memory
from models.catalogue.installed import BOX
from models.config.tables import MAX_VIEWS, SearchConfig
from models.images.views import ONE_SIZE, VIEWS, centre, whole
from models.inference.captioner import Captioner
from models.inference.ensemble.captioner import EnsembleCaptioner
from models.inference.views import joined

FIXTURES = Path(__file__).parents[2] / "fixtures"
ONE_SIZE_MODEL = FIXTURES / "before_restructuring" / "bundles" / "captioner-transformer"


@pytest.fixture(scope="module")
def captioner() -> Captioner:
    return load_captioner(BOX / "photos")


@pytest.fixture(scope="module")
def images() -> list[Image.Image]:
    pixels = torch.randint(0, 256, (2, 7, 7, 3), generator=torch.Generator().manual_seed(3))
    drawn = [Image.fromarray(each.byte().numpy()) for each in pixels]
    return [image.resize((300, 200), Image.Resampling.BICUBIC) for image in drawn]


def reading(captioner: Captioner, views: int) -> Captioner:
    """Return a captioner that reads a number of views unless a search says otherwise."""
    return captioner.with_search(replace(captioner.search, views=views))


def test_the_first_view_is_the_square_and_each_is_another(images: list[Image.Image]) -> None:
    square = images[0].resize((224, 224))
    assert len(VIEWS) == MAX_VIEWS and VIEWS[0] is whole and whole(square) is square
    assert len({view(square).tobytes() for view in VIEWS}) == MAX_VIEWS
    assert [view(square).width for view in VIEWS] == [224, 224, 256]
    assert all(view(square).size == square.size for view in VIEWS[:ONE_SIZE])
    middle = square.crop((14, 14, 210, 210))
    assert (
        centre(square).tobytes() == middle.resize((224, 224), Image.Resampling.BILINEAR).tobytes()
    )


def test_the_search_reads_the_cells_of_all_views(
    captioner: Captioner, images: list[Image.Image]
) -> None:
    views = captioner.view_features(images, MAX_VIEWS)
    encoded = captioner.memory(views, ["", ""])
    cells = [49, 49, 64]
    assert [view.features.shape[1] for view in views] == cells
    parts = encoded.memory.values.split(cells, dim=1)
    for part, view in zip(parts, VIEWS, strict=True):
        square = [view(image.resize((224, 224), Image.Resampling.BILINEAR)) for image in images]
        pixels = torch.stack(
            [torch.frombuffer(bytearray(s.tobytes()), dtype=torch.uint8) for s in square]
        )
        rgb = pixels.view(2, square[0].height, square[0].width, 3).permute(0, 3, 1, 2) / 255
        torch.testing.assert_close(part, captioner.encoder.features(rgb), atol=2e-3, rtol=2e-3)
    assert encoded.memory.final is not None
    torch.testing.assert_close(encoded.memory.final, encoded.memory.values.mean(1))


def test_one_view_is_the_memory_of_the_image(
    captioner: Captioner, images: list[Image.Image]
) -> None:
    encoded = captioner.memory(captioner.view_features(images, 1), ["", ""])
    assert encoded.memory is encoded.whole
    of_features = captioner.caption(list(captioner.features(images)))
    for one, other in zip(reading(captioner, 1).caption(images), of_features, strict=True):
        assert one.text == other.text
        assert one.hypotheses[0].score == pytest.approx(other.hypotheses[0].score, abs=1e-4)


def test_a_view_that_an_input_lacks_changes_nothing() -> None:
    values = torch.rand(2, 4, 3, generator=torch.Generator().manual_seed(1))
    first = Memory(values, torch.ones(2, 4, dtype=torch.bool), final=values.mean(1))
    both = joined([first, first], [torch.tensor([True, True]), torch.tensor([True, False])])
    assert both.mask.sum(1).tolist() == [8, 4] and both.final is not None
    torch.testing.assert_close(both.final, first.final)


def test_images_and_features_are_captioned_in_one_batch(
    captioner: Captioner, images: list[Image.Image]
) -> None:
    [features] = captioner.features(images[1:])
    mixed = captioner.caption([images[0], features])
    apart = [*captioner.caption(images[:1]), *reading(captioner, 1).caption([features])]
    for one, other in zip(mixed, apart, strict=True):
        assert one.text == other.text
        assert one.hypotheses[0].score == pytest.approx(other.hypotheses[0].score, abs=1e-4)


def test_an_image_has_the_same_caption_alone_in_a_batch_and_reduced(
    captioner: Captioner, images: list[Image.Image]
) -> None:
    together = captioner.caption(images, attention=True)
    for image, expected in zip(images, together, strict=True):
        [alone] = captioner.caption([captioner.reduced(image)])
        assert alone.text == expected.text
        assert alone.hypotheses[0].score == pytest.approx(expected.hypotheses[0].score, abs=1e-4)
        assert expected.attention is not None and expected.attention.maps.shape[1:] == (7, 7)


def test_the_number_of_views_is_that_of_the_bundle_unless_it_is_given(
    captioner: Captioner, images: list[Image.Image], tmp_path: Path
) -> None:
    assert captioner.search.views == MAX_VIEWS
    given = captioner.caption(images, search=replace(captioner.search, views=MAX_VIEWS))
    assert captioner.caption(images) == given
    old = shutil.copytree(BOX / "photos", tmp_path / "old")
    settings = json.loads((old / "config.json").read_text("utf-8"))
    del settings["search"]["views"]
    (old / "config.json").write_text(json.dumps(settings), "utf-8")
    (old / "SHA256SUMS").unlink()
    before = load_captioner(old)
    assert before.search.views == SearchConfig.views == 1
    assert before.caption(images) == reading(captioner, 1).caption(images) != given


def test_every_model_of_an_ensemble_reads_every_view(
    captioner: Captioner, images: list[Image.Image]
) -> None:
    same = EnsembleCaptioner([captioner, captioner])
    for one, other in zip(same.caption(images), captioner.caption(images), strict=True):
        assert one.text == other.text
        assert one.hypotheses[0].score == pytest.approx(other.hypotheses[0].score, abs=1e-4)


def test_a_larger_view_is_refused_by_a_model_of_one_size(images: list[Image.Image]) -> None:
    transformer_captioner = load_captioner(ONE_SIZE_MODEL)
    assert reading(transformer_captioner, ONE_SIZE).caption(images)
    with pytest.raises(ConfigurationError, match="search.views = 3 with a model that reads one"):
        reading(transformer_captioner, MAX_VIEWS).caption(images)

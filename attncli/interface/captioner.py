"""A captioner: one image or many in, one caption or many out, with maps over the image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, overload

import numpy
from PIL import Image
from torch import Tensor

from attncli.caption.images import SIDE, steering_of
from attncli.interface._results import RankedOutputs, check_search, framed
from attncli.render.image_attention import SIDE as SHOWN
from attncli.render.image_attention import html_page, maps_as_text
from attncli.render.image_maps import attention_maps, fitting
from attncli.terminal.messages import current_screen
from models.core.errors import InputError
from models.core.use_config import SearchConfig
from models.engines.captioner import Caption, ImageAttention, ImageInput
from models.engines.captioner import Captioner as ImageModel
from models.search.prefix import Steering
from models.signals.images import in_shape, open_image, size_of

GivenFrame = str | tuple[float, float, float, float]  # a frame of an image

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from attncli.render.image_maps import AttentionMaps

    GivenImage: TypeAlias = str | Path | bytes | Image.Image | NDArray[Any] | Tensor


BELOW = 205  # pixels of what is below an image in a notebook


class ImageCaption(RankedOutputs, Caption):
    """The captions of an image, best first, and the map of each word of the best."""

    image: (
        Image.Image | None
    )  # what the model read of it, in its own shape; None: pixels were given

    @property
    def alignment(self) -> ImageAttention | None:
        """The words of the best caption and their maps (W, rows, columns)."""
        return self.attention

    @property
    def picture(self) -> str:
        """The maps for a terminal, a panel for each word."""
        return maps_as_text(self._maps(), current_screen())

    def _repr_html_(self) -> str:
        """Return the image whose caption shows the map of the word pointed at, for a notebook."""
        maps = self._maps()
        return framed(html_page(maps), fitting(maps.image, SHOWN)[1] + BELOW)

    def _maps(self) -> AttentionMaps:
        if self.attention is None or self.image is None:
            raise InputError("a caption without maps", "an image, and caption(attention=True)")
        return attention_maps("", self.image, self.attention)


class CaptionSettings(TypedDict, total=False):
    """Options of `Captioner.caption`."""

    search: SearchConfig | None
    attention: bool
    prefix: str
    look: GivenFrame | Sequence[GivenFrame]


class Captioner(ImageModel):
    """A `models.engines.captioner.Captioner` that opens images; its results show themselves."""

    @overload  # type: ignore[override]
    def caption(  # type: ignore[overload-overlap]
        self, images: GivenImage, **settings: Unpack[CaptionSettings]
    ) -> ImageCaption: ...

    @overload
    def caption(
        self, images: Iterable[GivenImage], **settings: Unpack[CaptionSettings]
    ) -> list[ImageCaption]: ...

    def caption(
        self,
        images: Any,
        *,
        search: SearchConfig | None = None,
        attention: bool = True,
        prefix: str = "",
        look: GivenFrame | Sequence[GivenFrame] = (),
    ) -> ImageCaption | list[ImageCaption]:
        """Caption an image, or many: one in, one out; a list in, a list out.

        images: a path, a PIL image, a file or its bytes, or an array (h, w) or (h, w, 3 or 4), of
        0 to 255 or, if it has floats, 0 to 1. A tensor is an array, such an image (3, h, w), or
        features (S, V). search: settings; the default is `self.search`.
        attention: False leaves out the maps. prefix: text that each caption begins with. look: the
        frame (left, top, right, bottom) in pixels that alone may be attended to, or a text as that
        of `attn caption --look`, or several of these.
        """
        check_search(search)
        is_one = isinstance(images, (str, Path, bytes, bytearray, Image.Image))
        is_one = is_one or hasattr(images, "read") or not isinstance(images, Iterable)
        is_one = is_one or getattr(images, "ndim", 4) <= 3  # an array, or pixels or features
        opened = [self._opened(image) for image in ([images] if is_one else images)]
        looks, steering = looks_of(look), list[Steering]()
        for given, image in zip([images] if is_one else images, opened, strict=True):
            size = size_of(Path(given)) if isinstance(given, (str, Path)) else _size(image)
            steering.append(steering_of(self, size, prefix, looks))
        found = super().caption(opened, search=search, attention=attention, steering=steering)
        results = [self._result(*each) for each in zip(found, opened, strict=True)]
        return results[0] if is_one else results

    def _result(self, caption: Caption, image: ImageInput) -> ImageCaption:
        result = ImageCaption._make(caption)
        shown = caption.attention is not None and isinstance(image, Image.Image)
        result.image = in_shape(image, self.config.image, SIDE) if shown else None  # type: ignore[arg-type]
        return result

    def _opened(self, image: Any) -> ImageInput:
        """Return an image as the model takes it. Raises ModelError if it cannot be read."""
        if isinstance(image, Image.Image):
            place = getattr(image, "filename", "")
            if not (getattr(image, "tile", None) and place and Path(place).is_file()):
                return image
            image = place  # opened but not decoded: read as by its path, which is faster
        if isinstance(image, (str, Path)):
            return open_image(Path(image), least=self.config.image.size)
        if hasattr(image, "read"):
            image = image.read()
        if isinstance(image, (bytes, bytearray)):
            return open_image(bytes(image), least=self.config.image.size)
        if isinstance(image, Tensor):
            features = (self.encoder.slots, self.encoder.value_size)
            if tuple(image.shape) == features and image.is_floating_point():
                return image
            image = image.detach().float() if image.is_floating_point() else image.detach()
            channels_first = image.dim() == 3 and image.shape[0] == 3 and image.shape[-1] > 4
            image = (image.permute(1, 2, 0) if channels_first else image).cpu().numpy()
        return _from_array(image)


def looks_of(look: GivenFrame | Sequence[GivenFrame]) -> tuple[str, ...]:
    """Return one frame or several as texts."""
    is_one = isinstance(look, str) or (len(look) == 4 and not isinstance(look[0], (str, tuple)))
    frames: Sequence[Any] = [look] if is_one else look
    return tuple(one if isinstance(one, str) else ",".join(map(str, one)) for one in frames)


def _size(image: ImageInput) -> tuple[int, int]:
    """Return width and height of an image; of pixels or features, those of a square."""
    return image.size if isinstance(image, Image.Image) else (1, 1)


def _from_array(array: Any) -> Image.Image:
    """Return the image in an array. Raises InputError for one that has none."""
    if not isinstance(array, numpy.ndarray) or array.ndim not in (2, 3):
        raise InputError(
            f"an image of type {type(array).__name__}", "a path, a PIL image, bytes or an array"
        )
    if not array.size:
        raise InputError(f"an array {array.shape} without pixels", "(h, w) or (h, w, 3 or 4)")
    if array.dtype.kind == "b":
        array = 255 * array.astype("uint8")
    most = 255.0
    if array.dtype.kind == "f":
        if not numpy.isfinite(array).all():
            raise InputError("an array with NaN or infinity", "numbers from 0 to 1")
        most = 2  # the values of a resized image can be a little over 1
    low, high = float(array.min()), float(array.max())
    if low < 0 or high > most:
        kind = "floats" if array.dtype.kind == "f" else "whole numbers"
        raise InputError(
            f"an array of {kind} from {low:g} up to {high:g}",
            "floats from 0 to 1, or whole numbers from 0 to 255",
            "undo its normalisation",
        )
    if array.dtype.kind == "f":
        array = (255 * array.clip(0, 1)).round()
    try:
        return Image.fromarray(array.astype("uint8")).convert("RGB")
    except (TypeError, ValueError) as error:
        shape = array.shape
        raise InputError(f"an array {shape} ({error})", "(h, w) or (h, w, 3 or 4)") from None

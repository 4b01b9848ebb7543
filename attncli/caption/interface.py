"""A captioner: one image or many in, one caption or many out, with maps over the image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import TextIOBase
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, overload

import numpy
from PIL import Image
from torch import Tensor

from attncli.caption.runner import CaptionedImage, CaptionOptions, CaptionRunner
from attncli.data.named_files import NamedFile
from attncli.explain.result import ExplainedLine
from attncli.explain.runner import ExplainSettings, explain
from attncli.options.arguments import checked
from attncli.options.loading import searching
from models.core.errors import InputError
from models.core.use_config import SearchConfig
from models.engines.captioner import Captioner as ImageModel

GivenFrame = str | tuple[float, float, float, float]  # a frame of an image

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    GivenImage: TypeAlias = str | Path | bytes | Image.Image | NDArray[Any] | Tensor


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
    ) -> CaptionedImage: ...

    @overload
    def caption(
        self, images: Iterable[GivenImage], **settings: Unpack[CaptionSettings]
    ) -> list[CaptionedImage]: ...

    @checked
    def caption(
        self,
        images: Any,
        *,
        search: SearchConfig | None = None,
        attention: bool = True,
        prefix: str = "",
        look: GivenFrame | Sequence[GivenFrame] = (),
    ) -> CaptionedImage | list[CaptionedImage]:
        """Caption an image, or many: one in, one out; a list in, a list out.

        images: a path, a PIL image, a file or its bytes, or an array (h, w) or (h, w, 3 or 4), of
        0 to 255 or, if it has floats, 0 to 1. A tensor is an array, such an image (3, h, w), or
        features (S, V). search: settings; the default is `self.search`.
        attention: False leaves out the maps. prefix: text that each caption begins with. look: the
        frame (left, top, right, bottom) in pixels that alone may be attended to, or a text as that
        of `attn caption --look`, or several of these.
        """
        model = searching(self, search)
        files, is_one = self._files(images)
        options = CaptionOptions(prefix=prefix, look=looks_of(look))
        results: list[CaptionedImage] = []
        for some in CaptionRunner(model, options).run([files], weights=attention):
            for fault in filter(None, (one.fault for one in some)):
                raise fault
            results += some
        return results[0] if is_one else results

    @checked
    def explain(
        self, images: Any, **how: Unpack[ExplainSettings]
    ) -> ExplainedLine | list[ExplainedLine]:
        """Explain the words of the caption of an image, or of many, by the cells of the image.

        images: see `caption`. method: of docs/explain.md, or several, or all; the default is
        attention and erasure. word: number of the only word that is explained, from 1.
        """
        files, is_one = self._files(images)
        return explain(CaptionRunner.of(self, CaptionOptions()), files, alone=is_one, **how)

    def _files(self, images: Any) -> tuple[list[NamedFile], bool]:
        """Return images as files or in memory, and True for a single one; see `caption`."""
        is_one = isinstance(images, (str, Path, bytes, bytearray, Image.Image))
        is_one = is_one or hasattr(images, "read") or not isinstance(images, Iterable)
        is_one = is_one or getattr(images, "ndim", 4) <= 3  # an array, or pixels or features
        return [self._named(image) for image in ([images] if is_one else images)], is_one

    def _named(self, image: Any) -> NamedFile:
        """Return an image as a file, or as one in memory; InputError if it is neither."""
        if isinstance(image, Image.Image):
            place = getattr(image, "filename", "")
            if not (getattr(image, "tile", None) and place and Path(place).is_file()):
                image.load()  # two threads read images
                return NamedFile("", opened=image)
            image = place  # opened but not decoded: read as by its path, which is faster
        if isinstance(image, (str, Path)):
            if not str(image):
                raise InputError("an empty path of an image", "the path of a file")
            return NamedFile(str(image), Path(image))
        if hasattr(image, "read"):
            if isinstance(image, TextIOBase):
                raise InputError(
                    "an image opened as text", "a file of bytes", "open it in mode 'rb'"
                )
            image = image.read()
        if isinstance(image, (bytes, bytearray)):
            return NamedFile("the image", bytes(image))
        if isinstance(image, Tensor):
            features = (self.encoder.slots, self.encoder.value_size)
            if tuple(image.shape) == features and image.is_floating_point():
                return NamedFile("", opened=image)
            image = image.detach().float() if image.is_floating_point() else image.detach()
            channels_first = image.dim() == 3 and image.shape[0] == 3 and image.shape[-1] > 4
            image = (image.permute(1, 2, 0) if channels_first else image).cpu().numpy()
        return NamedFile("", opened=_from_array(image))


def looks_of(look: GivenFrame | Sequence[GivenFrame]) -> tuple[str, ...]:
    """Return one frame or several as texts."""
    is_one = isinstance(look, str) or (len(look) == 4 and isinstance(look[0], Real))
    frames: Sequence[Any] = [look] if is_one else look
    return tuple(one if isinstance(one, str) else ",".join(map(str, one)) for one in frames)


def _from_array(array: object) -> Image.Image:
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

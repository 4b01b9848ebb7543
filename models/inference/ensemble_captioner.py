"""Several captioners that caption together: an ensemble; see models/inference/ensemble.py."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image
from torch import Tensor

from models.config import SearchConfig
from models.inference.captioner import (
    Captioner,
    CaptionerInput,
    EncodedImages,
    ImageAttention,
    ImageInput,
)
from models.inference.ensemble import (
    EnsembleBackend,
    MemberMemories,
    MemberReadModes,
    check_vocabularies,
    member_names,
)
from models.inference.hypotheses import Finished, caption_limit
from models.inference.search import search
from models.types import Memory


class EnsembleCaptioner(MemberReadModes, Captioner):
    """Captioners with one vocabulary; search settings are those of the first.

    Each model reads an image in its own size, so an input is one image, or a tuple of one
    image per model. Attention maps are those of the first model. Raises ConfigurationError for
    models whose vocabularies differ.
    """

    members: tuple[Captioner, ...]

    def __init__(self, members: Sequence[Captioner], names: Sequence[str] = ()) -> None:
        names = names or member_names(len(members))
        check_vocabularies([member.tokenizer for member in members], names)
        first = members[0]
        self.model = first.model
        self.tokenizer = first.tokenizer
        self.search = first.search
        self.device = first.device
        self.members = tuple(members)

    def reduced(self, image: Image.Image) -> tuple[ImageInput, ...]:
        """Return the parts of an image that the models read, in their sizes, for `stream`."""
        parts = (member.reduced(image) for member in self.members)
        return tuple(part[0] if isinstance(part, tuple) else part for part in parts)

    @property
    def image_size(self) -> int:
        """Side of the largest square that a model reads, in pixels."""
        return max(member.image_size for member in self.members)

    def _search(
        self, images: Sequence[CaptionerInput], config: SearchConfig
    ) -> tuple[list[list[Finished]], EncodedImages]:
        of_members = [
            [image[n] if isinstance(image, tuple) else image for image in images]
            for n in range(len(self.members))
        ]
        keys = self.keys(of_members[0], config)
        encoded = [
            member.memory([member._pixels(image) for image in inputs], keys)
            for member, inputs in zip(self.members, of_members, strict=True)
        ]
        backend = EnsembleBackend([member.model for member in self.members])
        memory = MemberMemories(tuple(part.memory for part in encoded))
        limits = [caption_limit(config)] * len(images)
        return search(backend, memory, limits, keys, config), encoded[0]

    def _attention(
        self, features: Tensor, memory: Memory, outputs: list[tuple[int, ...]]
    ) -> list[ImageAttention | None]:
        """Return the attention maps of given outputs by the first model."""
        return self.members[0]._attention(features, memory, outputs)

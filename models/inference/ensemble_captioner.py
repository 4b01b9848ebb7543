"""Several captioners that caption together: an ensemble; see ensemble.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from PIL import Image
from torch import Tensor

from models.base.types import Memory
from models.config import SearchConfig
from models.encoders.image import equal_features
from models.inference.captioner import Captioner, CaptionerInput, ImageAttention, ImageInput
from models.inference.ensemble import (
    EnsembleBackend,
    MemberReadModes,
    Memories,
    check_equal,
    target_tokens,
)
from models.inference.search.beam import search
from models.inference.search.hypotheses import Finished, caption_limit


class EnsembleCaptioner(MemberReadModes, Captioner):
    """Captioners with one vocabulary; search settings are those of the first.

    Each model reads an image in its own size, so an input is one image, or a tuple of one
    image per model. Models with equal image networks compute its features once.
    Attention maps are those of the first model. Raises ConfigurationError for models whose
    vocabularies differ.
    """

    members: tuple[Captioner, ...]
    first_equal: tuple[int, ...]  # of each model, the first one that computes the same features

    def __init__(self, members: Sequence[Captioner], names: Sequence[str] = ()) -> None:
        check_equal(members, names, "target vocabularies", target_tokens)
        first = members[0]
        self.model, self.device = first.model, first.device
        self.tokenizer, self.search = first.tokenizer, first.search
        self.members = tuple(members)
        self.first_equal = tuple(equal_networks(self.members))

    def reduced(self, image: Image.Image) -> tuple[ImageInput, ...]:
        """Return the parts of an image that the models read, in their sizes, for `stream`."""
        parts: list[ImageInput] = []
        for number, (member, first) in enumerate(zip(self.members, self.first_equal, strict=True)):
            part = member.reduced(image) if first == number else parts[first]
            parts.append(part[0] if isinstance(part, tuple) else part)
        return tuple(parts)

    @property
    def image_size(self) -> int:
        """Side of the largest square that a model reads, in pixels."""
        return max(member.image_size for member in self.members)

    def _search(
        self, images: Sequence[CaptionerInput], config: SearchConfig
    ) -> tuple[list[list[Finished]], Memory]:
        of_members = [
            [image[n] if isinstance(image, tuple) else image for image in images]
            for n in range(len(self.members))
        ]
        keys = self.keys(of_members[0], config)
        memories = [
            member.memory(features, keys)
            for member, features in zip(self.members, self._features(of_members), strict=True)
        ]
        backend = EnsembleBackend([member.model for member in self.members])
        limits = [caption_limit(config)] * len(images)
        found = search(backend, Memories(tuple(memories)), limits, keys, config)
        return found, memories[0]

    def _features(self, images: Sequence[Sequence[ImageInput]]) -> list[Tensor]:
        """Return the features for each model, of its images; equal ones are computed once."""
        found: list[Tensor] = []
        for number, (member, first) in enumerate(zip(self.members, self.first_equal, strict=True)):
            given = zip(images[number], images[first], strict=True)
            shared = first != number and all(own is same for own, same in given)
            found.append(found[first] if shared else member.features(images[number]))
        return found

    def _attention(
        self, memory: Memory, outputs: list[tuple[int, ...]]
    ) -> list[ImageAttention | None]:
        """Return the attention maps of given outputs by the first model."""
        return self.members[0]._attention(memory, outputs)


def equal_networks(members: Sequence[Captioner]) -> Iterator[int]:
    """Yield for each model the number of the first one with an equal image network."""
    for number, member in enumerate(members):
        equal = (
            other
            for other, one in enumerate(members[:number])
            if one.device == member.device and equal_features(one.encoder, member.encoder)
        )
        yield next(equal, number)

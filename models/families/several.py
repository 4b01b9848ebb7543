"""Encoder of several inputs: texts, and at most one image, to one memory.

The source is the tokens of all texts, each text with its end mark. So slot i is token i of the
source; the cells of the image follow the longest source of the batch. Each input has an encoder of
its own. The values of image cells are mapped to the size of those of texts.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from models.base.types import Memory
from models.encoders.image import ImageEncoder
from models.encoders.intra import IntraEncoder
from models.encoders.rnn import RnnEncoder
from models.numerics.linear import Linear
from models.text.tokenizer import END


class SeveralInputs(nn.Module):
    """Token ids of several texts, and images, to one memory; `part` is the input of each slot."""

    def __init__(
        self, texts: Iterable[RnnEncoder | IntraEncoder], image: ImageEncoder | None = None
    ) -> None:
        super().__init__()
        encoders = list(texts)
        self.texts = nn.ModuleList(encoders)
        self.image = image
        self.value_size = encoders[0].value_size
        self.final_size = sum(each.final_size for each in encoders)
        self.cells = None if image is None else Linear(image.value_size, self.value_size)
        if image is not None:
            self.final_size += self.value_size

    def forward(self, source: Tensor, mask: Tensor, images: Tensor | None = None) -> Memory:
        """Return the memory of ids (B, S) with mask (B, S), and of images.

        images: features (B, C, V) or pixels (B, 3, h, w); None if the model reads none. Its `final`
        is the last states of the encoders, and the mean cell, one after another.
        """
        memory = self._texts(source, mask)
        if self.image is None or self.cells is None:
            return memory
        assert images is not None and memory.final is not None and memory.part is not None
        features = self.image.features(images) if images.dim() == 4 else images  # (B, C, V)
        real = torch.ones(features.shape[:2], dtype=torch.bool, device=mask.device)
        seen: Memory = self.image(features, real)
        assert seen.final is not None
        part = torch.full_like(real, len(self.texts), dtype=torch.long)
        return Memory(
            torch.cat([memory.values, self.cells(seen.values)], 1),
            torch.cat([mask, real], 1),
            torch.cat([memory.final, self.cells(seen.final)], 1),
            part=torch.cat([memory.part, part], 1),
        )

    def _texts(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of the texts alone."""
        part = text_numbers(source, mask, len(self.texts))  # (B, S)
        values, finals = [], []
        for number, encoder in enumerate(self.texts):
            own = mask & (part == number)  # (B, S)
            before, length = (mask & (part < number)).sum(1), own.sum(1)  # (B,)
            places = torch.arange(max(1, int(length.max())), device=mask.device)  # (S_k,)
            given = (before[:, None] + places).clamp(max=source.shape[1] - 1)  # (B, S_k)
            inside = places < length[:, None].clamp(min=1)  # an absent text is one token
            ids = torch.where(places < length[:, None], source.gather(1, given), END)
            found: Memory = encoder(ids, inside)
            assert found.final is not None
            back = (torch.arange(source.shape[1], device=mask.device) - before[:, None]).clamp(
                0, len(places) - 1
            )  # (B, S)
            slots = back[..., None].expand(-1, -1, self.value_size)
            values.append(found.values.gather(1, slots) * own[..., None])
            finals.append(found.final)
        return Memory(torch.stack(values).sum(0), mask, torch.cat(finals, 1), part=part)


def text_numbers(source: Tensor, mask: Tensor, count: int) -> Tensor:
    """Return the number (B, S) of the text that each token belongs to: an end mark ends a text."""
    ends = (source == END) & mask
    return (ends.cumsum(1) - ends.long()).clamp(max=count - 1)

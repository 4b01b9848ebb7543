"""Families that read rows of several inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from models.core.numerics import Linear
from models.core.registry import find
from models.core.sources import columns_of
from models.core.types import Memory, VocabularySizes
from models.networks.family import (
    RecurrentModel,
    TransformerModel,
    embedding_scale,
    embeddings,
    recurrent_encoder,
)
from models.networks.image_encoder import ImageEncoder
from models.networks.recurrent import RnnDecoder, RnnEncoder
from models.networks.transformer import ImageTransformerEncoder, TransformerEncoder
from models.several_inputs.combinations import CombinedCrossAttention
from models.several_inputs.config import MultiSourceConfig, MultiSourceTransformerConfig
from models.text.tokenizer import END


class SeveralInputs(nn.Module):
    """Token ids of several texts, and images, to one memory; `part` is the input of each slot."""

    def __init__(
        self,
        texts: Iterable[RnnEncoder | TransformerEncoder],
        image: ImageEncoder | None = None,
        cells: nn.Module | None = None,
    ) -> None:
        """Build it from the encoders; cells maps image cells to the size of the texts' values."""
        super().__init__()
        self.texts = nn.ModuleList(texts)
        self.image = image
        self.cells = cells

    def forward(self, source: Tensor, mask: Tensor, images: Tensor | None = None) -> Memory:
        """Return the memory of ids (B, S) with mask (B, S), and of images.

        images: features (B, C, V) or pixels (B, 3, h, w); None if the model reads none. `final` of
        recurrent encoders is their last states, and the mean cell, one after another.
        """
        memory = self._texts(source, mask)
        if self.image is None or self.cells is None:
            return memory
        assert images is not None and memory.part is not None
        features = self.image.features(images) if images.dim() == 4 else images  # (B, C, V)
        real = torch.ones(features.shape[:2], dtype=torch.bool, device=mask.device)
        seen: Memory = self.image(features, real)
        final = memory.final
        if final is not None and seen.final is not None:
            final = torch.cat([final, self.cells(seen.final)], 1)
        part = torch.full_like(real, len(self.texts), dtype=torch.long)
        return Memory(
            torch.cat([memory.values, self.cells(seen.values)], 1),
            torch.cat([mask, real], 1),
            final,
            part=torch.cat([memory.part, part], 1),
        )

    def _texts(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of the texts alone."""
        ends = (source == END) & mask  # an end mark ends a text
        part = (ends.cumsum(1) - ends.long()).clamp(max=len(self.texts) - 1)  # (B, S)
        values, finals = [], []
        for number, encoder in enumerate(self.texts):
            own = mask & (part == number)  # (B, S)
            before, length = (mask & (part < number)).sum(1), own.sum(1)  # (B,)
            places = torch.arange(max(1, int(length.max())), device=mask.device)  # (S_k,)
            given = (before[:, None] + places).clamp(max=source.shape[1] - 1)  # (B, S_k)
            inside = places < length[:, None].clamp(min=1)  # an absent text is one token
            ids = torch.where(places < length[:, None], source.gather(1, given), END)
            found: Memory = encoder(ids, inside)
            back = (torch.arange(source.shape[1], device=mask.device) - before[:, None]).clamp(
                0, len(places) - 1
            )  # (B, S)
            slots = back[..., None].expand(-1, -1, found.values.shape[-1])
            values.append(found.values.gather(1, slots) * own[..., None])
            finals += [] if found.final is None else [found.final]
        final = torch.cat(finals, 1) if finals else None
        return Memory(torch.stack(values).sum(0), mask, final, part=part)


class RowDecoder(RnnDecoder):
    """Decoder of RNNsearch whose attention reads several memories."""

    def built_attention(self, config: Any, value_size: int) -> Any:
        """Return the combination of the memories, whose values have one size."""
        kind = find("combination", config.combination)
        return kind(config.hidden, value_size, config.attention, len(config.inputs))

    def read_values(self, memory: Memory) -> Tensor:
        """Return the values of the heads, (B, H, S, V); see Decoder."""
        values: Tensor = self.attention.values(memory)
        return values


class MultiSource(RecurrentModel):
    """Several inputs: the decoder of RNNsearch attends to texts, or to texts and an image.

    c_t = Combination(s_{t-1}, h^(1), .., h^(K));  s_t = f(s_{t-1}, y_{t-1}, c_t)
    s_0 = tanh(W [last state of each input])
    Source: Zoph and Knight 2016; Libovický and Helcl 2017, section 3.
    `model.inputs` names the inputs; `model.combination` chooses how the decoder attends to them.
    """

    def __init__(self, config: MultiSourceConfig, sizes: VocabularySizes) -> None:
        columns = columns_of(config.inputs)
        source, target = embeddings(config, sizes)
        texts = [recurrent_encoder(source, config) for _ in range(columns.texts)]
        size, final_size = texts[0].value_size, sum(each.final_size for each in texts)
        encoder = SeveralInputs(texts)
        if columns.has_image:
            image = ImageEncoder(config)
            encoder = SeveralInputs(texts, image, Linear(image.value_size, size))
            final_size += size
        decoder = RowDecoder(target, config, value_size=size, final_size=final_size)
        super().__init__(config, sizes, encoder, decoder, target)


class MultiSourceTransformer(TransformerModel):
    """Several inputs: a Transformer whose decoder attends to texts, or texts and an image.

    x <- x + W_O Combination(LayerNorm(x), h^(1), .., h^(K))
    Source: Libovický, Helcl and Mareček 2018.
    Each input has an encoder of its own. `model.inputs` names the inputs; `model.combination`
    chooses how the decoder attends to them.
    """

    def __init__(self, config: MultiSourceTransformerConfig, sizes: VocabularySizes) -> None:
        columns = columns_of(config.inputs)
        source, target = embeddings(config, sizes, scale=embedding_scale(config))
        texts = [TransformerEncoder(source, config) for _ in range(columns.texts)]
        encoder = SeveralInputs(texts)
        if columns.has_image:
            encoder = SeveralInputs(texts, ImageTransformerEncoder(config), nn.Identity())
        super().__init__(config, sizes, encoder, target, cross=CombinedCrossAttention)

"""Labels of an image as words: the classifier of an image network, and an everyday noun per label.

p(noun) = sum of p(label) over the labels with this noun;  p(label) = softmax(W mean_s a_s + b)

The most probable nouns become a token memory, which a decoder reads and copies from. The classifier
is not trained with the captioner. `imagenet_nouns.tsv` lists noun, tab, labels of ImageNet; a
label that it leaves out has no noun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import resources
from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.base.errors import ConfigurationError
from models.base.types import TokenMemory
from models.config import ImageConfig
from models.text.tokenizer import PAD

LABELS = 1001  # of ImageNet, and background
TOKENS = 6  # of the longest noun
WITH_LABELS = "mobilenet-edgetpu"  # image network whose classifier reads its last grid
SMALLEST = 1e-6  # lower bound of a noun's probability


class ImageLabels(nn.Module):
    """Image features to a memory of the tokens of the most probable nouns."""

    noun: Tensor
    tokens: Tensor

    def __init__(self, config: ImageConfig, features: int) -> None:
        super().__init__()
        if config.encoder != WITH_LABELS or config.grid not in ("", "head"):
            raise ConfigurationError(
                f"model.image.labels={config.labels} with {config.encoder}, grid "
                f"'{config.grid or 'last'}'",
                f"{WITH_LABELS} with its last grid, which its classifier reads",
                "set model.image.labels=0",
            )
        self.count = config.labels
        self.weight = nn.Parameter(torch.zeros(LABELS, features), requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(LABELS), requires_grad=False)
        self.register_buffer("noun", torch.zeros(LABELS, dtype=torch.long))
        self.register_buffer("tokens", torch.zeros(LABELS, TOKENS, dtype=torch.long))  # of a noun

    @torch.no_grad()
    def forward(self, mean: Tensor) -> TokenMemory:
        """Return the tokens of the nouns of images, given their mean features (B, V)."""
        with torch.autocast(mean.device.type, enabled=False):
            labels = nn.functional.linear(mean.float(), self.weight, self.bias).softmax(-1)
            nouns = torch.zeros_like(labels).index_add_(1, self.noun, labels)  # (B, LABELS)
            nouns[:, 0] = 0  # labels without a noun
            probability, best = nouns.topk(self.count)  # (B, N)
        ids = self.tokens[best]  # (B, N, TOKENS)
        before = nn.functional.pad(ids[..., :-1], (1, 0), value=PAD)
        log_prob = probability.clamp_min(SMALLEST).log()[..., None].expand(ids.shape)
        return TokenMemory(
            ids.flatten(1), before.flatten(1), log_prob.flatten(1), (ids != PAD).flatten(1)
        )

    @torch.no_grad()
    def set_nouns(self, encode: Callable[[str], list[int]]) -> None:
        """Store the nouns as token ids. encode: text to ids, without an end mark."""
        for number, noun in enumerate(nouns(), 1):
            ids = encode(noun.text)[:TOKENS]
            self.tokens[number] = torch.tensor(ids + [PAD] * (TOKENS - len(ids)))
            self.noun[list(noun.labels)] = number


class LabelNoun(NamedTuple):
    """An everyday noun and the numbers of the labels that it names."""

    text: str
    labels: tuple[int, ...]


def nouns() -> Iterator[LabelNoun]:
    """Yield the nouns of ImageNet's labels."""
    table = (resources.files("models.images") / "imagenet_nouns.tsv").read_text("utf-8")
    for line in table.splitlines():
        text, _, places = line.partition("\t")
        ranges = (place.split("-") for place in places.split(" "))
        yield LabelNoun(text, tuple(n for r in ranges for n in range(int(r[0]), int(r[-1]) + 1)))

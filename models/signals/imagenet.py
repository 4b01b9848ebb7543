"""Labels of an image network, and nouns of captions that they correct."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.core.config import ImageConfig
from models.core.errors import ConfigurationError
from models.core.types import Batch, Memory, TokenMemory
from models.text.tokenizer import PAD, START

LABELS = 1001  # of ImageNet, and background
TOKENS = 6  # of the longest noun
WITH_LABELS = "mobilenet-edgetpu"  # image network whose classifier reads its last grid
SMALLEST = 1e-6  # lower bound of a noun's probability
MIN_LABEL_PROBABILITY = 0.1  # of a label that may be replaced
VOWELS = tuple("aeiou")


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
            # several labels of ImageNet share a noun, such as breeds of dogs
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
    table = (resources.files("models.signals") / "imagenet_nouns.tsv").read_text("utf-8")
    for line in table.splitlines():
        text, _, places = line.partition("\t")
        ranges = (place.split("-") for place in places.split(" "))
        yield LabelNoun(text, tuple(n for r in ranges for n in range(int(r[0]), int(r[-1]) + 1)))


def with_swaps(
    model: nn.Module, batch: Batch, memory: Memory, share: float
) -> tuple[Batch, Memory]:
    """Return a batch and its memory, one row per caption, with other nouns in a share of them.

    They teach a captioner to copy labels. A noun of a caption that is among the probable labels of
    its image is replaced, in the caption and in the labels, by another noun. The features of the
    image stay, so a captioner predicts the new noun only if it copies the label. It learns so to
    copy nouns that are rare in captions, too.

    Both stay if the share is 0 or if the model's encoder has no labels.
    """
    labels = getattr(model.encoder, "labels", None)
    if not share or memory.tokens is None or not isinstance(labels, ImageLabels):
        return batch, memory
    swapped, tokens = swap_nouns(batch, memory.tokens, labels, share)
    return swapped, memory._replace(tokens=tokens)


def swap_nouns(
    batch: Batch, tokens: TokenMemory, labels: ImageLabels, share: float
) -> tuple[Batch, TokenMemory]:
    """Replace a noun in a share of the captions that have one of the labels.

    tokens: the labels of every caption. Random numbers come from torch's generator.
    """
    slots = tokens.ids.view(len(tokens.ids), -1, TOKENS).clone()  # (B, N, TOKENS)
    likely = tokens.log_prob.view(slots.shape)[..., 0].exp() > MIN_LABEL_PROBABILITY  # (B, N)
    likely &= (torch.rand(len(slots)) < share).to(likely.device)[:, None]
    targets = [row[mask].tolist() for row, mask in zip(*batch[3:5], strict=True)]
    for row in likely.any(1).nonzero()[:, 0].tolist():
        for slot in likely[row].nonzero()[:, 0].tolist():
            old = [token for token in slots[row, slot].tolist() if token != PAD]
            place = position(targets[row], old)
            if place is not None:
                new = replacement(labels, old)
                targets[row][place : place + len(old)] = new
                slots[row, slot] = torch.tensor(padded(new))
                break
    before = torch.nn.functional.pad(slots[..., :-1], (1, 0), value=PAD)
    found = tokens._replace(
        ids=slots.flatten(1), before=before.flatten(1), mask=(slots != PAD).flatten(1)
    )
    width = max(map(len, targets))
    rows = [[*target, *[PAD] * (width - len(target))] for target in targets]
    out = torch.tensor(rows, device=batch.target_out.device)
    first = torch.full_like(out[:, :1], START)
    mask = torch.tensor([[n < len(t) for n in range(width)] for t in targets], device=out.device)
    target_in = torch.cat([first, out[:, :-1]], 1)
    return batch._replace(target_in=target_in, target_out=out, target_mask=mask), found


def replacement(labels: ImageLabels, old: Sequence[int]) -> list[int]:
    """Return the tokens of another noun, which begins with a vowel if the old one does.

    The article before it therefore still agrees.
    """
    vowels = begin_with_vowels()
    stored = labels.tokens[: len(vowels)].cpu()
    own = (stored == torch.tensor(padded(old))).all(1)
    alike = vowels == bool((vowels & own).any())
    possible = (alike & ~own & (stored[:, 0] != PAD)).nonzero()[:, 0]
    chosen = stored[possible[torch.randint(len(possible), ())]]
    return chosen[chosen != PAD].tolist()


@cache
def begin_with_vowels() -> Tensor:
    """Return which nouns begin with a vowel, by their number in `ImageLabels`; False for 0."""
    return torch.tensor([False, *(noun.text.startswith(VOWELS) for noun in nouns())])


def position(target: Sequence[int], words: Sequence[int]) -> int | None:
    """Return where the tokens of a noun begin in a caption, or None."""
    last = len(target) - len(words)
    places = (n for n in range(last + 1) if list(target[n : n + len(words)]) == list(words))
    return next(places, None)


def padded(tokens: Sequence[int]) -> list[int]:
    """Return the tokens of a noun, padded to `TOKENS`."""
    return [*tokens, *[PAD] * (TOKENS - len(tokens))]

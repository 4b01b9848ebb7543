"""A trained captioner ready for use: images in, captions with scores and attention maps out."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar, cast

import torch
from PIL import Image
from torch import Tensor

from models.core.config import BATCH_IMAGES
from models.core.limits import OUTPUT_TOKENS, at_once
from models.core.types import Hypothesis, Memory, Span
from models.core.use_config import SearchConfig
from models.engines.steering import looked_at, steered_search
from models.engines.trained import TorchModel
from models.networks.bundle import Bundle
from models.networks.decoder import DecoderOutput
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.image_encoder import ImageEncoder
from models.search.batching import pad, teacher_forcing_batch, windows
from models.search.hypotheses import Finished
from models.search.steering import PLAIN, Steering
from models.signals.images import to_square, to_tensor
from models.text.tokenizer import END, SPACE

NETWORK_BATCH = 8  # images in the image network at once; each thread keeps features of so many
ImageInput = Image.Image | Tensor  # an image, its pixels (3, h, w), or its features (S, V)
SteeredImage = tuple[ImageInput, Steering]
Frame = tuple[float, float, float, float]  # left, top, right, bottom
T = TypeVar("T")
R = TypeVar("R")

MIN_PART_INPUTS = 4  # fewer take more processor time, because operations are small


class ImageAttention(NamedTuple):
    """Attention maps of a caption, one per word."""

    words: tuple[str, ...]
    maps: Tensor  # (W, rows, columns), each sums to 1: the mean over the word's tokens
    gates: Tensor | None  # (W,) beta: the gate on the context
    entropy: Tensor  # (W,) of the maps, in nats: 0 for one cell, log(cells) for a uniform map
    read: str  # soft, hard argmax, hard sample or hard expected
    copied: Tensor | None = None  # (W,) share of its probability that was copied from a label
    place: str = ""  # layer and head of the maps, where they were chosen


class Caption(NamedTuple):
    """The outputs for one image, best first."""

    hypotheses: tuple[Hypothesis, ...]
    attention: ImageAttention | None  # of the best output, if requested

    @property
    def text(self) -> str:
        """Text of the best output."""
        return self.hypotheses[0].text


class Captioner(TorchModel):
    """A captioner on a device. Its output for an image does not depend on the batch."""

    source = "image"

    def __init__(self, bundle: Bundle, device: str = "cpu") -> None:
        super().__init__(bundle, device)
        self.alignment = bundle.alignment  # layer and head of the maps; of the default if 0

    @property
    def encoder(self) -> ImageEncoder:
        """The image encoder."""
        return cast(ImageEncoder, self.model.encoder)  # the family reads images

    def caption(
        self,
        images: Sequence[ImageInput],
        *,
        search: SearchConfig | None = None,
        attention: bool = False,
        batch: int = BATCH_IMAGES,
        steering: Sequence[Steering] = (),
    ) -> list[Caption]:
        """Caption images, or features (S, V) of images, and return the captions in order.

        search: settings; the default is `self.search`. attention: True adds the attention maps,
        which costs a second pass of the decoder. batch: images computed at once. steering: of
        each image, with slots (see `cells`); the default is none.
        """
        groups = self.batches(
            windows(images, batch), search=search, attention=attention, steering=steering
        )
        return list(itertools.chain.from_iterable(groups))

    def batches(
        self,
        groups: Iterable[Sequence[ImageInput]],
        *,
        search: SearchConfig | None = None,
        attention: bool = False,
        steering: Iterable[Steering] = (),
    ) -> Iterator[list[Caption]]:
        """Caption groups of images, each computed at once, and yield the captions of each.

        At most one group is read ahead. search, attention, steering: see `caption`.
        """
        caption = partial(self._caption, config=search or self.search, attention=attention)
        of_images = itertools.chain(steering, itertools.repeat(PLAIN))
        for group in groups:
            steered = [(image, next(of_images)) for image in group]
            yield in_parts(caption, steered, self.device) if group else []

    def cells(self, box: Frame) -> tuple[Span, ...]:
        """Return the slots of the cells whose centre a box contains; at least the nearest cell.

        box: left, top, right, bottom, in shares of the square that the model reads.
        """
        rows, columns = self.encoder.grid
        first, (left, top, right, bottom) = self.encoder.slots - rows * columns, box
        middle = (top + bottom) / 2 * rows, (left + right) / 2 * columns
        nearest = tuple(
            min(int(at), most - 1) for at, most in zip(middle, (rows, columns), strict=True)
        )
        found = []
        for row, column in itertools.product(range(rows), range(columns)):
            x, y = (column + 0.5) / columns, (row + 0.5) / rows
            if (left <= x < right and top <= y < bottom) or (row, column) == nearest:
                slot = first + row * columns + column
                found.append((slot, slot + 1))
        return tuple(found)

    @torch.no_grad()
    def features(self, images: Sequence[ImageInput]) -> Tensor:
        """Return features (N, S, V) of images; features among them are returned unchanged."""
        given = [self._pixels(image).to(self.device) for image in images]
        parts = windows((image for image in given if image.dim() == 3), NETWORK_BATCH)
        computed = itertools.chain.from_iterable(
            self.encoder.features(torch.stack(part)) for part in parts
        )
        return torch.stack([next(computed) if i.dim() == 3 else i.float() for i in given])

    def _pixels(self, image: ImageInput) -> Tensor:
        """Return pixels (3, size, size) of an image; pixels and features are returned unchanged."""
        if isinstance(image, Image.Image):
            return to_tensor(image, self.config.image)
        return image

    def reduced(self, image: Image.Image) -> ImageInput:
        """Return the square that the model reads of an image, for `batches`."""
        return to_square(image, self.config.image)

    def keys(self, images: Sequence[ImageInput], config: SearchConfig) -> list[str]:
        """Return the texts that seed the random numbers of images; empty if nothing is random.

        They depend on the pixels alone, not on the batch.
        """
        if config.method != "sample" and self.read_mode != "hard sample":
            return [""] * len(images)
        pixels = (self._pixels(image).contiguous().cpu().numpy() for image in images)
        return [f"{zlib.crc32(each.tobytes()):08x}" for each in pixels]

    def memory(self, features: Tensor, keys: Sequence[str]) -> Memory:
        """Return the memory of features (N, S, V) of images. keys: of the images, see `keys`."""
        mask = torch.ones(features.shape[:2], dtype=torch.bool, device=self.device)
        memory = self.model.encode(features, mask)
        if memory.key is not None:  # of the pixels: features differ by rounding in a batch
            # 22 bits, as `input_key` gives for other inputs
            numbers = [int(text, 16) >> 10 for text in keys]
            memory = memory._replace(key=torch.tensor(numbers, device=self.device))
        return memory

    @torch.inference_mode()
    def _caption(
        self, images: Sequence[SteeredImage], config: SearchConfig, attention: bool
    ) -> list[Caption]:
        """Return the captions of images that are computed together."""
        memories: list[Memory] = []

        def search_some(some: Sequence[SteeredImage], config: SearchConfig) -> list[list[Finished]]:
            pixels, steering = zip(*some, strict=True)
            keys = self.keys(pixels, config)
            memories.append(self.memory(self.features(pixels), keys))
            limits = [caption_limit(config)] * len(some)
            return steered_search(self, memories[-1], limits, keys, config, steering)

        outputs = self._lists(search_some, images, config)
        maps: list[ImageAttention | None] = [None] * len(outputs)
        if attention:
            best = [hypotheses[0].ids for hypotheses in outputs]
            maps = self._attention(memories[0], best, [one for _, one in images])
        return list(map(Caption, outputs, maps))

    def _attention(
        self, memory: Memory, outputs: list[tuple[int, ...]], steering: Sequence[Steering]
    ) -> list[ImageAttention | None]:
        """Return the attention maps of given outputs, by teacher forcing."""
        target = pad([[*ids, END] for ids in outputs], self.device)
        memory = looked_at(self, memory, steering, target[0])
        batch = teacher_forcing_batch(memory.values, memory.mask, *target)
        layer, head = self.alignment.layer, self.alignment.head
        layers = (layer - 1,) if layer else ()
        result = self.model.teacher_force(
            batch, memory=memory, want_weights=not layer, want_heads=layers
        )
        weights = result.weights
        if result.heads is not None:
            weights = result.heads[:, 0, head - 1] if head else result.heads[:, 0].mean(1)
        assert weights is not None
        weights = weights.float().cpu()
        gates = None if result.gates is None else result.gates.float().cpu()
        copied = copied_share(self.model, result, target[0])
        optional = [[None] * len(outputs) if part is None else part for part in (gates, copied)]
        return list(map(self._by_word, outputs, weights, *optional))

    @torch.inference_mode()
    def heads(
        self, images: Sequence[ImageInput], outputs: list[tuple[int, ...]], layers: Sequence[int]
    ) -> Tensor:
        """Return the weights (B, L, H, T, S) of some layers for given outputs."""
        memory = self.memory(self.features(images), self.keys(images, self.search))
        target = pad([[*ids, END] for ids in outputs], self.device)
        batch = teacher_forcing_batch(memory.values, memory.mask, *target)
        found = self.model.teacher_force(batch, memory=memory, want_heads=layers).heads
        assert found is not None
        return found.float().cpu()

    def _by_word(
        self, ids: tuple[int, ...], weights: Tensor, gates: Tensor | None, copied: Tensor | None
    ) -> ImageAttention:
        """Average weights (T, S), gates (T,) and copied shares (T,) of tokens over their words."""
        groups = words(self.tokenizer.pieces(ids))
        rows, columns = self.encoder.grid
        maps = weights.new_zeros(len(groups), weights.shape[1])  # (W, S)
        for row, (start, end) in enumerate(groups):
            maps[row] = weights[start:end].mean(0)
        maps = maps[:, -rows * columns :]  # without the slots of class tokens
        maps = maps / maps.sum(1, keepdim=True).clamp_min(1e-12)
        return ImageAttention(
            words=tuple(self.tokenizer.decode(ids[start:end]).strip() for start, end in groups),
            maps=maps.unflatten(1, (rows, columns)),
            gates=None if gates is None else word_means(gates, groups),
            entropy=(-torch.special.xlogy(maps, maps).sum(1)).clamp_min(0),  # rounding
            read=self.read_mode,
            copied=None if copied is None else word_means(copied, groups),
            place=self.alignment.place,
        )

    def _hypothesis(self, found: Finished) -> Hypothesis:
        """Return an output as text, tokens and scores; spaces around the text are removed."""
        hypothesis = super()._hypothesis(found)
        return hypothesis._replace(text=hypothesis.text.strip())


def copied_share(model: EncoderDecoder, forced: DecoderOutput, target: Tensor) -> Tensor | None:
    """Return the share (B, T) of each target token's probability that was copied, on the CPU."""
    if forced.copying is None:
        return None
    logits = model.output(forced.features).float()
    mixture = forced.copying.given(logits)
    log_probs = mixture.mixed(logits).gather(-1, target[..., None]).squeeze(-1)
    return (mixture.of(target) / log_probs.exp()).float().cpu()


def word_means(values: Tensor, groups: Sequence[tuple[int, int]]) -> Tensor:
    """Return the means (W,) of the values (T,) of each word's tokens."""
    return values.new_tensor([values[start:end].mean() for start, end in groups])


def words(tokens: Sequence[str]) -> list[tuple[int, int]]:
    """Return the token range (start, end) of each word; U+2581 begins a word."""
    starts = [n for n, token in enumerate(tokens) if n == 0 or token.startswith(SPACE)]
    return list(itertools.pairwise([*starts, len(tokens)]))


def in_parts(
    compute: Callable[[Sequence[T]], list[R]], inputs: Sequence[T], device: torch.device
) -> list[R]:
    """Return one result per input, in order; parts of the inputs are computed at once.

    torch divides one operation among its threads, and each operation waits for the slowest. The
    small operations of a beam search gain nothing by this. Threads with a part of the inputs each
    wait for each other only at the end.

    compute: returns the results of a part; a thread calls it, so it must enter the modes of torch
    that it needs. All threads together use `torch.get_num_threads()` threads. The calling thread
    computes all inputs if they are few, on a GPU, under autocast, or if torch has one thread.
    """
    threads, count = torch.get_num_threads(), len(inputs) // MIN_PART_INPUTS
    is_whole = device.type != "cpu" or torch.is_autocast_enabled("cpu")  # autocast is per thread
    count = 1 if is_whole else min(threads, count)
    if count <= 1:
        return compute(inputs)
    bounds = [len(inputs) * number // count for number in range(count + 1)]

    def computed(start: int, end: int) -> list[R]:
        torch.set_num_threads(threads // count)  # of this thread
        return compute(inputs[start:end])

    try:
        results = at_once([partial(computed, *part) for part in itertools.pairwise(bounds)])
    finally:
        torch.set_num_threads(threads)  # a thread's number is the default of later threads
    return list(itertools.chain.from_iterable(results))


def caption_limit(config: SearchConfig) -> int:
    """Return the greatest length of a caption, in tokens, end mark included."""
    return min(config.max_caption, OUTPUT_TOKENS)

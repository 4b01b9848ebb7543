"""A dev set of captions, and rewards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from attncli.caption.features import half
from attncli.data.captions import ImageInputs
from attncli.data.named_files import open_images
from attncli.render.image_attention import data_url, figure
from attncli.render.image_maps import attention_maps
from attncli.scoring.caption_metrics import Reward
from attncli.scoring.captions import caption_scores
from attncli.scoring.sequences import exact_match
from attncli.task.panels import ShownExample, spread
from attncli.training.interfaces import Report, RewardLossOutput, Scores
from attncli.training.metrics import metric_for, metric_scores
from attncli.training.settings.config import TrainConfig
from models.core.config import ImageConfig, ModelConfig
from models.core.errors import ModelError
from models.core.types import Batch, Memory, select
from models.core.use_config import SearchConfig
from models.engines.captioner import Captioner
from models.networks.bundle import Bundle
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.image_encoder import ImageEncoder
from models.networks.losses import AttentionLoss
from models.search.batching import length_batches, pad, teacher_forcing_batch
from models.search.beam import search
from models.signals.imagenet import with_swaps
from models.signals.images import open_image, to_square
from models.text.tokenizer import END, Tokenizer

if TYPE_CHECKING:
    from PIL.Image import Image


BATCH = 64  # captions per batch of the loss
CHUNK = 100  # images captioned between two calls of `report`
SIDE = 160  # pixels of a sample's image without maps


@dataclass(frozen=True)
class DevCaptions:
    """Images that are captioned and scored during training."""

    inputs: ImageInputs
    rows: np.ndarray  # (N,) row of each image in `inputs`
    references: list[list[str]]  # captions of each image, as written
    targets: list[list[str]]  # the same in the style that the model learns
    names: tuple[str, ...] = ()  # of the images
    images: str = ""  # path of the folder or TAR file that contains them

    def __len__(self) -> int:
        return len(self.rows)

    def default_metric(self) -> str:
        """Return exact if most captions are short, otherwise bleu."""
        return metric_for([texts[0] for texts in self.targets])

    def too_long(self, tokenizer: Tokenizer, config: ModelConfig) -> int:
        """Return 0: every image is resized to the model's size."""
        return 0

    @torch.inference_mode()
    def encoded_by(self, model: EncoderDecoder, report: Report) -> DevCaptions:
        """Return the set with features computed once by the model's current encoder."""
        if not self.inputs.are_pixels:
            return self
        encoder, device, found = model.encoder, next(model.parameters()).device, []
        assert isinstance(encoder, ImageEncoder)
        for start in range(0, len(self), BATCH):
            report(0.0)
            pixels, _ = replace(self.inputs, augment=False).source(self.rows[start : start + BATCH])
            found.append(half(encoder.eval().features(pixels.to(device))))
        inputs = ImageInputs(np.concatenate(found), self.inputs.slots)
        return replace(self, inputs=inputs, rows=np.arange(len(self)))

    def some(self, numbers: list[int]) -> DevCaptions:
        """Return the set with the images of these indices only."""
        return replace(
            self,
            rows=self.rows[numbers],
            references=[self.references[n] for n in numbers],
            targets=[self.targets[n] for n in numbers],
            names=tuple(self.names[n] for n in numbers),
        )

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Yield every caption with its image, sorted by length."""
        device = next(model.parameters()).device
        encoded = [
            (row, tokenizer.encode_target(caption))
            for row, captions in zip(self.rows, self.targets, strict=True)
            for caption in captions
        ]
        for numbers in length_batches([len(ids) for _, ids in encoded], max_count=BATCH):
            rows, ids = zip(*(encoded[n] for n in numbers), strict=True)
            target = pad(list(ids), torch.device("cpu"))
            batch = teacher_forcing_batch(*self.inputs.source(np.array(rows)), *target)
            yield batch.map(lambda part: part.to(device))

    def outputs(self, bundle: Bundle, device: str, report: Report) -> list[str]:
        """Return the captions in order."""
        return self.captioned(Captioner(bundle, device), report)

    def captioned(self, captioner: Captioner, report: Report) -> list[str]:
        """Return the captions that a captioner writes, in order."""
        found: list[str] = []
        for start in range(0, len(self), CHUNK):
            report(start / len(self))
            features, _ = self.inputs.source(self.rows[start : start + CHUNK])
            found += [caption.text for caption in captioner.caption(list(features))]
        return found

    def samples(self, bundle: Bundle, device: str, count: int) -> list[ShownExample]:
        """Return evenly spaced images with their captions; see `DevSet`."""
        some = self.some(spread(len(self), count))
        encoded = some.encoded_by(bundle.model, lambda share: None)
        features, _ = encoded.inputs.source(encoded.rows)
        first = (captions[0] for captions in some.references)
        examples = list(zip(some.names, first, strict=True))
        return image_samples(Captioner(bundle, device), self.images, examples, list(features))

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """Return BLEU-4, CIDEr-D, ROUGE-L, exact match, the metric of stopping, and the loss."""
        found, exact = caption_scores(outputs, self.references), exact_match(outputs, self.targets)
        others = metric_scores(config, outputs, self.targets) | {"rouge_l": found.rouge_l}
        return Scores(loss, found.bleu4, found.cider, exact, **others)


def image_samples(
    captioner: Captioner,
    images: str,
    examples: Sequence[tuple[str, str]],
    features: Sequence[Tensor],
) -> list[ShownExample]:
    """Return a sample for each example, a name and a reference caption.

    images: path of the folder or TAR file of images. features: (S, V) of each image.
    """
    captions = captioner.caption(list(features), attention=True)
    samples: list[ShownExample] = []
    for (name, reference), caption in zip(examples, captions, strict=True):
        image = shown_image(images, name, captioner.config.image)
        sample = ShownExample(name, reference, caption.text)
        if image and not samples and caption.attention:
            maps = attention_maps(name, image, caption.attention)
            sample = sample._replace(attention=figure(maps))
        elif image:
            sample = sample._replace(image=data_url(image.resize((SIDE, SIDE)), "JPEG", quality=80))
        samples.append(sample)
    return samples


@lru_cache(maxsize=64)
def shown_image(images: str, name: str, config: ImageConfig) -> Image | None:
    """Return the square that the model reads of an image; None if it cannot be opened any more."""
    try:
        place = open_images(images).find(name)
        return to_square(open_image(place.read()), config) if place else None
    except ModelError:
        return None


# Self-critical training: raise the probability of sampled captions that beat a baseline.
#
#     gradient = -(r(w^k) - b_k) d log p(w^k),   w^k sampled, k = 1 ... K  Rennie et al. 2017, eq. 7
#     b_k = the mean of r(w^j) over j != k, in place of a greedy caption   Luo 2020
#     loss = (1 - g) loss of the reward + g NLL of the references  Paulus et al. 2018, eq. 16
# Both losses are means per token; g is train.self_critical_likelihood. (The paper's is 1 - g.)
# The reward r is CIDEr-D over the training captions.
# Hard attention uses its read mode of inference; the reward trains its weights only if that mode is
# the expectation, which is differentiable.
#
# Trap: the n-grams of the reward must include an end mark; without it, captions learn to stop
# early.


SAMPLES = 5  # K, captions sampled per image; at most as many as a batch has of it, at least 2
END_WORD = "endofcaption"  # word that represents the end mark in rewards

CaptionIds = list[list[tuple[int, ...]]]  # token ids of every caption of each image


class SelfCritical:
    """Policy-gradient loss of a batch of captioned images."""

    def __init__(
        self,
        captions: Iterable[Sequence[str]],
        images: np.ndarray,
        tokenizer: Tokenizer,
        config: TrainConfig,
        longest: int,
    ) -> None:
        """Index the references.

        captions: references of every image; images (N,): image index of each example; longest:
        limit of a sampled caption in tokens, end mark included.
        """
        texts = ([ended(text) for text in of_one] for of_one in captions)
        self.reward = Reward(texts)
        self.images, self.tokenizer = images, tokenizer
        self.config, self.longest = config, longest

    def __call__(
        self, model: EncoderDecoder, batch: Batch, numbers: np.ndarray
    ) -> RewardLossOutput:
        """Return the loss of K sampled captions of each image of a batch, summed over their tokens.

        Samples and references use the same memory. The decoder has no dropout for samples and
        their likelihoods, and its usual dropout for references.
        """
        model.eval()
        model.encoder.train()  # dropout of features stays on against memorising images
        memory = model.encode(batch.source, batch.source_mask)
        model.encoder.eval()
        images = self.images[numbers[first_of(batch)]].tolist()  # P of them
        count = max(2, min(SAMPLES, -(-len(numbers) // len(images))))  # K
        with torch.no_grad():
            sampled, reward = self.sample(model, memory, images, count)
        baseline = (reward.sum(1, keepdim=True) - reward) / (count - 1)  # (P, K)
        torch.clear_autocast_cache()  # before 2.10, casts made without gradient stay
        ended_ids = [[*ids, END] for captions in sampled for ids in captions]
        target, mask = pad(ended_ids, reward.device)
        rows = torch.arange(len(images), device=mask.device).repeat_interleave(count)
        again = teacher_forcing_batch(batch.source, batch.source_mask, target, mask)
        nll = likelihoods(model, again, select(memory, rows))  # (P * K, T)
        loss, tokens = ((reward - baseline).view(-1, 1) * nll).sum(), int(mask.sum())
        if share := self.config.self_critical_likelihood:
            loss = (1 - share) * loss + share * tokens * self.reference_loss(model, batch, memory)
        return RewardLossOutput(loss, float(nll.detach().sum()), float(reward.mean()), tokens)

    def sample(
        self, model: EncoderDecoder, memory: Memory, images: list[int], count: int
    ) -> tuple[CaptionIds, Tensor]:
        """Sample K captions of each of P images; return them, and their rewards (P, K)."""
        seed = int(torch.randint(2**31, ()))
        sampled = self.decode(model, memory, SearchConfig(method="sample", nbest=count, seed=seed))
        texts = ([self.text(ids) for ids in of_image] for of_image in sampled)
        reward = torch.tensor(list(map(self.reward, texts, images)))
        return sampled, reward.to(memory.mask.device)

    def decode(self, model: EncoderDecoder, memory: Memory, config: SearchConfig) -> CaptionIds:
        """Return the token ids of the captions found for each image, without the end mark."""
        names = [str(number) for number in range(len(memory.mask))]
        found = search(model, memory, [self.longest] * len(names), names, config)
        return [[caption.ids for caption in captions] for captions in found]

    def reference_loss(self, model: EncoderDecoder, batch: Batch, memory: Memory) -> Tensor:
        """Return the negative log-likelihood per token of the references, with terms on weights."""
        of_each = memory if batch.rows is None else select(memory, batch.rows)
        model.train()
        batch, of_each = with_swaps(model, batch, of_each, self.config.noun_swap)
        terms = AttentionLoss(self.config.attention, model)
        forced = model.teacher_force(batch, memory=of_each, want_weights=terms.wants_weights)
        loss = -(model.target_log_probs(batch, forced=forced) * batch.target_mask).sum()
        if forced.weights is not None:
            loss = loss + terms.on_weights(forced.weights, batch)
        return loss / batch.target_mask.sum()

    def text(self, ids: Iterable[int]) -> str:
        """Return the text of a caption with its end word, for the reward."""
        return ended(self.tokenizer.decode(ids))


def ended(caption: str) -> str:
    """Return a caption with the end word appended."""
    return f"{caption} {END_WORD}"


def first_of(batch: Batch) -> np.ndarray:
    """Return the index of the first example of each image of a batch, (P,)."""
    if batch.rows is None:
        return np.arange(len(batch.source))
    return np.unique(batch.rows.cpu().numpy(), return_index=True)[1]


def likelihoods(model: EncoderDecoder, batch: Batch, memory: Memory) -> Tensor:
    """Return the negative log-likelihoods of the targets, (B, T); 0 at padding."""
    return -model.target_log_probs(batch, memory) * batch.target_mask

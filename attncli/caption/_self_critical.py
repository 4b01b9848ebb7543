"""Self-critical training: raise the probability of sampled captions that beat a baseline.

    gradient = -(r(w^k) - b_k) d log p(w^k),   w^k sampled, k = 1 ... K  Rennie et al. 2017, eq. 7
    b_k = the mean of r(w^j) over j != k, in place of a greedy caption   Luo 2020
    loss = (1 - g) loss of the reward + g NLL of the references  Paulus et al. 2018, eq. 16

Both losses are means per token; g is train.self_critical_likelihood. (The paper's is 1 - g.) The
reward r is CIDEr-D over the training captions. Hard attention uses its read mode of inference; the
reward trains its weights only if that mode is the expectation, which is differentiable.

Trap: the n-grams of the reward must include an end mark; without it, captions learn to stop early.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from attncli.caption._cider import Reward
from attncli.training.config import TrainConfig
from attncli.training.interfaces import RewardLossOutput
from models.core.types import Batch, Memory, select
from models.core.use_config import SearchConfig
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.losses import AttentionLoss
from models.search.batching import pad, teacher_forcing_batch
from models.search.beam import search
from models.signals.imagenet import with_swaps
from models.text.tokenizer import END, Tokenizer

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
        # at least two, because the baseline of a sample is the mean of the others
        count = max(2, min(SAMPLES, -(-len(numbers) // len(images))))  # K
        with torch.no_grad():
            sampled, reward = self.sample(model, memory, images, count)
        # the other samples, because a greedy caption would cost a search of its own
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
        # from the random numbers of the run, so that a continued run draws the same samples
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

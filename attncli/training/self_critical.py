"""Self-critical training: captions that score better than the model's usual ones become likelier.

    gradient = -(r(w^k) - b_k) d log p(w^k),   w^k sampled, k = 1 ... K
    b_k = r(w^), w^ the greedy caption, where K = 1                      Rennie et al. 2017, eq. 7
    b_k = the mean of r(w^j) over j != k                                 Luo 2020
The reward r is CIDEr-D over the training captions, with BLEU-4 beside it where that is asked for.
Hard attention is read as in use: where it looks learns from the reward if that is by expectation.

The trap: without an end mark among the n-grams of the reward, captions learn to break off.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from attncli.scoring.reward import Reward
from attncli.training.data import RewardLossOutput
from models.config import SearchConfig
from models.inference.batching import pad, teacher_forcing_batch
from models.inference.search import search
from models.model import EncoderDecoder
from models.tokenizer import END, Tokenizer
from models.types import Batch, Memory

END_WORD = "endofcaption"  # a word for the end mark

Captions = list[list[tuple[int, ...]]]  # the ids of every caption of each picture


class Sampled(NamedTuple):
    """Captions of P pictures, K of each, and what they are held to."""

    captions: Captions
    reward: Tensor  # (P, K)
    baseline: Tensor  # (P, K), or (P, 1)


class RewardSettings(NamedTuple):
    """What is sampled, and what it is worth."""

    samples: int  # K captions of each picture, but no more than a batch has of it
    most: int  # pieces of a caption, end mark included
    bleu_weight: float = 0.0  # of BLEU-4 beside CIDEr-D


class SelfCritical:
    """What one batch of captioned pictures teaches by reward."""

    def __init__(
        self,
        captions: Iterable[Sequence[str]],
        pictures: np.ndarray,
        tokenizer: Tokenizer,
        settings: RewardSettings,
    ) -> None:
        """captions of every picture; pictures (N,) the number of each example's."""
        texts = ([ended(text) for text in of_one] for of_one in captions)
        self.reward = Reward(texts, bleu_weight=settings.bleu_weight)
        self.pictures, self.tokenizer, self.settings = pictures, tokenizer, settings

    def __call__(
        self, model: EncoderDecoder, batch: Batch, numbers: np.ndarray
    ) -> RewardLossOutput:
        """The loss of K sampled captions for each picture of a batch, summed over their pieces.

        What was sampled is what is learned, of the same memory and without dropout between.
        """
        model.eval()
        model.encoder.train()  # features are left out as ever, or pictures are learned by heart
        memory = model.encode(batch.source, batch.source_mask)
        model.encoder.eval()
        pictures = self.pictures[numbers[first_of(batch)]].tolist()  # P of them
        count = min(self.settings.samples, -(-len(numbers) // len(pictures)))  # K
        with torch.no_grad():
            sampled, reward, baseline = self.sample(model, memory, pictures, count)
        torch.clear_autocast_cache()  # before 2.10, casts made without gradient stay
        ended_ids = [[*ids, END] for captions in sampled for ids in captions]
        target, mask = pad(ended_ids, reward.device)
        rows = torch.arange(len(pictures), device=mask.device).repeat_interleave(count)
        again = teacher_forcing_batch(batch.source, batch.source_mask, target, mask)
        nll = likelihoods(model, again, memory.select(rows))  # (P * K, T)
        loss = ((reward - baseline).view(-1, 1) * nll).sum()
        return RewardLossOutput(
            loss, float(nll.detach().sum()), float(reward.mean()), int(mask.sum())
        )

    def sample(
        self, model: EncoderDecoder, memory: Memory, pictures: list[int], count: int
    ) -> Sampled:
        """K captions of each picture, what they are worth, and what captions of it usually are."""
        seed = int(torch.randint(2**31, ()))
        sampled = self.say(model, memory, SearchConfig(method="sample", nbest=count, seed=seed))
        reward = self.rewards(sampled, pictures).to(memory.mask.device)
        if count > 1:
            return Sampled(sampled, reward, (reward.sum(1, keepdim=True) - reward) / (count - 1))
        greedy = self.say(model, memory, SearchConfig(method="greedy"))
        return Sampled(sampled, reward, self.rewards(greedy, pictures).to(reward.device))

    def say(self, model: EncoderDecoder, memory: Memory, config: SearchConfig) -> Captions:
        """The ids of every caption of each picture, end mark left out."""
        count = len(memory.mask)
        found = search(
            model, memory, [self.settings.most] * count, list(map(str, range(count))), config
        )
        return [[caption.ids for caption in captions] for captions in found]

    def rewards(self, said: Captions, pictures: list[int]) -> Tensor:
        """The reward (P, K) of every caption of each picture."""
        texts = [[self.text(ids) for ids in captions] for captions in said]
        return torch.tensor(list(map(self.reward, texts, pictures)))

    def text(self, ids: Iterable[int]) -> str:
        """A caption as it is scored."""
        return ended(self.tokenizer.decode(ids))


def ended(caption: str) -> str:
    """A caption with a word for its end."""
    return f"{caption} {END_WORD}"


def first_of(batch: Batch) -> np.ndarray:
    """The first example (P,) of a batch that each of its pictures belongs to."""
    if batch.rows is None:
        return np.arange(len(batch.source))
    return np.unique(batch.rows.cpu().numpy(), return_index=True)[1]


def likelihoods(model: EncoderDecoder, batch: Batch, memory: Memory) -> Tensor:
    """Negative log-likelihoods (B, T) of a batch's targets; 0 where there is padding."""
    logits = model.output(model.teacher_force(batch, memory=memory).features).float()  # (B, T, Y)
    nll = -logits.log_softmax(-1).gather(-1, batch.target_out.unsqueeze(-1)).squeeze(-1)
    masked: Tensor = nll * batch.target_mask
    return masked

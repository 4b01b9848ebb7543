"""Self-critical training: captions that score better than the model's usual ones become likelier.

    gradient = -(r(w^s) - r(w^)) d log p(w^s),   w^s sampled, w^ the greedy caption
Source: Rennie et al. 2017, eq. 7; the reward r is CIDEr-D over the training captions.

The trap: without an end mark among the n-grams of the reward, captions learn to break off.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from attncli.caption_scoring import CiderReward
from attncli.data.tokens import forced
from attncli.training.material import Criticised
from models.config import SearchConfig
from models.model import EncoderDecoder
from models.search import search
from models.tokenizer import END, Tokenizer
from models.translator import padded
from models.types import Batch, Memory

END_WORD = "endofcaption"  # a word for the end mark


class SelfCritical:
    """What one batch of captioned pictures teaches by reward."""

    def __init__(
        self,
        captions: Iterable[Sequence[str]],
        pictures: np.ndarray,
        tokenizer: Tokenizer,
        most: int,
    ) -> None:
        """captions of every picture; pictures (N,) the number of each example's; most: pieces."""
        self.reward = CiderReward([ended(text) for text in texts] for texts in captions)
        self.pictures, self.tokenizer, self.most = pictures, tokenizer, most

    def __call__(self, model: EncoderDecoder, batch: Batch, numbers: np.ndarray) -> Criticised:
        """The loss of one sampled caption for each example's picture, summed over its pieces.

        In evaluation mode: what was sampled is what is learned, without dropout between.
        """
        model.eval()
        with torch.no_grad():
            memory = model.remember(batch)
            greedy = self.say(model, memory, SearchConfig(method="greedy"))
            seed = int(torch.randint(2**31, ()))
            sampled = self.say(model, memory, SearchConfig(method="sample", seed=seed))
        torch.clear_autocast_cache()  # before 2.10, casts made without gradient stay
        pictures = self.pictures[numbers].tolist()
        reward, usual = (
            torch.tensor(self.reward([self.text(ids) for ids in said], pictures))
            for said in (sampled, greedy)
        )
        target, mask = padded([[*ids, END] for ids in sampled], batch.source.device)
        again = forced(batch.source, batch.source_mask, target, mask)._replace(rows=batch.rows)
        advantage = (reward - usual).to(batch.source.device)
        nll = likelihoods(model, again)  # (B, T)
        loss = (advantage.unsqueeze(1) * nll).sum()
        return Criticised(loss, float(nll.detach().sum()), float(reward.mean()), int(mask.sum()))

    def say(
        self, model: EncoderDecoder, memory: Memory, config: SearchConfig
    ) -> list[tuple[int, ...]]:
        """The ids of a caption for each picture, end mark left out."""
        count = len(memory.mask)
        found = search(model, memory, [self.most] * count, list(map(str, range(count))), config)
        return [best.ids for best, *_ in found]

    def text(self, ids: Iterable[int]) -> str:
        """A caption as it is scored."""
        return ended(self.tokenizer.decode(ids))


def ended(caption: str) -> str:
    """A caption with a word for its end."""
    return f"{caption} {END_WORD}"


def likelihoods(model: EncoderDecoder, batch: Batch) -> Tensor:
    """Negative log-likelihoods (B, T) of a batch's targets; 0 where there is padding."""
    logits = model.output(model.force(batch).features).float()  # (B, T, Y)
    nll = -logits.log_softmax(-1).gather(-1, batch.target_out.unsqueeze(-1)).squeeze(-1)
    return nll * batch.target_mask

"""Search limited to a lexical shortlist: a few target tokens for each sentence.

    tokens of a sentence = common ones + those of each of its source tokens

The output layer then computes some hundred logits instead of the whole vocabulary. The search works
with columns, the places of tokens in the list of a sentence; PAD to END have their own numbers as
columns. Each sentence has its own list, so its output does not depend on the batch. Probabilities
sum to 1 over the list. Sources: Jean et al. 2015, section 3.3 (candidate list of a sentence); the
lexical shortlist of Marian.

A sentence with a token that the sentence pairs did not contain is searched over the whole
vocabulary, because nothing is known of its output.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.base.types import DecodingStep, Memory
from models.families.encoder_decoder import EncoderDecoder
from models.inference.search.hypotheses import Finished
from models.numerics.linear import linear
from models.numerics.packed import PackedMap, can_pack
from models.storage.shortlist import Shortlist
from models.text.tokenizer import PAD


class ListedMemory(NamedTuple):
    """Memory of B sources, and the tokens that the output of each may contain."""

    memory: Memory
    tokens: Tensor  # (B, L) token of each column: the common ones first, PAD at the end

    @property
    def mask(self) -> Tensor:
        """Mask (B, S) of the real slots."""
        return self.memory.mask


class ListedPrepared(NamedTuple):
    """Prepared memory of B sources, and the rows of the output layer for each."""

    prepared: Any
    tokens: Tensor  # (B, L) token of each column
    weight: Tensor  # (B, L - F, D) of the columns after the common ones
    bias: Tensor  # (B, L - F)

    def select(self, rows: Tensor) -> ListedPrepared:
        """Return the prepared memory of some sentences."""
        parts = (part.index_select(0, rows) for part in self[1:])
        return ListedPrepared(self.prepared.select(rows), *parts)


class ShortlistBackend:
    """A text model whose vocabulary is the shortlist of each sentence."""

    def __init__(self, model: EncoderDecoder, shortlist: Shortlist) -> None:
        device = model.output.weight.device
        self.model = model
        self.common, self.rows = shortlist.common.to(device), shortlist.rows.to(device)
        with torch.inference_mode(False), torch.no_grad():
            weight, bias = (
                part.index_select(0, self.common)
                for part in (model.output.weight, model.output.bias)
            )
        fast = can_pack(model.output)
        self.output = PackedMap(weight, bias) if fast else partial(linear, weight=weight, bias=bias)

    def encode(self, source: Tensor, mask: Tensor) -> ListedMemory:
        """Return the memory and the tokens of sources (B, S) with mask (B, S)."""
        return ListedMemory(self.model.encode(source, mask), self.tokens(source))

    def tokens(self, source: Tensor) -> Tensor:
        """Return the tokens that the outputs of sources (B, S) may contain, (B, L)."""
        rows = self.rows[source].masked_fill((source == PAD)[..., None], PAD)  # (B, S, N)
        own = distinct(rows.flatten(1))
        return torch.cat([self.common.expand(len(source), -1), own], 1)

    def start(self, memory: ListedMemory) -> tuple[ListedPrepared, Any]:
        """Return the prepared memory and the state before the first token."""
        prepared, state = self.model.start(memory.memory)
        own, output = memory.tokens[:, len(self.common) :], self.model.output
        return ListedPrepared(prepared, memory.tokens, output.weight[own], output.bias[own]), state

    def step(self, columns: Tensor, state: Any, prepared: ListedPrepared) -> DecodingStep:
        """Read one column per row, (R,); return the logits (R, L) of the next columns."""
        places = columns.view(len(prepared.tokens), -1)  # (B, K)
        tokens = prepared.tokens.gather(1, places).flatten()
        advanced = self.model.decoder.advance(tokens[:, None], state, prepared.prepared)
        features = advanced.features[:, 0]  # (R, D)
        common = self.output(features).view(*places.shape, -1)  # (B, K, F)
        queries = features.view(*places.shape, -1)
        own = torch.baddbmm(prepared.bias[:, None], queries, prepared.weight.mT)
        unused = prepared.tokens[:, None, len(self.common) :] == PAD
        own = own.masked_fill(unused, -torch.inf)  # (B, K, L - F)
        logits = torch.cat([common, own], 2).flatten(0, 1)
        return DecodingStep(logits.float(), advanced.state)


def distinct(tokens: Tensor) -> Tensor:
    """Return the distinct tokens of each row (B, N) in ascending order, padded with PAD."""
    ordered = tokens.sort(1).values
    new = ordered != PAD
    new[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    counts = new.sum(1)
    found = tokens.new_full((len(tokens), int(counts.max())), PAD)
    found[torch.arange(found.shape[1], device=tokens.device) < counts[:, None]] = ordered[new]
    return found


class TokensOfColumns:
    """Tokens of the columns of sentences, by which their outputs are restored."""

    def __init__(self) -> None:
        self.tokens: dict[int, list[int]] = {}

    def add(self, numbers: Sequence[int], memory: Memory | ListedMemory) -> None:
        """Store the tokens of the sentences of a memory, if it is limited to shortlists."""
        if isinstance(memory, ListedMemory):
            self.tokens.update(zip(numbers, memory.tokens.tolist(), strict=True))

    def restored(
        self, found: Iterable[tuple[int, list[Finished]]]
    ) -> list[tuple[int, list[Finished]]]:
        """Return numbers and outputs, with tokens in place of columns."""
        return [(number, self._outputs(number, outputs)) for number, outputs in found]

    def _outputs(self, number: int, outputs: list[Finished]) -> list[Finished]:
        tokens = self.tokens.pop(number, None)
        if tokens is None:
            return outputs
        return [one._replace(ids=tuple(tokens[column] for column in one.ids)) for one in outputs]

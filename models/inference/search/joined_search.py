"""Beam searches of several batches whose last sentences are searched together.

Few sentences of a batch have long outputs. A step for them costs nearly as much as one for many,
because most of it is fixed cost. So a search pauses when a quarter of its sentences is left, and
continues together with those of other batches that paused at the same length.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from models.config.tables import SearchConfig
from models.inference.search.backend import Backend, HasMask
from models.inference.search.beam import Beams, advance, begin
from models.inference.search.finished import FinishedBatch
from models.inference.search.hypotheses import Finished, beam_width, check_search
from models.numerics.join import join

SHARE = 4  # a search pauses when one of this number of its sentences is left
STRIDE = 4  # and its length is a multiple of this, in tokens, so that searches meet

NumberedOutputs = list[tuple[int, list[Finished]]]  # numbers of sentences, and their best outputs


class JoinedSearch:
    """Searches of several batches; each sentence has a number, by which its outputs are found."""

    def __init__(self, backend: Backend, config: SearchConfig) -> None:
        check_search(config)
        self.backend, self.config, self.width = backend, config, beam_width(config)
        self.paused: dict[int, list[Beams]] = defaultdict(list)  # by length in tokens
        self.largest = 0  # number of sentences of the largest batch

    def add(self, memory: HasMask, limits: list[int], numbers: Sequence[int]) -> NumberedOutputs:
        """Search a batch; return the outputs of the sentences that are over.

        limits: maximum output lengths in tokens, end mark included.
        """
        self.largest = max(self.largest, len(limits))
        few = len(limits) / SHARE

        def pause(beams: Beams) -> bool:
            return beams.length % STRIDE == 0 and beams.live <= few

        beams = begin(self.backend, memory, limits, numbers, self.width)
        found = advance(self.backend, beams, self.width, self.config, pause)
        self._keep(beams)
        waiting = sum(beams.live for group in self.paused.values() for beams in group)
        return found + self.finish() if waiting >= self.largest else found

    def finish(self) -> NumberedOutputs:
        """Search all sentences that are left to their end; return their outputs."""
        found: NumberedOutputs = []
        while self.paused:
            beams = joined(self.paused.pop(min(self.paused)))
            met = partial(is_as_long, length=min(self.paused, default=0))
            found += advance(self.backend, beams, self.width, self.config, met)
            self._keep(beams)
        return found

    def _keep(self, beams: Beams) -> None:
        if beams.sentences:
            self.paused[beams.length].append(beams)


def is_as_long(beams: Beams, length: int) -> bool:
    """Return True if the hypotheses have a length in tokens."""
    return beams.length == length


def joined(parts: Sequence[Beams]) -> Beams:
    """Return the beams of several batches, all of one length, as those of one batch."""
    return Beams(
        sentences=[number for part in parts for number in part.sentences],
        limits=[limit for part in parts for limit in part.limits],
        log_probs=join([part.log_probs for part in parts]),
        ids=join([part.ids for part in parts]),
        state=join([part.state for part in parts]),
        prepared=join([part.prepared for part in parts]),
        finished=FinishedBatch._make(join([part.finished for part in parts])),
    )

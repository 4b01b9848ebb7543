"""One softmax over the slots of all memories."""

from __future__ import annotations

from torch import Tensor

from models.attention.base import History, PreparedMemory
from models.attention.combinations.base import Combination, MemoryMaps
from models.attention.heads import attention, read_values
from models.base.types import AttentionOutput, Memory
from models.config import AttentionConfig


class Flat(Combination):
    """Flat: one distribution over the slots of all memories.

    a = softmax over all k, j of F(s, U^(k) h_j^(k));  c = sum_k sum_j a_j^(k) U_c^(k) h_j^(k)
    Source: Libovický and Helcl 2017, eq. 4 to 6.
    F is any score, which may map the keys once more; the paper's is additive.
    """

    def __init__(
        self, query_size: int, value_size: int, config: AttentionConfig, count: int
    ) -> None:
        super().__init__(query_size, value_size, config, count)
        self.key_maps = MemoryMaps(count, value_size, query_size)  # U
        self.value_maps = MemoryMaps(count, value_size, value_size)  # U_c
        self.attention = attention(query_size, value_size, config, key_size=query_size)

    def prepare(self, memory: Memory) -> PreparedMemory:
        """Map the slots of each memory, and prepare them as those of one."""
        return self.attention.prepare(*self._mapped(memory))

    def values(self, memory: Memory) -> Tensor:
        """Return the mapped values of each head, (B, H, S, V)."""
        return read_values(self.attention, *self._mapped(memory))

    def _mapped(self, memory: Memory) -> tuple[Memory, Tensor]:
        """Return the memory with mapped values, and its keys."""
        assert memory.part is not None
        values = self.value_maps(memory.values, memory.part)
        return memory._replace(values=values), self.key_maps(memory.values, memory.part)

    def forward(
        self, query: Tensor, prepared: PreparedMemory, history: History | None = None
    ) -> AttentionOutput:
        """Read the slots of all memories with queries (B, T, Q)."""
        return self.attention(query, prepared, history)

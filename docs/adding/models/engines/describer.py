"""A trained model that describes rows of numbers."""

import torch

from models.engines.trained import TorchModel
from models.search.beam import search

LIMIT = 9  # tokens of a text


class Describer(TorchModel):
    """Rows of numbers in, texts out."""

    source = "numbers"

    @torch.inference_mode()
    def describe(self, rows: list[list[float]]) -> list[str]:
        """Return a text for each row of numbers."""
        source = torch.tensor(rows, device=self.device)  # (B, S)
        memory = self.model.encode(source, torch.ones_like(source, dtype=torch.bool))
        count = len(rows)
        found = search(self.model, memory, [LIMIT] * count, [""] * count, self.search)
        return [self._hypothesis(best[0]).text for best in found]

"""A dev set of captioned pictures: captioned by real search, scored against all their captions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from models.captioner import Captioner

from attncli.caption_scoring import bleu4, cider
from attncli.data.caption_examples import seen
from attncli.training.config import TrainConfig
from attncli.training.events import Scores
from attncli.training.material import Heartbeat
from models.bundle import Bundle
from models.config import ModelConfig
from models.model import EncoderDecoder
from models.tokenizer import Tokenizer
from models.translator import padded
from models.types import Batch

BATCH = 64  # captions whose loss is taken at a time
PORTION = 100  # pictures captioned between two looks at whether to stop


@dataclass(frozen=True)
class DevCaptions:
    """Pictures that are captioned and scored while training."""

    table: np.ndarray  # (rows, S, V) features
    rows: np.ndarray  # (N,) of the pictures
    references: list[list[str]]  # the captions of each picture, as written
    targets: list[list[str]]  # the same, as the model is to say them

    def __len__(self) -> int:
        return len(self.rows)

    def too_long(self, tokenizer: Tokenizer, config: ModelConfig) -> int:
        """0: every picture has the size that the model takes."""
        return 0

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Every caption with its picture, those of like length together."""
        device = next(model.parameters()).device
        encoded = [
            (row, tokenizer.encode_target(caption))
            for row, captions in zip(self.rows, self.targets, strict=True)
            for caption in captions
        ]
        encoded.sort(key=lambda pair: len(pair[1]))
        for start in range(0, len(encoded), BATCH):
            rows, ids = zip(*encoded[start : start + BATCH], strict=True)
            target, mask = padded(list(ids), torch.device("cpu"))
            batch = seen(self.table, np.array(rows), (target, mask))
            yield Batch(*(part.to(device) for part in batch))

    def outputs(self, bundle: Bundle, device: str, beat: Heartbeat) -> list[str]:
        """Captions in order."""
        captioner, found = Captioner(bundle, device), []
        for start in range(0, len(self), PORTION):
            beat(start / len(self))
            rows = self.rows[start : start + PORTION]
            features = torch.from_numpy(self.table[rows]).float()
            found += [caption.text for caption in captioner.caption(list(features))]
        return found

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """BLEU-4 and CIDEr-D against all captions of a picture, beside the loss."""
        return Scores(loss, bleu4(outputs, self.references), cider(outputs, self.references))

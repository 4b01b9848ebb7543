"""A third kind of input for a test: rows of three numbers, one slot each, and a text as output.

This file holds the family, the kind of input, the training source, its examples and its dev set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from attncli.data.tokens import Dropped
from attncli.scoring.sequences import exact_match
from attncli.training.config import RunConfig, TrainConfig
from attncli.training.data import Data, Prepared, Progress, Report
from attncli.training.events import Scores
from attncli.training.sources.base import TrainingSource
from models.bundle import Bundle
from models.config import ModelConfig, SearchConfig, TokenizerConfig
from models.decoders.rnn import RnnDecoder
from models.files import write_folder
from models.inference.search import search
from models.layers import Embedding
from models.model import EncoderDecoder, Output
from models.sources.base import Source
from models.tokenizer import START, Tokenizer
from models.tokenizer import train as train_tokenizer
from models.types import Batch, Memory, VocabularySizes

SLOTS = 3


class NumberEncoder(nn.Module):
    """Each number and its place become one slot."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.project = nn.Linear(1, size)
        self.place = nn.Parameter(torch.randn(SLOTS, size))
        self.mix = nn.Linear(SLOTS, size)

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        values = torch.tanh(self.project(source.unsqueeze(-1)) + self.place)  # (B, S, V)
        return Memory(values, mask, torch.tanh(self.mix(source)))


class NumberModel(EncoderDecoder):
    """Texts about rows of numbers."""

    source = "numbers"

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
        target, size = Embedding(sizes.target, config.embedding), config.hidden
        decoder = RnnDecoder(target, config, value_size=size, final_size=size)
        output = Output(sizes.target, config.embedding, None)
        super().__init__(config, NumberEncoder(size), decoder, output)


class NumberSource(Source):
    """Rows of numbers."""

    task = "describe"
    ability = "describes numbers"

    def vocabulary(self, sizes: VocabularySizes) -> VocabularySizes:
        return VocabularySizes(0, sizes.target, False)


@dataclass(frozen=True)
class NumberTexts:
    """Rows of numbers and their texts: training examples and dev set in one."""

    numbers: np.ndarray  # (N, SLOTS)
    texts: list[str]
    tokenizer: Tokenizer

    shared = None

    @property
    def count(self) -> int:
        return len(self.texts)

    def __len__(self) -> int:
        return self.count

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        ids = [len(self.tokenizer.encode_target(text)) for text in self.texts]
        return np.zeros(self.count, np.int64), np.array(ids)

    def at(self, epoch: int) -> NumberTexts:
        return self

    def batch(self, numbers: np.ndarray) -> Batch:
        ids = [torch.tensor(self.tokenizer.encode_target(self.texts[n])) for n in numbers]
        out = nn.utils.rnn.pad_sequence(ids, batch_first=True)  # (B, T)
        target_in = torch.cat([torch.full_like(out[:, :1], START), out[:, :-1]], 1)
        real = torch.arange(out.shape[1]) < torch.tensor([len(i) for i in ids])[:, None]
        source = torch.tensor(self.numbers[numbers]).float()
        return Batch(source, torch.ones_like(source, dtype=torch.bool), target_in, out, real)

    def default_metric(self) -> str:
        return "exact"

    def too_long(self, tokenizer: Tokenizer, config: ModelConfig) -> int:
        return 0

    def encoded_by(self, model: EncoderDecoder, report: Report) -> NumberTexts:
        return self

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        yield self.batch(np.arange(self.count))

    @torch.inference_mode()
    def outputs(self, bundle: Bundle, device: str, report: Report) -> list[str]:
        batch, model = self.batch(np.arange(self.count)), bundle.model.eval()
        memory = model.encode(batch.source, batch.source_mask)
        found = search(model, memory, [9] * self.count, [""] * self.count, SearchConfig(beam=2))
        return [self.tokenizer.decode(best[0].ids) for best in found]

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        return Scores(loss, exact=exact_match(outputs, [[text] for text in self.texts]))


class NumberTraining(TrainingSource):
    """Rows `a b c TAB text` of a file."""

    unit = "rows"
    length_limits = "data.max_length"
    demo_name = "numbers"
    embedded = "no data"
    default_preset = "rnnsearch-nano"
    example_input = "attn describe"

    def fingerprints(self, config: RunConfig) -> dict[str, str]:
        return {"train": Path(config.data.train[0]).read_text()}

    def load(self, config: RunConfig, folder: Path, progress: Progress) -> Data:
        def read(path: str) -> tuple[np.ndarray, list[str]]:
            rows = [line.split("\t") for line in Path(path).read_text().splitlines()]
            return np.array([row[0].split() for row in rows], float), [row[1] for row in rows]

        numbers, texts = read(config.data.train[0])
        tokenizer = train_tokenizer(texts, [], 290, TokenizerConfig())
        if not (folder / "data").exists():
            write_folder(folder / "data", lambda part: None)
        examples = NumberTexts(numbers, texts, tokenizer)
        dev = NumberTexts(*read(config.data.dev[0]), tokenizer)
        return Data(Prepared(tokenizer, examples, Dropped(0, 0)), dev)

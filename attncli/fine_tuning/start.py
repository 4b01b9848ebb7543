"""The start from a trained model: its weights, and what the run must keep of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from attncli.fine_tuning import _retention as retention
from attncli.train.folder import RunFolder
from attncli.train.run import Run
from attncli.training.config import RunConfig
from attncli.training.interfaces import Compared, Report
from attncli.training.start import Start
from models.core.config import ImageModelConfig
from models.core.errors import ModelError
from models.core.settings import from_dict
from models.core.types import VocabularySizes
from models.core.use_config import TokenizerConfig
from models.networks.bundle import build
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.image_encoder import ImageEncoder
from models.storage.settings import read_model, read_settings
from models.storage.weights import fill_from
from models.text.tokenizer import Tokenizer, new_parts, read_tokenizer


class ModelStart(Start):
    """The weights of a trained model, whose tokens come first in the vocabulary of the run."""

    def __init__(self, start_from: str) -> None:
        self.folder = Path(start_from)

    def check(self, config: RunConfig) -> None:
        """Raise ModelError for settings that do not fit the initial model, before data are read."""
        folder, settings = self.folder, read_settings(self.folder)
        stored = from_dict(TokenizerConfig, settings["tokenizer"], where="tokenizer")
        if replace(config.tokenizer, directions=stored.directions, model=()) != stored:
            raise ModelError(
                f"[tokenizer] settings that differ from those of the initial model {folder}",
                "no such settings: the vocabulary comes from that model",
            )
        weights = image_weights(config.model)
        if image_weights(read_model(settings)) != weights:
            raise ModelError(
                f"model.image.weights={weights} with the initial model {folder}",
                "no such setting: the image network comes from that model",
                "unfreeze it with -s train.encoder_from=1",
            )
        with torch.device("meta"):  # compares names and shapes; allocates nothing
            model = build(config.model, VocabularySizes(**settings["vocabulary"]))
            fill_from(model, folder)

    def fill(self, model: EncoderDecoder, tokenizer: Tokenizer) -> None:
        """Fill a new model; what belongs to new tokens keeps its random weights."""
        old = read_tokenizer(self.folder)
        is_known = old.files() == tokenizer.files()
        fill_from(model, self.folder, parts=() if is_known else new_parts(old, tokenizer))

    def fill_encoder(self, encoder: ImageEncoder, name: str) -> None:
        """Fill an encoder alone; name: of the encoder in the model, such as encoder.image."""
        whole: nn.Module = encoder
        for part in reversed(name.split(".")):
            outer = nn.Module()
            outer.add_module(part, whole)
            whole = outer
        fill_from(whole, self.folder, others=True)

    def compared(self, run: Run, report: Report) -> Compared | None:
        """Mix the final weights with the initial ones; return what was learned and forgotten."""
        return retention.compared(run, report)

    def is_compared(self, folder: Path, step: int) -> bool:
        """Return True unless a finished run was interrupted before its comparison."""
        return retention.is_compared(RunFolder(folder), step)

    def compared_outputs(self, dev: int, replay: int) -> int:
        """Return how many outputs the comparison computes: two shares, tried and final, of each."""
        return 4 * (min(dev, retention.MEASURED) + replay)


def image_weights(model: Any) -> str:
    """Return the setting of the image network's weights; "" for a model without one."""
    return model.image.weights if isinstance(model, ImageModelConfig) else ""

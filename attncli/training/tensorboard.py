"""The records of a run for TensorBoard, where it is installed and asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from models.errors import ModelError

SHOWN = ("loss", "nll", "lr", "norm", "tokens_per_second", "bleu")


class TensorBoardLog:
    """Writes TensorBoard's event files into a folder."""

    def __init__(self, folder: Path, step: int) -> None:
        """Go on after update `step`; what an interrupted run wrote beyond it is not shown."""
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise ModelError(
                "train.tensorboard is true and TensorBoard is not installed",
                "the package tensorboard",
                "pip install 'attn[tensorboard]', or set train.tensorboard=false",
            ) from None
        self.writer = SummaryWriter(str(folder), purge_step=step + 1)

    def write(self, event: str, record: dict[str, Any]) -> None:
        """Progress the numbers of a record that belongs to an update."""
        for name in SHOWN:
            if "step" in record and record.get(name) is not None:
                self.writer.add_scalar(f"{event}/{name}", record[name], record["step"])

    def flush(self) -> None:
        """Bring what was written to the files."""
        self.writer.flush()

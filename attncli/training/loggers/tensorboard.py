"""TensorBoard: event files in tensorboard/ of the run folder."""

from __future__ import annotations

from typing import Any

from attncli.training.loggers import LoggedRun, numbers


class TensorBoardLogger:
    """Event files of TensorBoard."""

    def __init__(self, run: LoggedRun) -> None:
        """Continue after the run's update; later records of an interrupted run are hidden."""
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(run.folder / "tensorboard"), purge_step=run.step + 1)

    def write(self, event: str, record: dict[str, Any]) -> None:
        """Write the numbers of a record that belongs to an update."""
        for name, value in numbers(event, record).items():
            self.writer.add_scalar(name, value, record["step"])
        self.writer.flush()

    def close(self) -> None:
        """Close the event files."""
        self.writer.close()

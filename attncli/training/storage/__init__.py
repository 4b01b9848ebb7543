"""The run folder: checkpoints, log, lock, prepared data."""

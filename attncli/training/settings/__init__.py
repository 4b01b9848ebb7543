"""Settings of a training run."""

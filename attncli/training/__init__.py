"""Training: settings, data, the loop, evaluation and the run folder."""

"""Translation: input, run, outputs, scores."""

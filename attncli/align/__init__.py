"""Word alignment: input, run, outputs, scores."""

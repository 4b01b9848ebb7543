"""Classification of text: input, run, outputs, scores."""

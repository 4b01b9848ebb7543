"""Captioning of images: input, run, outputs, scores."""

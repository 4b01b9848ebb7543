"""Word alignment learned from sentence pairs alone: hidden Markov models, and their tables."""

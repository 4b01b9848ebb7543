"""Scores of translations, captions, labels and alignments."""

"""Scores of translations, captions and alignments, and the comparison of variants."""

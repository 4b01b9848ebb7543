"""Alignments and coloured words as text, data and pictures."""

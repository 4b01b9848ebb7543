"""Alignments as text, data and pictures: one writer for each format."""

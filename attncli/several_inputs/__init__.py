"""Annex: rows of several inputs in training."""

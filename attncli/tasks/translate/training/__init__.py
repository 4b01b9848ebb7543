"""Sentence pairs as training data."""

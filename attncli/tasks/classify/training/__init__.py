"""Labelled texts as training data."""

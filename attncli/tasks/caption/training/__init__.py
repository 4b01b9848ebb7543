"""Captioned images as training data."""

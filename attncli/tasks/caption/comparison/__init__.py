"""Comparison of captioners."""

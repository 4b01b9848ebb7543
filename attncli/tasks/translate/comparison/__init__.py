"""Comparison of translators."""

"""Encoders: source to Memory."""

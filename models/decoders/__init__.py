"""Decoders: start, advance, project."""

"""Errors, files, limits, registries and types: imports nothing of the other rooms."""

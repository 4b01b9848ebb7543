"""Errors, files, limits, registries, types, settings: imports nothing of the other rooms."""

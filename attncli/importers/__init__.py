"""Annex: what the import of a public model chooses."""

"""Annex: experiment trackers of other programs."""

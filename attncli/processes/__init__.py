"""Annex: a training in several processes, of one machine or of several."""

"""Annex: training that starts from a trained model."""

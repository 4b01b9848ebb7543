"""Outputs of translation: rows, scores, checks of suspicious outputs."""

"""Inference: batching, search, and models in use (translator, captioner)."""

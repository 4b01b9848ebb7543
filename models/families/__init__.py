"""Families: each builds an EncoderDecoder from a ModelConfig."""

"""Families: configuration to EncoderDecoder."""

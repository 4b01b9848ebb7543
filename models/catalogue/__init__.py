"""Presets and installed models."""

"""Annex: recordings, models that transcribe them, and Whisper."""

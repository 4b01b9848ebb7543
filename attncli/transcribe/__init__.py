"""Transcription of recordings: input, run, outputs, scores."""

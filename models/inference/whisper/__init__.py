"""Whisper in use: windows of 30 s, its prompt, and the rules of its outputs."""

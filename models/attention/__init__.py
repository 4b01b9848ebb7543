"""Attention: Read(Normalise(Window(Score(query, keys))), values)."""

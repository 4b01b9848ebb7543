"""Faithful translation: the plan of a line, its protected parts, its tags, the checks of outputs."""

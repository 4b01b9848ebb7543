"""Faithful translation: the plan of a line, its protected parts and tags, and the checks."""

"""Explaining outputs: the command, its inputs, its run and its writers."""

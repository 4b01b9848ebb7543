"""Texts about rows of numbers: command, training, evaluation and comparison."""

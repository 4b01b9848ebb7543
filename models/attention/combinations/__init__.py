"""Combinations of several memories: how a decoder attends to more than one input."""

"""Combinations of several memories: how a recurrent decoder attends to more than one input."""

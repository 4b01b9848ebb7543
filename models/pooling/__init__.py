"""Poolings: a memory of many slots to one vector, from which a classifier predicts its label."""

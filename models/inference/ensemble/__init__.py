"""Ensembles: several models that search together."""

"""Annex: models that read rows of several inputs."""

"""Importers: models that others published, as ordinary bundles. One file per format.

base.py         the interface; a folder or a zip archive as a bundle, tensor by tensor
_weights.py     published weights: safetensors, PyTorch, NumPy, CTranslate2

A model is a folder as its publisher distributes it. An importer maps names and settings onto a
family that exists; it refuses what it does not know. Nothing is unpickled.
"""

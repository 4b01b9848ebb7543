"""Importers: models that others published, as ordinary bundles. One file per format.

published.py    a folder or a zip archive as a bundle
base.py         the interface, and the writing of the bundle, tensor by tensor
vocabulary.py   published vocabularies as SentencePiece models with the ids of this program
weights.py      published weights: safetensors, PyTorch, NumPy, CTranslate2

A model is a folder as its publisher distributes it. An importer maps names and settings onto a
family that exists; it refuses what it does not know. Nothing is unpickled.
"""

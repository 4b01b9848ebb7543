"""Drawn scenes with captions that know where each of their nouns is."""

from attncli.embedded.scenes.drawing import png
from attncli.embedded.scenes.grammar import Box, Scene, Splits, Thing, generate, split

__all__ = ["Box", "Scene", "Splits", "Thing", "generate", "png", "split"]

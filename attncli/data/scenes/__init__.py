"""Drawn scenes with captions that know where each of their nouns is."""

from attncli.data.scenes.drawing import png
from attncli.data.scenes.grammar import Box, Scene, Splits, Thing, generate, split

__all__ = ["Box", "Scene", "Splits", "Thing", "generate", "png", "split"]

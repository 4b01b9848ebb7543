"""Generated images of scenes, with captions and the position of every thing they name."""

from attncli.embedded.scenes.drawing import png
from attncli.embedded.scenes.grammar import Box, Scene, Splits, Thing, generate, split

__all__ = ["Box", "Scene", "Splits", "Thing", "generate", "png", "split"]

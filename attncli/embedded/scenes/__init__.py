"""Generated images of scenes, with captions and the position of every thing they name."""

from attncli.embedded.scenes.drawing import png
from attncli.embedded.scenes.grammar import Box, Scene, SceneSplits, Thing, generate, split

__all__ = ["Box", "Scene", "SceneSplits", "Thing", "generate", "png", "split"]

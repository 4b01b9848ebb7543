"""Generated images of scenes, with captions and the position of every thing they name."""

from attncli.embedded.scenes.drawing import png
from attncli.embedded.scenes.grammar import Scene, SceneSplits, generate, split

__all__ = ["Scene", "SceneSplits", "generate", "png", "split"]

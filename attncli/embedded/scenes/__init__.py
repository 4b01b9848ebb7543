"""Generated images of scenes, with captions and the position of every thing they name."""

from attncli.embedded.scenes.drawing import png
from attncli.embedded.scenes.grammar import Scene, generate, split

__all__ = ["Scene", "generate", "png", "split"]

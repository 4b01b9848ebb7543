"""`attn tokens`: how a model splits text."""

from pathlib import Path
from typing import Annotated

import typer


def tokens(
    text: Annotated[list[str], typer.Argument(help="Text to split.")],
    model: Annotated[Path, typer.Option("-m", "--model", help="Folder of a run or bundle.")],
) -> None:
    """Print the tokens of each text, separated by spaces.

    Example:
      attn tokens -m runs/demo "The dog sees."
    """
    from models import load

    tokenizer = load(model, "translate").tokenizer
    for line in text:
        print(" ".join(tokenizer.pieces(tokenizer.encode(line))))

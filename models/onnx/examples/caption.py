"""Caption images with the graphs of this folder.

    python example.py dog.jpg

Besides the caption, it prints row and column of the cell that each token attends to most.
Needs onnxruntime, numpy, sentencepiece and Pillow.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import sentencepiece
from greedy import CONFIG, FOLDER, GreedySearch
from PIL import Image, ImageOps


def pixels(path: Path) -> numpy.ndarray:
    """Return the pixels (3, size, size) of an image, from 0 to 1."""
    image, size = CONFIG["image"], (CONFIG["image"]["size"],) * 2
    with Image.open(path) as opened:
        upright = ImageOps.exif_transpose(opened).convert("RGB")
    if image["fit"] == "crop":
        square = ImageOps.fit(upright, size, Image.Resampling.BILINEAR)
    else:
        square = upright.resize(size, Image.Resampling.BILINEAR)
    return numpy.asarray(square, numpy.float32).transpose(2, 0, 1) / 255


def main() -> None:
    """Caption the images of the command line."""
    target = sentencepiece.SentencePieceProcessor(str(FOLDER / CONFIG["tokenizer"]["target"]))
    images = numpy.stack([pixels(Path(name)) for name in sys.argv[1:]])
    limits = [CONFIG["max_output"]["most"]] * len(images)
    for output in GreedySearch()({"pixels": images}, limits):
        print(target.decode(output.ids).strip())
        for number, weights in zip(output.ids, output.attention, strict=True):
            row, column = divmod(int(weights.argmax()), CONFIG["grid"][1])
            print(f"  {target.id_to_piece(number)}\t{row}, {column}\t{weights.max():.2f}")


if __name__ == "__main__":
    main()

"""Write a model for another program."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Literal

from models.inference.ctranslate2.engines import ExportPrecision

Program = Literal["ctranslate2", "onnx"]
EXPORTERS: dict[Program, str] = {  # modules whose `export` writes a bundle into a new folder
    "ctranslate2": "models.inference.ctranslate2.export",
    "onnx": "models.onnx.export",
}


def export(bundle: Path, folder: Path, to: Program, precision: ExportPrecision) -> None:
    """Write the model of a bundle into a new folder.

    Raises ModelError if the folder exists, or the model cannot be written for the program.
    """
    importlib.import_module(EXPORTERS[to]).export(bundle, folder, precision)

"""Engines that search the outputs of a text model. No torch.

torch         every family, search method and device; attention weights; fp32
ctranslate2   text Transformers on the processor, beam or greedy search; fp32 or int8
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from models.base.settings import from_dict
from models.config import NO_COPY, ModelConfig
from models.inference.ctranslate2.translator import MOST_POSITIONS, imported
from models.storage.settings import family_of, read_settings
from models.use_config import SearchConfig

Engine = Literal["auto", "torch", "ctranslate2"]
ComputePrecision = Literal["fp32", "int8"]  # int8: ctranslate2


def obstacle(folder: Path, search: SearchConfig, device: str = "auto") -> str:
    """Return why CTranslate2 cannot run a model, for a message; "" if it can.

    search: settings of the search. device: as in `attn translate --device`.
    """
    if reason := unsuitable(folder):
        return reason
    if search.method == "sample":
        return "search.method=sample"
    if device not in ("auto", "cpu"):
        return f"--device {device}"
    return _missing_library(gpu=device == "auto")


def unsuitable(folder: Path) -> str:
    """Return why the model of a bundle cannot be converted for CTranslate2; "" if it can."""
    settings = read_settings(folder)
    if family_of(settings) != "transformer":
        return f"a model of family {family_of(settings)}"
    config = from_dict(ModelConfig, settings["model"], where="model")
    if config.position not in ("sinusoidal", "sinusoidal_2017", "learned"):
        return f"positions of kind {config.position}"
    if config.copy != NO_COPY:
        return f"copying of kind {config.copy}"
    if config.mixing != "attention":
        return f"mixing of kind {config.mixing}"
    for table in ("attention", "self_attention"):
        own = getattr(config, table)
        if own not in (type(own)(), type(own)(score="scaled_dot")):
            return f"settings of model.{table}"
    if config.output_transform:
        return "an output layer with a transformation"
    if not config.encoder_layers or config.max_source > MOST_POSITIONS or settings.get("shared"):
        return "a model of unusual settings"
    return ""


def _missing_library(*, gpu: bool) -> str:
    """Return why the library cannot be used. gpu: True if a GPU is preferred to it."""
    try:
        library = imported()
    except (ImportError, OSError) as error:
        return f"no usable library ({error})"
    if not hasattr(library, "Translator"):
        return "no usable library (its compiled part is missing)"
    return "a GPU, which torch uses" if gpu and library.get_cuda_device_count() else ""

"""torchvision where its compiled part does not fit: beside a torch for CPUs only, say.

There `import torchvision` ends in "operator torchvision::nms does not exist". Image networks need
no such operator; its name is enough.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import torch

OPERATORS = {
    "nms": "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}
_libraries: list[torch.library.Library] = []  # the names go when these go


def torchvision_models() -> Any:
    """The module `torchvision.models`, imported with made-up operators where it must be."""
    try:
        return importlib.import_module("torchvision.models")
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]  # what was imported halfway
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name, schema in OPERATORS.items():
        if not hasattr(torch.ops.torchvision, name):
            library.define(schema)
    _libraries.append(library)
    return importlib.import_module("torchvision.models")

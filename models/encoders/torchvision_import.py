"""Import of torchvision when its compiled operators do not match torch, as in a CPU-only build.

There `import torchvision` fails with "operator torchvision::nms does not exist". Image networks do
not call this operator, so declaring its name is enough.
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
_libraries: list[torch.library.Library] = []  # kept alive, because the declared names end with them


def torchvision_models() -> Any:
    """Import `torchvision.models`; declare the missing operators if the import fails."""
    try:
        return importlib.import_module("torchvision.models")
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]  # partially imported modules
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name, schema in OPERATORS.items():
        if not hasattr(torch.ops.torchvision, name):
            library.define(schema)
    _libraries.append(library)
    return importlib.import_module("torchvision.models")

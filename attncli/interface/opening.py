"""`attncli.load`: a trained model by its name or folder. torch is imported when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from models.catalogue.installed import find_model
from models.storage.settings import task_of

if TYPE_CHECKING:
    from attncli.interface.captioner import Captioner
    from attncli.interface.classifier import Classifier
    from attncli.interface.translator import Translator


def load(model: str | Path, *, device: str = "cpu") -> Translator | Captioner | Classifier:
    """Open a trained model, given by its folder or its name (`attn models` lists the names).

    Return a Translator, Captioner or Classifier, as the model requires. device: cpu, cuda or mps.
    Raises NotFoundError if there is no such model, and DamagedError if it cannot be read.
    """
    path = find_model(model)
    task = task_of(path)
    if task == "caption":
        from attncli.interface.captioner import Captioner

        return Captioner.read(path, device=device)
    if task == "classify":
        from attncli.interface.classifier import Classifier

        return Classifier.read(path, device=device)
    from attncli.interface.translator import Translator

    return Translator.read(path, device=device)

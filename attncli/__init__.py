"""The command line of attn, and the models for Python: `attncli.load` opens a trained model."""

from attncli.own_models import import_own_models
from attncli.version import __version__

import_own_models()

from attncli.interface.opening import load  # noqa: E402  (after our own `models` is imported)
from models import ModelError  # noqa: E402

__all__ = ["ModelError", "__version__", "load"]

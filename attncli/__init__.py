"""The command line of attn; `from attncli import load` opens a trained model in any folder."""

from attncli.own_models import import_own_models

import_own_models()

from models import ModelError, load  # noqa: E402  (our own `models`, by the line before)

__version__ = "0.1.0"
__all__ = ["ModelError", "__version__", "load"]

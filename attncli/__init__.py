"""The command line of attn, and the models for Python: `attncli.load` opens a trained model.

`models` is a common name for a folder. `python -m attncli`, `python -c` and notebooks search the
current folder first, so a folder `models` there would hide the package of attn. Therefore attncli
imports the package `models` that was installed together with it.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

OWN = Path(__file__).resolve().parent.parent / "models" / "__init__.py"


def import_own_models() -> None:
    """Make `import models` return the package beside attncli, whatever the current folder holds.

    Raise ImportError if another package `models` is imported already: Python keeps one per name.
    """
    if loaded := sys.modules.get("models"):
        if Path(loaded.__file__ or "").resolve() != OWN:
            raise ImportError(
                f"{loaded} was imported before attncli, which needs {OWN.parent}: import attncli "
                "first, or rename the other package"
            )
        return
    places = [str(OWN.parent)]
    spec = spec_from_file_location("models", OWN, submodule_search_locations=places)
    assert spec and spec.loader
    sys.modules["models"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["models"])


import_own_models()

from attncli.interface import load  # noqa: E402  (after our own `models` is imported)
from attncli.version import __version__  # noqa: E402
from models import ModelError  # noqa: E402

__all__ = ["ModelError", "__version__", "load"]

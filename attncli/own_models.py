"""Import of the package `models` that was installed together with attncli.

`models` is a common name for a folder. `python -m attncli`, `python -c` and notebooks search the
current folder first, so a folder `models` there would hide the package of attn.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

OWN = Path(__file__).resolve().parent.parent / "models" / "__init__.py"


def import_own_models() -> None:
    """Make `import models` return the package beside attncli, whatever the current folder holds.

    Raise ImportError if another package `models` is imported already: Python keeps one per name.
    """
    loaded = sys.modules.get("models")
    if loaded is not None:
        if not is_own(getattr(loaded, "__file__", None)):
            raise ImportError(foreign(loaded))
        return
    spec = importlib.util.find_spec("models")
    if spec is None or not is_own(spec.origin):
        load_own_models()


def is_own(file: str | None) -> bool:
    """Return True if this is the file of the package beside attncli."""
    return file is not None and Path(file).resolve() == OWN


def load_own_models() -> None:
    """Import the package beside attncli by its path."""
    spec = importlib.util.spec_from_file_location(
        "models", OWN, submodule_search_locations=[str(OWN.parent)]
    )
    if spec is None or spec.loader is None or not OWN.exists():
        raise ImportError(f"no package models at {OWN.parent}: install attn again")
    module = importlib.util.module_from_spec(spec)
    sys.modules["models"] = module
    spec.loader.exec_module(module)


def foreign(loaded: object) -> str:
    """Return one line that names the package that is in the way."""
    path = getattr(loaded, "__file__", None) or list(getattr(loaded, "__path__", ["?"]))[0]
    return (
        f"the package 'models' imported before attncli is {path}, attn needs {OWN.parent}: "
        "import attncli first, or rename the other package"
    )

"""Import of the package `models` that was installed together with attncli.

`models` is a common name for a folder. `python -m attncli`, `python -c` and notebooks search the
current folder first, so a folder `models` there would hide the package of attn.
"""

from __future__ import annotations

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

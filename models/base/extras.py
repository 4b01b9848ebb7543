"""Optional packages: the command that installs those of an extra, in any kind of installation."""

from __future__ import annotations

import shlex
from importlib.metadata import PackageNotFoundError, requires


def install_command(extra: str) -> str:
    """Return `pip install` with the packages of an extra of attn, such as serve.

    The name attn is not used: no index has this program, and another one could take the name.
    """
    try:
        declared = requires("attn") or []
    except PackageNotFoundError:
        declared = []
    parts = [line.partition(";") for line in declared]
    packages = [
        name.strip()
        for name, _, marker in parts
        if f'extra == "{extra}"' in marker.replace("'", '"')
    ]
    if not packages:
        return f"pip install '.[{extra}]' in the folder of attn"
    return f"pip install {shlex.join(packages)}"

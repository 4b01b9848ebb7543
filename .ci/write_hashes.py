"""Write hashes.txt: the SHA-256 of every file that the pinned packages may be installed from.

    python .ci/write_hashes.py UV

UV is the program `uv`, which asks the package index. The CUDA libraries are left out, because only
PyTorch's CUDA build needs them. Run it whenever constraints.txt changes.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HASHES = ROOT / "hashes.txt"
HEAD = """\
# Written by .ci/write_hashes.py. `make install-checked` installs these files and no others:
# of other contents, pip refuses every one.
"""
CUDA = ("cuda-bindings", "cuda-pathfinder", "cuda-toolkit", "triton")
# Builds of PyTorch for processors come from an index of their own, not from PyPI.
PROCESSOR_BUILDS = {
    "torch": ("6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",)  # 2.13.0, 3.11
}
REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)==\S+[^\n]*(?:\n[ ]+--hash=[^\n]*)+\n", re.MULTILINE)


def main() -> None:
    """Ask uv for the hashes and write the file."""
    listed = subprocess.run(
        [
            *(sys.argv[1], "pip", "compile", "pyproject.toml", "--extra", "dev"),
            *("--constraint", "constraints.txt", "--python-version", "3.10", "--universal"),
            *("--generate-hashes", "--no-annotate", "--no-header", "--quiet"),
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    HASHES.write_text(HEAD + "".join(map(entry, REQUIREMENT.finditer(listed))), "utf-8")


def entry(found: re.Match[str]) -> str:
    """Return the lines of one package; nothing for a CUDA library."""
    name = found[1]
    if name in CUDA or name.startswith("nvidia-"):
        return ""
    more = (f" \\\n    --hash=sha256:{one}" for one in PROCESSOR_BUILDS.get(name, ()))
    return found[0].rstrip("\n") + "".join(more) + "\n"


if __name__ == "__main__":
    main()

"""Commands are read without torch: it is imported inside the functions that need it."""

from __future__ import annotations

import subprocess
import sys

from attncli.shell.app import COMMANDS


def test_no_command_imports_torch_before_it_is_called() -> None:
    places = [place.partition(":")[0] for place in COMMANDS.values()]
    code = (
        "import sys, importlib\n"
        f"for name in {sorted(set(places))}:\n"
        "    importlib.import_module(name)\n"
        "    assert 'torch' not in sys.modules, name\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

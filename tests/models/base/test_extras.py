"""The command that installs the packages of an extra."""

from __future__ import annotations

from importlib import metadata

import pytest

from models.core import errors


def test_it_names_packages_and_never_the_program_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = ['ray[data]>=2.40; extra == "ray"', 'uvicorn>=0.34; extra == "serve"', "numpy"]
    monkeypatch.setattr(metadata, "requires", lambda name: declared)
    assert errors.install_command("ray") == "pip install 'ray[data]>=2.40'"
    assert errors.install_command("none") == "pip install '.[none]' in the folder of attn"

    def missing(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)
    assert errors.install_command("ray") == "pip install '.[ray]' in the folder of attn"

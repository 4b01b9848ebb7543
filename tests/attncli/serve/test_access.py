"""Names of the service, and keys."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette")

from attncli.serve.access import Hosts, Keys
from attncli.serve.options import ServeOptions
from models.base.errors import ModelError


@pytest.mark.parametrize(
    "options, host, allowed",
    [
        ({}, "127.0.0.1:5055", True),
        ({}, "localhost", True),
        ({}, "LOCALHOST:80", True),
        ({}, "[::1]:5055", True),
        ({}, "attn.localhost:5055", True),
        ({}, "evil.example", False),
        ({}, "127.0.0.1.evil.example", False),
        ({}, "192.168.1.5:5055", False),
        ({}, "", False),
        ({"host": "0.0.0.0"}, "192.168.1.5:5055", True),
        ({"host": "0.0.0.0"}, "evil.example", False),
        ({"allow_hosts": ("attn.example",)}, "attn.example:443", True),
        ({"allow_hosts": ("*",)}, "evil.example", True),
        ({"socket": "s"}, "attn.example", True),
    ],
)
def test_only_names_of_the_service_are_allowed(
    options: dict[str, object], host: str, allowed: bool
) -> None:
    assert Hosts(ServeOptions(**options)).allows(host) is allowed  # type: ignore[arg-type]


def test_a_file_without_keys_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("# none\n")
    for path in (tmp_path / "empty", tmp_path / "missing"):
        with pytest.raises(ModelError):
            Keys(path)

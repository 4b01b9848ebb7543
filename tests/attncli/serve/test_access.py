"""Names of the service, and keys."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette")

from attncli.serve.access import Hosts, Keys, Origins
from attncli.serve.options import ServeOptions
from models.core.errors import ModelError
from tests.attncli.command_line import Attn


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
        ({}, "127.0.0.1:5601@evil.example", False),
        ({}, "[::1].evil", False),
        ({}, "127.0.0.1:80:80", False),
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


@pytest.mark.parametrize(
    "allowed, headers, granted",
    [
        ((), {}, ""),
        ((), {"origin": "http://localhost:5055"}, "http://localhost:5055"),
        ((), {"origin": "http://localhost:8000"}, None),
        ((), {"origin": "null"}, None),
        ((), {"origin": "https://localhost:5055.evil.example"}, None),
        (
            (),
            {"origin": "https://proxy.example", "sec-fetch-site": "same-origin"},
            "https://proxy.example",
        ),
        ((), {"origin": "chrome-extension://abc"}, "chrome-extension://abc"),
        ((), {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, None),
        ((), {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, ""),
        (("https://a.example",), {"origin": "https://a.example"}, "https://a.example"),
        (("https://a.example",), {"origin": "https://b.example"}, None),
        (("*",), {"origin": "null"}, "*"),
    ],
)
def test_pages_of_other_sites_need_permission(
    allowed: tuple[str, ...], headers: dict[str, str], granted: str | None
) -> None:
    given = {"host": "localhost:5055", **headers}
    assert Origins(ServeOptions(allow_origins=allowed)).granted(given) == granted


def test_a_file_without_keys_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("# none\n")
    for path in (tmp_path / "empty", tmp_path / "missing"):
        with pytest.raises(ModelError):
            Keys(path)


def test_other_machines_get_an_address_and_a_warning_without_keys(attn: Attn) -> None:
    from attncli.serve.process import lines_about_others

    assert not lines_about_others(ServeOptions())
    address, warning = lines_about_others(ServeOptions(host="0.0.0.0", port=5))
    assert address.endswith(":5") and "0.0.0.0" not in address and "--new-key" in warning
    keys = attn("serve", "--new-key").out + attn("serve", "--new-key").out
    assert len(set(keys.split())) == 2 and min(map(len, keys.split())) > 30
    assert len(lines_about_others(ServeOptions(host="0.0.0.0", api_keys=Path("k")))) == 1

"""Models are packed into one file, installed, listed, verified and removed."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from attncli.jobs import installed as jobs
from attncli.jobs.installed import Packing, add, pack
from attncli.translate.engine import TranslateOptions
from attncli.translate.runner import TranslateRunner
from models import load_captioner, load_translator
from models.core.errors import ModelError
from models.storage import installed
from models.storage.archive import About, read_facts
from tests.attncli.command_line import Attn

TEXTS = ["The old dog sees a house.", "He sleeps."]


@pytest.fixture(autouse=True)
def spots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No models but those of a test; the user folder is empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(installed, "BOX", tmp_path / "box")
    return tmp_path / "data" / "attn" / "models"


@pytest.fixture
def packed(tiny_bundle: Path, tmp_path: Path) -> Path:
    about = About("a tiny one", ("en", "de"), "CC0", "BLEU 1")
    return pack(tiny_bundle, tmp_path / "small.zip", Packing(about=about)).path


def test_a_packed_model_is_used_by_name_on_another_machine(
    packed: Path, spots: Path, attn: Attn
) -> None:
    attn("models", "add", packed)
    assert sorted(path.name for path in spots.iterdir()) == ["small"]
    assert read_facts(spots / "small").about == About("a tiny one", ("en", "de"), "CC0", "BLEU 1")
    [found] = TranslateRunner.open([Path("small")], TranslateOptions()).results(TEXTS[:1])
    assert attn("translate", "-m", "small", TEXTS[0]).out == found.text + "\n"
    row = next(row for row in attn("models").out.splitlines() if row.startswith("  small"))
    assert row.split()[1:5] == ["user", "translate", "en", "de"]
    assert row.endswith("any  CC0      BLEU 1")
    assert "--name" in attn("models", "add", packed, status=1).err
    attn("models", "remove", "small")
    assert not list(spots.iterdir())
    attn("models", "remove", "small", status=1)


def test_the_same_model_gives_the_same_file(tiny_bundle: Path, packed: Path) -> None:
    about = About("a tiny one", ("en", "de"), "CC0", "BLEU 1")
    again = pack(tiny_bundle, packed.with_name("again.zip"), Packing(about=about)).path
    assert again.read_bytes() == packed.read_bytes()
    add(packed)
    facts_kept = pack(Path("small"), packed.with_name("third.zip"), Packing()).path
    assert facts_kept.read_bytes() == packed.read_bytes()


def test_fp32_gives_the_same_outputs_and_int8_a_small_file(
    tiny_bundle: Path, tmp_path: Path
) -> None:
    exact = pack(tiny_bundle, tmp_path / "exact", Packing("fp32"))
    assert exact.before == exact.after
    found, expected = (load_translator(path).translate(TEXTS) for path in (exact.path, tiny_bundle))
    assert found == expected
    small = pack(tiny_bundle, tmp_path / "int8", Packing())
    assert small.after < 0.3 * small.before


def test_captioners_share_an_image_network_in_a_folder(
    soft_captioner: Path, tiny_bundle: Path, tmp_path: Path, spots: Path
) -> None:
    pack(soft_captioner, tmp_path / "photos", Packing())
    shared = pack(soft_captioner, tmp_path / "hard", Packing(share="photos"))
    assert shared.after < pack(soft_captioner, tmp_path / "alone", Packing()).after
    whole = pack(shared.path, tmp_path / "hard.zip", Packing()).path  # has all it needs
    assert load_captioner(add(whole)).config == load_captioner(shared.path).config
    with pytest.raises(ModelError, match="a folder; leave out --share"):
        pack(soft_captioner, tmp_path / "x.zip", Packing(share="photos"))
    with pytest.raises(ModelError, match="translates texts; expected a model with an image net"):
        pack(tiny_bundle, tmp_path / "text", Packing(share="photos"))
    text = (tmp_path / "photos" / "config.json").read_text()
    assert json.loads(text)["model"]["image"]["weights"] in ("DEFAULT", "none")


def rewritten(path: Path, change: Callable[[zipfile.ZipFile], None], *, drop: str = "") -> Path:
    """Copy an archive without a file and with whatever is added."""
    found = path.with_name("changed.zip")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(found, "w") as new:
        for name in old.namelist():
            if name != drop:
                new.writestr(name, old.read(name))
        change(new)
    return found


@pytest.mark.parametrize(
    "change, drop",
    [
        (lambda archive: archive.writestr("../evil", "x"), ""),
        (lambda archive: archive.writestr("/tmp/evil", "x"), ""),
        (lambda archive: archive.writestr("more/config.json", "x"), ""),
        (lambda archive: archive.writestr("card.md", "x"), "config.json"),
        (lambda archive: archive.writestr("card.md", b"0" * 10**6, zipfile.ZIP_DEFLATED), ""),
        (lambda archive: None, "model.safetensors"),
        (lambda archive: archive.writestr("config.json", "{}"), "config.json"),
        (lambda archive: archive.writestr("tokenizer.model", b"0" * 2000), "tokenizer.model"),
    ],
)
def test_a_hostile_archive_installs_nothing(
    change: Callable[[zipfile.ZipFile], None], drop: str, packed: Path, spots: Path, tmp_path: Path
) -> None:
    with pytest.raises(ModelError):
        add(rewritten(packed, change, drop=drop))
    assert not spots.exists() or not list(spots.iterdir())
    assert not list(tmp_path.rglob("evil"))


def test_a_damaged_archive_installs_nothing(packed: Path, spots: Path) -> None:
    content = packed.read_bytes()
    for at in range(40, len(content), len(content) // 40):
        damaged = packed.with_name("damaged.zip")
        damaged.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(ModelError) as refused:
            add(damaged)
        assert "\n" not in str(refused.value) and not list(spots.iterdir())
    damaged.write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelError, match="damaged"):
        add(damaged)


@pytest.mark.parametrize(
    "name", ["../x", "a/b", ".x", "a\\b", " ", "a\nb", "-x", "\udcff", "x" * 300]
)
def test_a_name_is_no_path_no_option_and_can_be_shown(name: str, packed: Path) -> None:
    with pytest.raises(ModelError):
        jobs.remove(name)
    with pytest.raises(ModelError):
        add(packed, name)


def test_a_model_without_weights_is_one_line(packed: Path, spots: Path, attn: Attn) -> None:
    add(packed, "small")
    (spots / "small" / "model.safetensors").unlink()
    assert "model.safetensors is missing" in attn("models", "show", "small", status=1).err


def test_verify_reports_every_damaged_model(packed: Path, spots: Path, attn: Attn) -> None:
    for name in ("good", "bad", "old"):
        add(packed, name)
    attn("models", "verify")
    (spots / "old" / "SHA256SUMS").unlink()
    weights = spots / "bad" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    out, err = attn("models", "verify", status=1)
    assert "good: ok\n" in out and "old: ok (no digests)\n" in out and "bad: ok" not in out[-300:]
    assert "bad/model.safetensors differs" in err
    attn("models", "verify", "good")


def test_without_a_model_the_models_for_the_task_are_listed(
    packed: Path, attn: Attn, tiny_bundle: Path
) -> None:
    add(packed)
    said = attn("translate", "x", status=1).err
    assert said == "attn: no model given; expected -m MODEL, one of small\n"
    shutil.copytree(tiny_bundle, installed.BOX / "everyday")
    [found, _] = load_translator("everyday").translate(TEXTS)
    assert attn("translate", TEXTS[0]).out == f"{found.text}\n"

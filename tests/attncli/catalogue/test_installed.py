"""Models: packed into one file, installed, listed, verified, removed, and opened."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attncli.catalogue import _packages as jobs
from attncli.catalogue._packages import Packing, add, pack
from attncli.options.loading import model_names
from attncli.translate.engine import TranslateOptions
from attncli.translate.runner import TranslateRunner
from models import load, load_ensemble
from models.core.errors import ModelError
from models.core.settings import merged
from models.core.use_config import VERBATIM, SearchConfig
from models.engines.translator import EnsembleTranslator
from models.networks.bundle import build, read, save, sizes_of
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
    found, expected = (
        load(path, "translate").translate(TEXTS) for path in (exact.path, tiny_bundle)
    )
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
    assert load(add(whole), "caption").config == load(shared.path, "caption").config
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
    shown = attn("models", "show", str(spots / "small"), status=1).err
    assert "model.safetensors is missing" in shown


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
    [found, _] = load("everyday", "translate").translate(TEXTS)
    assert attn("translate", TEXTS[0]).out == f"{found.text}\n"


def test_the_use_follows_from_the_licence() -> None:
    for use, licences in {
        "any": ("CC BY-SA 4.0", "Apache-2.0"),
        "research": ("research use", "CC BY-NC 4.0"),
        "unknown": ("", "as agreed"),
    }.items():
        assert all(About(licence=licence).use == use for licence in licences), use


LIMITED, FREE = {"licence": "CC BY-NC 4.0"}, {"licence": "CC BY 4.0"}


def test_a_model_searches_by_its_saved_settings(
    tiny_bundle: Path, tmp_path: Path, attn: Attn
) -> None:
    bundle, folder = read(tiny_bundle), tmp_path / "model"
    folder.mkdir()
    short = SearchConfig(beam=2, max_ratio=0, max_extra=3)
    save(bundle._replace(search=short, prepare=VERBATIM), folder)
    line, translator = "The old dog sees a small house.", load(folder, "translate")
    [own] = translator.translate([line])
    [other] = translator.translate([line], search=replace(short, max_extra=9))
    assert len(own.hypotheses[0].ids) <= 2 < len(other.hypotheses[0].ids)
    words = ["translate", "-m", str(folder), "--threads", "1", line]
    assert attn(*words).out == f"{own.text}\n"
    assert attn(*words, "-s", "search.max_extra=9").out == f"{other.text}\n"

    test, out = tmp_path / "test.tsv", tmp_path / "out"
    test.write_text(f"{line}\tDer alte Hund sieht ein kleines Haus.\n", "utf-8")
    attn("evaluate", "-m", folder, "--save", out, test)
    assert out.read_text("utf-8") == f"{own.text}\n"

    greedy = replace(short, method="greedy", max_extra=9)
    save(bundle._replace(search=greedy, prepare=VERBATIM), folder)
    assert len(attn(*words, "-b", "4", "-n", "4").out.splitlines()) == 4


def test_a_licence_that_limits_the_use_is_named_once_for_each_model(
    tiny_bundle: Path, tmp_path: Path, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    save(read(tiny_bundle), Path(shutil.copytree(tiny_bundle, tmp_path / "limited")), about=LIMITED)
    words = ["translate", "-m", tmp_path / "limited", "A dog."]
    assert "limited is not for commercial use (licence: CC BY-NC 4.0)" in attn(*words).err
    assert "commercial" not in attn(*words).err
    save(read(tiny_bundle), Path(shutil.copytree(tiny_bundle, tmp_path / "free")), about=FREE)
    assert "commercial" not in attn("translate", "-m", tmp_path / "free", "A dog.").err


SENTENCE = "The old dog sees a small house."
PAIR = f"{SENTENCE}\tDer alte Hund sieht ein kleines Haus.\n"


@pytest.fixture
def other_bundle(tiny_bundle: Path, tmp_path: Path) -> Path:
    """Return a model of another family with the vocabulary of the tiny one."""
    bundle = read(tiny_bundle)
    folder = tmp_path / "other"
    folder.mkdir()
    changes = {"family": "rnnsearch", "hidden": 16, "readout": 16}
    config = merged(bundle.model.config, changes)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = build(config, sizes_of(bundle.tokenizer, config.family))
    save(bundle._replace(model=model, search=SearchConfig(beam=1)), folder)
    return folder


def test_a_glossary_forces_its_terms_in_an_ensemble(
    tiny_bundle: Path, other_bundle: Path, tmp_path: Path, attn: Attn
) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("dog\tHund\nhouse\tHaus\n")
    given = ("translate", "--nbest", 2, "--glossary", terms, SENTENCE)
    one, other = ("-m", tiny_bundle), ("-m", other_bundle)
    outputs = attn(*given, *one, *other).out.splitlines()
    assert len(outputs) == 2
    assert all("Hund" in output and "Haus" in output for output in outputs)
    assert "Hund" not in attn("translate", *one, *other, SENTENCE).out
    assert attn(*given, *one, *one).out == attn(*given, *one).out


def test_translate_averages_models_of_other_families(
    tiny_bundle: Path, other_bundle: Path, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensemble = load_ensemble([tiny_bundle, other_bundle])
    assert isinstance(ensemble, EnsembleTranslator)
    expected = ensemble.translate([SENTENCE])[0].hypotheses[0]
    both = ("-m", tiny_bundle, "-m", other_bundle)
    out = attn("translate", *both, "--scores", SENTENCE).out
    assert out == f"{expected.score:.4f}\t{expected.text}\n"
    monkeypatch.setenv("ATTN_MODEL", f"{tiny_bundle}:{other_bundle}")
    assert attn("translate", "--scores", SENTENCE).out == out


TEXT = "The old dog sees a small house."


def test_an_aligned_ensemble_draws_every_model(
    tiny_bundle: Path, other_bundle: Path, attn: Attn, tmp_path: Path
) -> None:
    both = ("-m", tiny_bundle, "-m", other_bundle)
    shown = attn("translate", *both, "--show", TEXT).out
    assert tiny_bundle.name in shown and other_bundle.name in shown
    tagged = attn("translate", *both, "--keep-tags", f"<b>{TEXT}</b>").out
    assert "<b>" in tagged and "</b>" in tagged


def test_align_draws_models_side_by_side(
    tiny_bundle: Path, other_bundle: Path, tmp_path: Path, attn: Attn
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(PAIR, "utf-8")
    both = ("align", "-m", tiny_bundle, "-m", other_bundle, pairs)
    shown = attn(*both, "--show").out
    assert tiny_bundle.name in shown and other_bundle.name in shown
    page = tmp_path / "page.html"
    attn(*both, "--picture", page, "-o", tmp_path / "links.txt")
    assert other_bundle.name in page.read_text("utf-8")
    alone = attn("align", "-m", tiny_bundle, pairs).out
    assert (tmp_path / "links.txt").read_text("utf-8") == alone
    assert "--show" in attn(*both, status=2).err
    assert "--reverse-model" in attn(*both, "--show", "--reverse-model", tiny_bundle, status=2).err


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (["runs/en-de"], ["en-de"]),
        (["runs/en-de", "runs/rnn"], ["en-de", "rnn"]),
        (["x/none/seed-1", "x/dot/seed-1"], ["none", "dot"]),
        (["x/none/seed-1"], ["none"]),
        (["x/none/seed-1", "x/dot/seed-2"], ["none, seed 1", "dot, seed 2"]),
        (["x/none/seed-1", "x/none/seed-2"], ["none, seed 1", "none, seed 2"]),
        (
            ["x/none/seed-1", "x/dot/seed-1", "x/dot/seed-2"],
            ["none, seed 1", "dot, seed 1", "dot, seed 2"],
        ),
        (["x/a", "x/a"], ["x/a", "x/a"]),
        (["x/a", "x/b/x/a"], ["x/a", "x/b/x/a"]),
    ],
)
def test_models_are_named_by_the_parts_of_their_paths_that_differ(
    folders: list[str], names: list[str]
) -> None:
    assert model_names([Path(folder) for folder in folders]) == names

"""Models shipped with attn load undamaged, with facts and a card."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.catalogue._packages import verify
from models.storage.archive import read_card, read_facts
from models.storage.installed import BOX, Installed, Place, is_bundle

SHIPPED = [
    Installed(folder.name, Place("box", BOX)) for folder in BOX.iterdir() if is_bundle(folder)
]
MAX_BYTES = 45_000_000
SECTIONS = ("Data and licence", "Recipe", "Scores", "What it cannot do")


@pytest.mark.parametrize("model", SHIPPED, ids=lambda model: model.name)
def test_a_shipped_model_is_whole_and_described(model: Installed) -> None:
    assert verify(model.folder) == ""
    facts = read_facts(model.folder)
    assert facts.task and facts.about.languages and facts.about.licence and facts.about.score
    card = read_card(model.folder)
    assert [section for section in SECTIONS if f"## {section}" not in card] == []
    assert '"/' not in (model.folder / "config.json").read_text()  # an absolute path


def test_shipped_models_are_small() -> None:
    files = [path for path in Path(BOX).rglob("*") if path.is_file()]
    assert 0 < sum(path.stat().st_size for path in files) <= MAX_BYTES

"""Settings that would change nothing in a run are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attncli.command_line import Attn
from tests.attncli.labels import write_toy
from tests.attncli.training.small import write_texts

UNREAD = {  # setting: why it changes nothing; the first ones in a run on pairs, the last of labels
    "data.replay=0.5": "without languages",
    "data.temperature=2": "without languages",
    "data.demo_size=9": "without the embedded data",
    "train.plateau_patience=3": "without train.schedule=plateau",
    "search.max_caption=9": "on family transformer",
    "model.cell=gru": "on family transformer; it is read by",
    "search.beam=4": "on family classifier",
    "tokenizer.joint=false": "on family classifier",
}


@pytest.mark.parametrize("setting", UNREAD)
def test_a_setting_without_effect_is_refused(setting: str, tmp_path: Path, attn: Attn) -> None:
    labels = "classifier" in UNREAD[setting]
    data = ("--labels", write_toy(tmp_path / "a.tsv", 9)) if labels else (
        write_texts(tmp_path).train, "-p", "transformer-nano"
    )  # fmt: skip
    words = ["train", *data, "-o", tmp_path / "run", "-s", setting, "-s", "train.steps=1"]
    said = attn(*words, status=1).err
    assert said.startswith(f"attn: {setting.partition('=')[0]} has no effect {UNREAD[setting]}")
    assert not (tmp_path / "run").exists()

"""`attn models compare` over captioners: one dev set for all seeds, CIDEr-D ranks."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from attncli.commands.compare import ComparedData, base_config
from attncli.jobs.compare import check_all
from attncli.jobs.variants import find
from models.networks.bundle import read
from tests.attncli.command_line import Attn, evaluated
from tests.attncli.training.small import run as train
from tests.attncli.training.small_captions import SMALL, Files, small_config

NANO = "show-attend-tell-soft-nano"
STEPS = 4
CSV = ("variant", "seed", "dev_cider", "dev_bleu4", "dev_rouge_l", "test_cider", "perplexity")


def command(files: Files, out: Path, *words: str) -> list[str]:
    """Return a comparison on the images, without a dev set."""
    settings = [*SMALL, "data.dev_share=0.5", f"train.steps={STEPS}"]
    settings += [f"data.features={files.train.parent / 'features'}"]
    data = ["--images", str(files.images), "--captions", str(files.train), "-p", NANO]
    changes = [word for setting in settings for word in ("-s", setting)]
    return ["models", "compare", *words, *data, *changes, "-o", str(out), "--threads", "1"]


def test_reads_and_networks_are_compared_by_cider(files: Files, tmp_path: Path, attn: Attn) -> None:
    """The test scores of a run are those of `attn evaluate captions`."""
    out = tmp_path / "out"
    words = command(files, out, "soft", "hard+patches", "--test", str(files.dev), "--seeds", "2")
    table = attn(*words).out
    assert "test CIDEr-D" in table and "test BLEU-4" in table and "AER" not in table
    assert "Noise: " in table and "CIDEr-D" in table.partition("Noise: ")[2]
    assert "hard+patches: hard attention, read by argmax." in table
    rows = list(csv.DictReader((out / "comparison.csv").open()))
    assert [(row["variant"], row["seed"]) for row in rows] == [
        *(("soft", "1"), ("hard+patches", "1"), ("soft", "2"), ("hard+patches", "2"))
    ]
    assert set(CSV) <= rows[0].keys()
    made = [json.loads(path.read_text()) for path in out.rglob("made.json")]
    assert len(made) == 4 and len({str(each["dev"]) for each in made}) == 1  # for every seed
    model = out / "soft" / "seed-2"
    task = ("captions", files.dev, "-m", model, "--images", files.images)
    [found] = evaluated(attn, *task).values()
    assert found["scores"]["CIDEr-D"]["score"] == pytest.approx(float(rows[2]["test_cider"]))
    assert found["scores"]["BLEU-4"]["score"] == pytest.approx(float(rows[2]["test_bleu4"]))


def test_variants_start_from_the_weights_of_one_model(
    files: Files, tmp_path: Path, attn: Attn
) -> None:
    """A learning rate of almost 0 leaves them as they were."""
    start, out = tmp_path / "start", tmp_path / "out"
    train(small_config(files, "train.steps=2"), start)
    words = [word for word in command(files, out, "soft", "hard") if word not in ("-p", NANO)]
    words += ["-s", "train.lr=1e-12", "--seeds", "1"]
    attn(*words, "--start-from", start)
    weights = read(start).model.state_dict()
    for variant in ("soft", "hard"):
        found = read(out / variant / "seed-1").model
        assert found.config.attention.read == variant
        for name, tensor in found.state_dict().items():
            assert tensor.allclose(weights[name], atol=1e-6), name
    assert "the initial model has changed" in attn(*words, "-p", NANO, status=1).err
    assert "--preset" in attn(*words, "-p", NANO, "--start-from", start, status=1).err


def test_soft_and_hard_can_be_compared_by_default() -> None:
    """Without the penalty of the soft preset, which hard attention cannot have."""
    base = base_config(ComparedData(), "show-attend-tell-soft-small", [])
    check_all([find("soft", base), find("hard", base)])
    recipes = ["show-attend-tell-soft-small", "show-attend-tell-hard-small"]
    soft, hard = (find(name, base).config.train.attention for name in recipes)
    assert soft.coverage == "doubly_stochastic" and hard.coverage == "none"


def test_images_that_are_missing_or_too_few_are_told_before_the_first_run(
    files: Files, tmp_path: Path, attn: Attn
) -> None:
    test, out = tmp_path / "test.tsv", tmp_path / "out"
    test.write_text("none.png\ta red square\n")
    assert "none.png first" in attn(*command(files, out, "soft"), "--test", test, status=1).err
    said = attn(*command(files, out, "soft"), "-s", "data.dev_share=0.1", status=1).err
    assert "data.dev_share = 0.1 of 44 captions; expected 10 or more" in said
    assert "raise data.dev_share" in said and not list(out.rglob("model.safetensors"))

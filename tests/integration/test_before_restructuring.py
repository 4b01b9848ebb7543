"""Bundles, runs and outputs recorded at revision 8835d3f: later versions must reproduce them.

tests/fixtures/before_restructuring/make.py made the files. Alignments are compared
exactly if torch and the processor are those of the recording, and within a tolerance otherwise.
Searches and weights are compared within a tolerance: their sums have been computed in another order
since.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from attncli.embedded.grammar import generate
from tests.attncli.command_line import Attn
from tests.fixtures.before_restructuring import make

RECORDED = Path(make.__file__).parent
OUTPUTS: dict[str, Any] = json.loads((RECORDED / "outputs.json").read_text("utf-8"))
SAME_MACHINE = json.loads((RECORDED / "machine.json").read_text("utf-8")) == make.machine()
SCORES = 0.0 if SAME_MACHINE else 1.01e-4  # one unit of four decimals, and rounding
INFERRED = 1e-5 if SAME_MACHINE else 1e-4  # inference may add in another order than before
WEIGHTS = 1e-4 if SAME_MACHINE else 1e-3  # so may gradients of recurrent models
ORDER = ("-s", "train.sort=both_sides")  # the only one of versions before the setting
RETRAINED = ("rnnsearch", "luong", "transformer", "captioner-soft", "captioner-hard")
PAIRS = "7f169edd466e9d42d78f14bca5d93806021b093d5521c7fa792257e0f4f478e8"  # SHA-256 of 200 pairs


@pytest.fixture(autouse=True)
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the recorded files, and work in their folder."""
    folder = tmp_path / "recorded"
    shutil.copytree(RECORDED, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("name", make.TEXTS)
def test_a_text_bundle_gives_the_recorded_outputs(name: str, attn: Attn) -> None:
    search = ("--nbest", "3", "--format", "jsonl", "--device", "cpu")
    out = attn("translate", "-m", f"bundles/{name}", *search, *make.SENTENCES).out
    compare_hypotheses(out, OUTPUTS[name]["nbest"])


@pytest.mark.parametrize("name", ["rnnsearch", "luong", "transformer"])
def test_a_text_bundle_gives_the_recorded_alignment(name: str, attn: Attn, tmp_path: Path) -> None:
    source, target = make.PAIR.split(" ||| ")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(f"{source}\t{target}\n", "utf-8")
    options = ("--format", "jsonl", "--device", "cpu")
    found = json.loads(attn("align", "-m", f"bundles/{name}", *options, pairs).out)
    expected = OUTPUTS[name]["alignment"]
    assert found["links"] == expected["links"]
    assert found["score"] == pytest.approx(expected["score"], abs=INFERRED, rel=0)
    near = pytest.approx(torch.tensor(expected["weights"]).flatten().tolist(), abs=SCORES, rel=0)
    assert torch.tensor(found["weights"]).flatten().tolist() == near


@pytest.mark.parametrize("name", make.CAPTIONERS)
def test_a_captioner_gives_the_recorded_outputs(name: str, attn: Attn) -> None:
    images = sorted(str(path) for path in Path("images").iterdir())[:4]
    search = ("--nbest", "3", "--format", "jsonl", "--device", "cpu")
    out = attn("caption", "-m", f"bundles/{name}", *images, *search).out
    compare_hypotheses(out, OUTPUTS[name]["nbest"])


@pytest.mark.parametrize("name", RETRAINED)
def test_training_from_a_fixed_seed_ends_with_the_recorded_weights(name: str, attn: Attn) -> None:
    attn("train", f"bundles/{name}/config.toml", "-o", "again", *make.SETTINGS, *ORDER)
    compare_weights(Path("again"), Path("bundles") / name)


def test_an_interrupted_run_ends_with_the_weights_of_the_unbroken_one(attn: Attn) -> None:
    attn(*make.text_run("runs/interrupted", "transformer-nano", *make.TEXT, *make.RUN))
    compare_weights(Path("runs/interrupted"), Path("runs/finished"))


def test_a_finished_run_is_not_trained_again(attn: Attn) -> None:
    command = make.text_run("runs/finished", "transformer-nano", *make.TEXT, *make.RUN)
    assert "finished before, after 20 updates" in attn(*command).err


def test_the_embedded_grammar_gives_the_recorded_pairs() -> None:
    lines = "".join(f"{pair.source}\t{pair.target}\n" for pair in generate(200))
    assert hashlib.sha256(lines.encode()).hexdigest() == PAIRS


def compare_hypotheses(out: str, expected: list[list[list[Any]]]) -> None:
    """Compare n-best lists: scores within the tolerance, texts exactly.

    The last text is not compared, because one with an equal score may stand in its place.
    """
    found = [make.hypotheses(line) for line in out.splitlines()]
    assert [[text for text, _ in rows[:-1]] for rows in found] == [
        [text for text, _ in rows[:-1]] for rows in expected
    ]
    scores = [score for rows in found for _, score in rows]
    recorded = [score for rows in expected for _, score in rows]
    assert scores == pytest.approx(recorded, abs=INFERRED, rel=0)


def compare_weights(found: Path, expected: Path) -> None:
    """Compare the weights of two bundles: same names, same numbers."""
    left, right = (
        effective(load_file(folder / "model.safetensors")) for folder in (found, expected)
    )
    assert left.keys() == right.keys()
    furthest = max((distance(left[name], right[name]), name) for name in left)
    assert furthest[0] <= WEIGHTS, f"{furthest[1]} differs by {furthest[0]:.2g}"


def effective(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return weights without the key biases of a Transformer, which no output depends on.

    q b is the same for each key, so softmax removes it. The gradient of b is therefore rounding,
    which differs between processors, and Adam makes large steps of it. `input` computes [query,]
    key and value.
    """
    kept = dict(weights)
    for name, bias in weights.items():
        if name.endswith("attention.input.bias"):
            width = weights[name.replace("bias", "weight")].shape[1]
            kept[name] = torch.cat((bias[: -2 * width], bias[-width:]))
    return kept


def distance(one: Tensor, other: Tensor) -> float:
    """Return the largest absolute difference of two tensors."""
    return float((one.double() - other.double()).abs().max())

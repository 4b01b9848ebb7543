"""Advice that a training prints is followed here, and the result is better than before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attncli.train import _fit as fit
from attncli.train._advice import start_advice
from attncli.train._stepper import Stepper
from attncli.train.command_line import settings
from attncli.train.events import Ended, FinalModel
from models.core.errors import ModelError
from tests.attncli.command_line import Attn, flags
from tests.attncli.training.small import SMALL, Texts, run, small_config
from tests.docs import shell

BY_LOSS = ("train.metric=loss", "train.evaluate_every=0", "train.samples=0")


def trained(texts: Texts, folder: Path, *changes: str) -> tuple[str, float]:
    """Return why the updates of a run ended, and its score."""
    *_, ended, kept = run(small_config(texts, *BY_LOSS, *changes), folder)
    assert isinstance(ended, Ended)
    assert isinstance(kept, FinalModel) and kept.score is not None
    return ended.reason, kept.score


def test_a_run_that_diverged_ends_well_at_a_lower_rate(
    texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit, "DIVERGENCE", 1.5)
    high = ("train.steps=60", "train.lr=30")
    reason, before = trained(texts, tmp_path / "high", *high)
    assert reason.startswith("diverged") and reason.endswith("(lower train.lr)")
    reason, after = trained(texts, tmp_path / "low", *high, "train.lr=0.01")
    assert reason == "60 updates done" and after > before


def test_a_gradient_that_is_not_finite_is_mended_by_a_lower_rate_in_the_same_folder(
    texts: Texts, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match="lower train.lr or raise train.warmup"):
        trained(texts, tmp_path / "run", "train.lr=1e30")
    assert trained(texts, tmp_path / "run", "train.lr=0.01")[0] == "14 updates done"


def test_exhausted_memory_is_enough_with_more_shards_or_smaller_batches(
    texts: Texts, tmp_path: Path, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute: Any = Stepper.add_gradients

    def limited(stepper: Stepper, update: Any, numbers: Any, **more: Any) -> Any:
        if len(numbers) > 1:
            raise MemoryError
        return compute(stepper, update, numbers, **more)

    monkeypatch.setattr(Stepper, "add_gradients", limited)
    small = flags((*SMALL, "train.steps=3"))
    command = ["train", texts.train, "--dev", texts.dev, "-p", "transformer-nano", *small]
    said = attn(*command, "-o", tmp_path / "full", status=1).err
    assert "lower train.batch_tokens (now 200), or raise train.shards (now 0)" in said
    for change in ("train.shards=4", "train.batch_tokens=40"):
        said = attn(*command, "-o", tmp_path / change, "-s", change).err
        assert "ended after 3 updates" in said
    assert said.splitlines()[-1].startswith("try: ")
    done = shell.run(said.splitlines()[-1].removeprefix("try: "))  # "echo ... | attn translate"
    assert done.status == 0 and done.out.count("\n") == 1


def test_few_pairs_of_a_language_that_a_model_knows_are_said_to_start_from_it(
    tmp_path: Path, attn: Attn
) -> None:
    pairs = {"The dog is old.": "Der Hund ist alt.", "I see a house.": "Ich sehe ein Haus."}
    table = tmp_path / "mine.tsv"

    def advice(rows: Mapping[str, str]) -> str:
        lines = (f"{source}\t{target}\n" for source, target in rows.items())
        table.write_text("".join(lines) * 9, "utf-8")
        config = settings([table], [], None)
        assert start_advice(replace(config, start_from="everyday"), ["a"]) == ""
        return start_advice(config, ["mine.tsv", "-o", "a b"])

    found = advice(pairs)
    more = "--start-from everyday --from en --to de"
    assert found.endswith(f"attn train mine.tsv -o 'a b' {more}")
    own = ("--dry-run", *more.split(), "-o", tmp_path / "run")
    attn("train", table, *own)
    backwards = advice({target: source for source, target in pairs.items()})
    assert backwards.endswith("--from de --to en")
    assert advice({"dog": "D AO G", "water": "W AO T ER"}) == ""
    assert advice({text: text for text in pairs}) == ""
